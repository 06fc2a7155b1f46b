"""The oracle of counterparts: another form of the call, or the program before a mutation that must
preserve it. A framework that contradicts itself needs no other framework to testify."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.executors.outcome import Answer, Outcome, Status
from engine.ir.graph import Node
from engine.ir.types import Dense
from engine.oracles.comparison import Comparison, Counterpart, framework_of
from engine.oracles.keys import normalise
from engine.oracles.numeric import gap
from engine.oracles.referee import Referee, as_float64
from engine.oracles.verdict import Divergence, Kind

__all__ = ["counterparts"]

# What a framework says that has no kernel for a device; without a promise of that device no bug.
_MISSING_KERNEL = ("unregistered", "Unsupported op [", "Kernel select failed")
# What a scalar or a tensor without axes promotes to is documented apart.
_PROMOTING = ("scalar", "tensor", "operator", "builtin")


def counterparts(comparison: Comparison) -> Iterator[Divergence | str]:
    """A raise, dtype, shape or value in every mode of a framework that its own other answer to the
    same question contradicts."""
    for counterpart in comparison.counterparts:
        for framework in dict.fromkeys(framework_of(mode) for mode in counterpart.outcomes):
            modes = [
                mode
                for mode, outcome in counterpart.outcomes.items()
                if outcome.status is Status.OK and framework_of(mode) == framework
            ]
            own = [mode for mode in comparison.modes_of(framework) if mode in comparison.ok]
            if own:
                answered = [mode for mode in modes if mode in own]
                yield from _answers(comparison, counterpart, framework, answered)
            elif counterpart.is_other_form:
                yield from _raises(comparison, counterpart, framework, modes)


def _raises(
    comparison: Comparison, counterpart: Counterpart, framework: str, answered: list[str]
) -> Iterator[Divergence | str]:
    """Every mode raises in this form and answers in another. PyTorch's eager mode decides what is a
    legal program, so it is accused of a call alone."""
    raised = [
        mode
        for mode in comparison.modes_of(framework)
        if comparison.outcomes[mode].status is Status.RAISED
    ]
    if not answered or not raised:
        return
    failure = comparison.outcomes[raised[0]].failure
    assert failure is not None, f"{raised[0]} raised without a failure"
    said = f"{framework} raises in every mode, but answers {counterpart.words}"
    is_illegal = framework == "torch" and not comparison.is_lone_call
    if is_illegal or any(one in failure.message for one in _MISSING_KERNEL):
        yield said
        return
    yield Divergence(
        Kind.IN_FORM,
        framework,
        tuple(raised),
        node=failure.node,
        message=normalise(failure.type, failure.message),
        evidence=(f"the same call works {counterpart.words}",),
    )


def _answers(
    comparison: Comparison, counterpart: Counterpart, framework: str, modes: list[str]
) -> Iterator[Divergence | str]:
    for name in comparison.case.graph.outputs:
        if name not in counterpart.case.graph.outputs:
            continue
        found = {
            mode: (answer, other)
            for mode in modes
            if (answer := _answer(comparison.outcomes[mode], comparison.case.graph.outputs, name))
            and (other := _answer(counterpart.outcomes[mode], counterpart.case.graph.outputs, name))
        }
        accused: dict[Kind, list[str]] = {}
        for mode, (answer, other) in found.items():
            kind = _difference(comparison, counterpart, name, answer, other)
            if kind is not None:
                accused.setdefault(kind, []).append(mode)
        if accused and (copies := comparison.unpromised_copies(name)):
            yield f"{name}: nothing promises that {copies[0]} answers with a copy"
            continue
        for kind, wrong in accused.items():
            answer, other = found[wrong[0]]
            if viewing := comparison.excused_view(framework, name, wrong):
                yield f"{name}: {framework} does not promise that {viewing} is a view"
                continue
            yield Divergence(
                kind,
                framework,
                tuple(wrong),
                value=name,
                message=f"{other.dtype} -> {answer.dtype}" if kind is Kind.DTYPE else "",
                evidence=(
                    f"{', '.join(wrong)}: {answer.dtype} {answer.shape};"
                    f" {other.dtype} {other.shape} {counterpart.words}"
                    if kind in (Kind.DTYPE, Kind.SHAPE)
                    else f"{', '.join(wrong)}: the answer {counterpart.words} agrees with float64,"
                    " this one does not",
                ),
            )


def _answer(outcome: Outcome, names: tuple[str, ...], name: str) -> Answer | None:
    place = names.index(name)
    outputs = outcome.calls[0].outputs if outcome.calls else ()
    return outputs[place] if len(outputs) == len(names) else None


def _difference(
    comparison: Comparison, counterpart: Counterpart, name: str, answer: Answer, other: Answer
) -> Kind | None:
    """How an answer is wrong where its counterpart is right; None where it is not, or unproven."""
    declared = comparison.case.graph.types[name]
    if not isinstance(declared, Dense) or counterpart.case.graph.types[name] != declared:
        return None
    if answer.dtype != declared.dtype:
        told = other.dtype == declared.dtype and not _promotes(comparison, counterpart)
        return Kind.DTYPE if told else None
    if declared.is_static and answer.shape != declared.extents:
        return Kind.SHAPE if other.shape == declared.extents else None
    if name in comparison.incomparable or answer.array is None or other.array is None:
        return None
    referee = comparison.referees[0] if comparison.referees else None
    if referee is None or counterpart.referee is None:
        return None
    if not _is_same_question(referee, counterpart.referee, name):
        return None
    wrong = gap(answer.array, declared.dtype, referee, name)
    right = gap(other.array, declared.dtype, counterpart.referee, name)
    if wrong is None or right is None or not wrong.counts or right.counts or right.excused:
        return None
    return Kind.NONFINITE if wrong.nonfinite else Kind.VALUES


def _is_same_question(one: Referee, two: Referee, name: str) -> bool:
    """Whether float64 has the same answer to both."""
    left, right = as_float64(one.exact[name]), as_float64(two.exact[name])
    return left.shape == right.shape and bool(
        np.allclose(left, right, rtol=1e-12, atol=1e-300, equal_nan=True)
    )


def _promotes(comparison: Comparison, counterpart: Counterpart) -> bool:
    """Whether the two programs differ in how a scalar is given."""
    forms = {
        _forms(node) for case in (comparison.case, counterpart.case) for node in case.graph.nodes
    }
    return any(form.startswith(_PROMOTING) for node in forms for form in node)


def _forms(node: Node) -> tuple[str, ...]:
    return tuple(form for _, form in node.forms)
