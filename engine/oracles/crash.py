"""Crash oracles: native death, internal errors, raises in one mode, raises though documented."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.executors.outcome import Failure, Outcome, Status
from engine.ir.graph import Node, names_dtype
from engine.ir.types import Dense
from engine.oracles.comparison import BASELINE, Comparison, framework_of
from engine.oracles.keys import normalise
from engine.oracles.referee import as_float64
from engine.oracles.verdict import Divergence, Doubt, Kind

__all__ = ["deaths", "declines", "hangs", "internal_errors", "raises"]

# PyTorch asks for a report wherever this is printed, whatever the input was.
_INTERNAL = "INTERNAL ASSERT FAILED"
# What torch.compile says when it declines under fullgraph=True: a limit, not a wrong answer.
_DECLINED = (
    *("Unsupported", "UserError", "FailOnRecompileLimitHit", "DataDependentOutputException"),
    *("DynamicOutputShapeException", "GuardOnDataDependentSymNode"),
)
# What ms.jit says under fullgraph=True of what it compiles without it.
_STRICT = ("JIT_SYNTAX_LEVEL", "jit_syntax_level", "JIT strict mode")
# What autograd says of a program that cannot be differentiated: eager mode when the gradient is
# taken, a compiler, which traces the backward pass beforehand, when the function is called.
_NO_BACKWARD = ("has been modified by an inplace operation", "is not differentiable when")
# Signals that others send: the kernel when memory runs out, a person, a supervisor.
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
# What a process prints that dies because an allocation failed: our limit, not its fault.
_NO_MEMORY = ("std::bad_alloc", "Cannot allocate memory", "can't allocate memory")
_ORDINARY = ("float32", "int32", "int64", "bool")


def deaths(comparison: Comparison) -> Iterator[Divergence | str]:
    """A worker that died of a signal, twice, the second time alone."""
    for framework in comparison.frameworks():
        dead = {
            mode: comparison.outcomes[mode]
            for mode in comparison.modes_of(framework)
            if comparison.outcomes[mode].status is Status.DIED
        }
        for mode, outcome in list(dead.items()):
            if outcome.signal in _FROM_OUTSIDE:
                del dead[mode]
                yield f"{mode} was killed by {outcome.signal}, which comes from outside"
            elif any(one in outcome.stderr for one in _NO_MEMORY):
                del dead[mode]
                yield f"{mode} ran out of the memory it was given"
        if dead:
            signal = next(iter(dead.values())).signal
            yield Divergence(
                Kind.DIED,
                framework,
                tuple(dead),
                call=_call_of(next(iter(dead.values())).failure),
                message=signal,
                evidence=(f"the process was killed by {signal} while it ran the case alone",),
            )


def hangs(comparison: Comparison) -> Iterator[Divergence | str]:
    """A run that did not come back, alone and at ten times what its mode is known to need."""
    for mode in comparison.modes:
        outcome = comparison.outcomes[mode]
        if outcome.status is not Status.TIMEOUT:
            continue
        if mode not in comparison.hung or not comparison.ok:
            yield f"{mode} missed its deadline; a hang counts only when it repeats alone"
            continue
        yield Divergence(
            Kind.HANG,
            framework_of(mode),
            (mode,),
            node=outcome.failure.node if outcome.failure else "",
            call=_call_of(outcome.failure),
            evidence=(
                f"no answer within {comparison.hung[mode]:.0f} s, alone in a fresh process",
                f"the same call works in {' and '.join(comparison.ok)}",
            ),
        )


def internal_errors(comparison: Comparison) -> Iterator[Divergence | str]:
    """PyTorch's internal assertions."""
    for mode in comparison.modes_of("torch"):
        failure = comparison.outcomes[mode].failure
        if failure is not None and _INTERNAL in failure.message:
            yield Divergence(
                Kind.INTERNAL,
                "torch",
                (mode,),
                node=failure.node,
                call=_call_of(failure),
                message=normalise(failure.type, failure.message),
                evidence=("PyTorch reports one of its own assertions",),
            )


def declines(failure: Failure) -> bool:
    """Whether it is how torch.compile or ms.jit says that it does not compile a program in one
    piece."""
    declined = failure.type.rpartition(".")[2] in _DECLINED
    return declined or any(one in failure.message for one in _STRICT)


def raises(comparison: Comparison) -> Iterator[Divergence | str]:
    """A mode that raises where its sibling answers, or a documented call that raises everywhere."""
    for framework in comparison.frameworks():
        raised = [
            mode
            for mode in comparison.modes_of(framework)
            if comparison.outcomes[mode].status is Status.RAISED
        ]
        for mode in [one for one in raised if _is_own_fault(_failure(comparison.outcomes[one]))]:
            raised.remove(mode)
            yield f"{mode}: a line of the program itself asks for a name that is not there"
        answered = [mode for mode in comparison.modes_of(framework) if mode in comparison.ok]
        if not raised:
            continue
        if answered:
            yield from _one_sided(comparison, framework, raised, answered)
            continue
        blamed: dict[str, list[str]] = {}
        for mode in raised:
            # A mode that does not say which call it was raised in stands with the first that does.
            node = _failure(comparison.outcomes[mode]).node or next(iter(blamed), "")
            blamed.setdefault(node, []).append(mode)
        for modes in blamed.values():
            yield from _everywhere(comparison, framework, modes)


def _one_sided(
    comparison: Comparison, framework: str, raised: list[str], answered: list[str]
) -> Iterator[Divergence | str]:
    for mode in raised:
        failure = _failure(comparison.outcomes[mode])
        if framework == "torch" and mode == BASELINE["torch"]:
            yield "torch-eager raises: the case is outside what PyTorch supports"
            continue
        if framework == "torch" and _INTERNAL in failure.message:
            continue  # is a divergence already
        if declines(failure):
            yield f"{mode} declines the case: {normalise(failure.type, failure.message)}"
            continue
        if framework == "torch" and any(one in failure.message for one in _NO_BACKWARD):
            yield f"{mode} raises what eager mode raises when the gradient is taken"
            continue
        nodes = _suspects(comparison, failure)
        if any(comparison.lists_cpu(framework, node) is False for node in nodes):
            yield f"{mode} raises, but the documentation does not list CPU"
            continue
        yield Divergence(
            Kind.RAISES,
            framework,
            (mode,),
            node=failure.node,
            call=_call_of(failure),
            message=normalise(failure.type, failure.message),
            evidence=(f"the same call works in {' and '.join(answered)}",),
            entered=failure.entered,
        )


def _everywhere(
    comparison: Comparison, framework: str, raised: list[str]
) -> Iterator[Divergence | str]:
    failure = _failure(comparison.outcomes[raised[0]])
    if framework == "torch":
        said = f"torch raises in every mode: {normalise(failure.type, failure.message)}"
        yield Doubt(said, framework=framework) if comparison.is_lone_call else said
        return
    nodes = _suspects(comparison, failure)
    others = [mode for mode in comparison.ok if framework_of(mode) != framework]
    listed = nodes and all(comparison.lists_cpu(framework, node) is True for node in nodes)
    # A form may be written with several calls, any of which may be the one that raised.
    refused = any(
        comparison.lists_cpu(framework, node) is False or comparison.leaves_cpu_out(framework, node)
        for node in nodes
    )
    ordinary = _has_ordinary_dtypes(comparison, nodes) and _has_ordinary_values(comparison, nodes)
    if refused or not (listed and others and ordinary):
        said = f"{framework} raises in every mode and does not promise this call on CPU"
        yield said if refused else Doubt(said, framework=framework)
        return
    yield Divergence(
        Kind.DOCUMENTED,
        framework,
        tuple(raised),
        node=failure.node,
        call=_call_of(failure),
        message=normalise(failure.type, failure.message),
        evidence=(
            f"the same call works in {' and '.join(others)}",
            "CPU is among the supported platforms of the call's documentation",
        ),
        entered=failure.entered,
    )


def _failure(outcome: Outcome) -> Failure:
    assert outcome.failure is not None, f"{outcome.mode} raised without a failure"
    return outcome.failure


def _is_own_fault(failure: Failure) -> bool:
    """Whether a line of the program raised by itself, before it entered the framework."""
    is_compiling = failure.phase == "compile"  # the compiler read the line, and may have misread it
    return failure.type == "NameError" and not failure.entered and not is_compiling


def _call_of(failure: Failure | None) -> int:
    """Which call failed; 0 where it was none of them."""
    phase, _, number = failure.phase.partition(" ") if failure else ("", "", "")
    return int(number) if phase == "call" and number.isdigit() else 0


def _suspects(comparison: Comparison, failure: Failure) -> tuple[Node, ...]:
    """The node that raised, or every node where the framework does not say."""
    graph = comparison.case.graph
    if failure.node in graph.by_name:
        return (graph.by_name[failure.node],)
    return graph.calls


def _has_ordinary_dtypes(comparison: Comparison, nodes: tuple[Node, ...]) -> bool:
    """Whether the nodes are given, and asked for, dtypes that a page need not name."""
    types = comparison.case.graph.types
    operands = [types[one] for node in nodes for one in node.operands if one]
    given = [one.dtype for one in operands if isinstance(one, Dense)]
    asked = [value for node in nodes for name, value in node.attrs if names_dtype(value, name)]
    return all(one in _ORDINARY for one in (*given, *asked))


def _has_ordinary_values(comparison: Comparison, nodes: tuple[Node, ...]) -> bool:
    """Whether all that the nodes are given is finite, and something, and what they make of it in
    float64 finite: of NaN, infinities, tensors of no element and operands outside of a function's
    domain pages say little, and "must be greater than 0" leaves them out."""
    given = {one for node in nodes for one in node.operands if one}
    made = {node.name for node in nodes}
    return all(
        bool(np.isfinite(as_float64(value)).all()) and (value.size or name in made)
        for referee in comparison.referees
        for name, value in referee.exact.items()
        # The values of a tuple are under "name.0", "name.1", ...
        if name in given or name.partition(".")[0] in made
    )
