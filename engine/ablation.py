"""Ablations: the minimised program once more, with one thing changed. What makes it go away?

Every cell is one or two runs of a program of a few operators. Cells are asked in the order of what
they tell, until the budget is spent; a cell that could not be run says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeAlias

from engine.errors import ConstraintViolated, EngineError
from engine.executors.apis import public_api
from engine.executors.lowering import Unsupported, lower
from engine.executors.modes import MODES, OPTIONS
from engine.executors.outcome import Array, Failure, Outcome, Status
from engine.finding import Ablation
from engine.ir.case import Call, Case
from engine.ir.digest import case_digest, stored_blob
from engine.ir.graph import Graph, Input, Node, names_dtype
from engine.ir.types import FLOATS, INTEGERS, Dense, itemsize, numpy_dtype
from engine.ir.values import materialise
from engine.ir.window import writers_of
from engine.ops import OPS
from engine.ops.spec import Form
from engine.ops.typing import call_of_node, retype
from engine.oracles.comparison import BASELINE, Comparison, framework_of
from engine.oracles.judge import describe, judge
from engine.oracles.verdict import Divergence, Kind, Verdict
from engine.trial import Bench, Trial
from engine.weighing import weighed

__all__ = ["EAGER_NUMERICS", "SECONDS", "ablations", "label"]

SECONDS = 90.0
"""Budget of one finding; a campaign ablates only findings that are new to it."""

# Options that bring inductor to eager mode's own rounding and random numbers: a difference that
# goes away with one of them is a known trade-off of the compiler, and a report must say so.
EAGER_NUMERICS = ("emulate_precision_casts", "fallback_random")
_SMALL = ("float16", "bfloat16")
_FORMS = 12
# Operators that draw numbers, whether or not their results are random.
_DRAWING = frozenset({"dropout", "random", "sorted-draw"})
_GRADIENTS = (Kind.GRADIENT, Kind.GRADIENT_NONFINITE, Kind.GRADIENT_RAISES)
# Axis, setting, and what answers with result and detail.
_Cell: TypeAlias = "tuple[str, str, Callable[[], tuple[str, str]]]"
_FAILS, _PASSES, _DIFFERS, _COULD_NOT = "fails", "passes", "differs", "could not run"


def ablations(
    trial: Trial,
    divergence: Divergence,
    bench: Bench,
    blobs: Mapping[str, Array],
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = monotonic,
) -> tuple[Ablation, ...]:
    """Modes, options, dtypes and forms of the minimised case that `trial` is of."""
    ablator = _Ablator(trial, divergence, bench, blobs, clock() + seconds, seconds, clock)
    return tuple(ablator.cells())


def label(found: Sequence[Ablation]) -> str:
    """What a title says of a difference that goes away with an option of `EAGER_NUMERICS`."""
    gone = [
        one.setting
        for one in found
        if one.axis == "option" and one.setting in EAGER_NUMERICS and one.result == _PASSES
    ]
    return f"vanishes with {' and with '.join(gone)}" if gone else ""


@dataclass
class _Ablator:
    trial: Trial
    divergence: Divergence
    bench: Bench
    blobs: Mapping[str, Array]
    deadline: float
    seconds: float
    clock: Callable[[], float]
    cache: dict[tuple[str, str], Outcome] = field(default_factory=dict)

    @property
    def case(self) -> Case:
        return self.trial.case

    @property
    def framework(self) -> str:
        return self.divergence.framework

    @property
    def baseline(self) -> str:
        return BASELINE[self.framework]

    def cells(self) -> Iterator[Ablation]:
        """Every cell; those past the budget unasked."""
        asked: list[_Cell] = [
            *self._modes(),
            *self._options(),
            *self._dtypes(),
            *self._forms(),
        ]
        for axis, setting, ask in asked:
            if self.clock() > self.deadline:
                spent = f"the budget of {self.seconds:.0f} s was spent"
                yield Ablation(axis, setting, _COULD_NOT, spent)
                continue
            try:
                result, detail = ask()
            except EngineError as refusal:
                result, detail = _COULD_NOT, str(refusal)
            lines = [line.strip() for line in detail.splitlines()]
            yield Ablation(axis, setting, result, lines[0][:300] if lines else "")

    # ---- modes
    def _modes(self) -> Iterator[_Cell]:
        own = [
            mode.name
            for mode in MODES.values()
            if mode.framework == self.framework and mode.dtype_override is None
        ]
        others = [one for one in self.trial.comparison.modes if framework_of(one) != self.framework]
        for mode in (*own, *others):
            yield "mode", mode, lambda mode=mode: self._mode(mode)  # type: ignore[misc]

    def _mode(self, mode: str) -> tuple[str, str]:
        outcomes = {**self.trial.outcomes, mode: self._outcome(self.case, self.blobs, mode)}
        return self._ruled(replace(self.trial.comparison, outcomes=outcomes), (mode,))

    # ---- options
    def _options(self) -> Iterator[_Cell]:
        """Options of the plainest accused mode: of another they say nothing where this one fails
        without them. Eager modes have none."""
        plainest = next((one for one in MODES if one in self.divergence.modes), "")
        for option in OPTIONS.values():
            if plainest in option.modes and _is_pertinent(option.name, self.case.graph):
                yield (
                    "option",
                    option.name,
                    lambda name=option.name: self._option(plainest, name),  # type: ignore[misc]
                )

    def _option(self, mode: str, option: str) -> tuple[str, str]:
        outcome = self._outcome(self.case, self.blobs, f"{mode}+{option}")
        outcomes = {**self.trial.outcomes, mode: replace(outcome, mode=mode)}
        result, detail = self._ruled(replace(self.trial.comparison, outcomes=outcomes), (mode,))
        if result != _COULD_NOT and not any(one.endswith("in force") for one in outcome.proof):
            detail = "; ".join(
                part for part in (detail, "it raised before that could show") if part
            )
        return result, f"{mode}: {detail}" if detail else mode

    # ---- dtypes
    def _dtypes(self) -> Iterator[_Cell]:
        for dtype in _wider(self.case.graph):
            yield "dtype", dtype, lambda dtype=dtype: self._dtype(dtype)  # type: ignore[misc]

    def _dtype(self, dtype: str) -> tuple[str, str]:
        case, blobs = _widened(self.case, dtype, self.blobs)
        asked = (*BASELINE.values(), *self.divergence.modes)
        modes = [one for one in self.trial.comparison.modes if one in asked]
        trial = self.bench.trial(case, blobs, modes=modes)
        return self._ruled(trial.comparison, self.divergence.modes, verdict=trial.verdict)

    # ---- forms
    def _forms(self) -> Iterator[_Cell]:
        """Every other form of the accused call, then of the others of the program."""
        graph = self.case.graph
        try:
            written = lower(self.case, self.framework).forms
        except (ConstraintViolated, Unsupported):
            return
        found = [
            (node, name, form)
            for node in _accused_first(self.divergence, graph)
            if node.op in OPS
            for name, form in self._others(node, written.get(node.name, ""))
        ]
        for node, name, form in found[:_FORMS]:
            yield (
                "form",
                _setting(node, name, form, self.framework),
                lambda node=node, name=name: self._form(node, name),  # type: ignore[misc]
            )

    def _others(self, node: Node, written: str) -> Iterator[tuple[str, Form]]:
        spec, call = OPS[node.op], call_of_node(node, self.case.graph.types)
        for name in spec.forms_for(self.framework, call):
            if name != written:
                yield name, spec.forms[self.framework][name]

    def _form(self, node: Node, form: str) -> tuple[str, str]:
        """The same call written otherwise, in the accused modes and their baseline."""
        graph = self.case.graph.with_node(node.with_form(self.framework, form))
        case = self.case.with_graph(graph)
        lowered = lower(case, self.framework)
        if lowered.forms[node.name] != form:
            return _COULD_NOT, "its object is built beforehand from an operand that is no input"
        modes = dict.fromkeys((self.baseline, *self.divergence.modes))
        outcomes = dict(self.trial.outcomes)
        for mode in modes:
            if mode in outcomes:
                outcomes[mode] = self._outcome(case, self.blobs, mode)
        comparison = replace(self.trial.comparison, case=case, outcomes=outcomes)
        result, detail = self._ruled(comparison, self.divergence.modes)
        lines = lowered.source.splitlines()
        written = [lines[at - 1].strip() for at, of in lowered.lines.items() if of == node.name]
        return result, "; ".join(part for part in (*written, detail) if part)

    # ---- shared
    def _outcome(self, case: Case, blobs: Mapping[str, Array], mode: str) -> Outcome:
        """One run, or what the same case answered in this mode before."""
        if case is self.case and mode in self.trial.outcomes:
            return self.trial.outcomes[mode]
        key = (case_digest(case), mode)
        if key not in self.cache:
            self.cache[key] = self.bench.pool.run(case, mode, blobs=blobs)
        return self.cache[key]

    def _ruled(
        self, comparison: Comparison, modes: Sequence[str], *, verdict: Verdict | None = None
    ) -> tuple[str, str]:
        """The worst that the modes in question do, and a line about it."""
        ruling = judge(comparison) if verdict is None else verdict
        found = [self._answered(comparison, ruling, mode) for mode in modes]
        for result in (_FAILS, _DIFFERS, _COULD_NOT, _PASSES):
            for one, detail in found:
                if one == result:
                    return result, detail
        raise AssertionError("no mode was asked")

    def _answered(self, comparison: Comparison, verdict: Verdict, mode: str) -> tuple[str, str]:
        for one in verdict.divergences:
            if mode in one.modes and self._is_same(one):
                return _FAILS, _said(one, comparison.outcomes[mode])
        other = next((one for one in verdict.divergences if mode in one.modes), None)
        if other is not None:
            return _DIFFERS, describe(other)
        outcome = comparison.outcomes[mode]
        failure = outcome.failure
        if failure is None and self.divergence.kind in _GRADIENTS:
            failure = outcome.gradient_failure
        if failure is not None:
            return _COULD_NOT, _raised(failure)
        if outcome.status is not Status.OK:
            return _COULD_NOT, outcome.reason or outcome.status.value
        if self.divergence.kind in _GRADIENTS and not outcome.gradients:
            return _COULD_NOT, outcome.reason or "no gradient was given"
        off = [row for row in weighed(comparison) if row.mode == mode and row.ratio > 1]
        if not off:
            return _PASSES, ""
        worst = max(off, key=lambda row: row.ratio)
        doubt = next((one for one in verdict.notes if worst.name in one), "its eager mode is too")
        return _DIFFERS, f"off {worst.ratio:.3g} times what is allowed, but not accused: {doubt}"

    def _is_same(self, other: Divergence) -> bool:
        """Whether a divergence is this one, in whichever modes it shows."""
        return (other.kind, other.message) == (self.divergence.kind, self.divergence.message)


def _said(divergence: Divergence, outcome: Outcome) -> str:
    """What one of the accused modes did, in a line."""
    failure = outcome.failure or outcome.gradient_failure
    if failure is not None:
        return _raised(failure)
    own = f"{outcome.mode}: "
    said = next((one for one in divergence.evidence if one.startswith(own)), "")
    return said.removeprefix(own) or next(iter(divergence.evidence), "")


def _raised(failure: Failure) -> str:
    lines = [line.strip() for line in failure.message.splitlines() if line.strip(" -")]
    return f"raised {failure.type}: {lines[0] if lines else ''}"


# -------------------------------------------------------------------------------------- options
def _is_pertinent(option: str, graph: Graph) -> bool:
    """Whether an option can change anything about a graph."""
    if option == "emulate_precision_casts":
        return any(isinstance(one, Dense) and one.dtype in _SMALL for one in graph.types.values())
    if option == "fallback_random":
        specs = (OPS.get(node.op) for node in graph.nodes)
        return any(one is not None and (one.random or one.tags & _DRAWING) for one in specs)
    return True


# --------------------------------------------------------------------------------------- dtypes
def _wider(graph: Graph) -> tuple[str, ...]:
    """Dtypes to try for what is floating, else for what is an integer; narrow to wide."""
    dtypes = {one.type.dtype for one in graph.inputs if isinstance(one.type, Dense)}
    if floats := dtypes & set(FLOATS):
        narrowest = min(map(itemsize, floats))
        return tuple(one for one in ("float32", "float64") if itemsize(one) > narrowest)
    integers = dtypes & set(INTEGERS)
    return ("int64",) if integers and min(map(itemsize, integers)) < itemsize("int64") else ()


def _family(dtype: str) -> tuple[str, ...]:
    return FLOATS if dtype in FLOATS else INTEGERS


def _widened(case: Case, dtype: str, blobs: Mapping[str, Array]) -> tuple[Case, dict[str, Array]]:
    """The case with every narrower input and attribute of the family in another dtype.

    The numbers are the same; `ConstraintViolated` where an operator refuses them.
    """
    more = dict(blobs)
    narrow = {one for one in _family(dtype) if itemsize(one) < itemsize(dtype)}

    def moved(given: Input) -> Input:
        if not isinstance(given.type, Dense) or given.type.dtype not in narrow:
            return given
        array = materialise((replace(given, alias=""),), blobs)[given.name]
        init = stored_blob(array.astype(numpy_dtype(dtype)), more)
        return replace(given, type=replace(given.type, dtype=dtype), init=init)

    def renamed(node: Node) -> Node:
        changes = {
            name: dtype
            for name, value in node.attrs
            if names_dtype(value, name) and value in narrow
        }
        return node.with_attrs(**changes) if changes else node

    graph = replace(
        case.graph,
        inputs=tuple(map(moved, case.graph.inputs)),
        nodes=tuple(map(renamed, case.graph.nodes)),
    )
    calls = tuple(Call(tuple(map(moved, call.inputs))) for call in case.plan.calls)
    return replace(case, graph=retype(graph), plan=replace(case.plan, calls=calls)), more


# ---------------------------------------------------------------------------------------- forms
def _accused_first(divergence: Divergence, graph: Graph) -> tuple[Node, ...]:
    """The calls of a program, the blamed one first: the node that raised, that wrote what was lost,
    or that made the value, else the last one."""
    suspects = [graph.by_name[divergence.node]] if divergence.node in graph.by_name else []
    if divergence.kind is Kind.WRITE_LOST:
        suspects += writers_of(graph, divergence.value)
    suspects += [node for node in graph.calls if node.name == divergence.value]
    ordered = (*(one for one in suspects if one.op != "item"), *reversed(graph.calls))
    return tuple(dict.fromkeys(ordered))


def _setting(node: Node, name: str, form: Form, framework: str) -> str:
    """The public name that a form calls, or the operator, with the name of the form."""
    return f"{public_api(form, framework) or node.op} ({name})"
