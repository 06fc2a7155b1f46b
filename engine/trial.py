"""A trial: one case run in several modes and judged; shared by campaigns and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeGuard

import numpy as np

from engine.errors import ConstraintViolated
from engine.executors.apis import public_api, public_apis
from engine.executors.described import described
from engine.executors.outcome import Array, Outcome, Status
from engine.executors.pool import Document, Pool
from engine.executors.reference import epsilon, smallest_normal
from engine.executors.request import settled
from engine.ir.case import Call, Case, Plan
from engine.ir.digest import stored_blob
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, Type, is_float, itemsize, numpy_dtype
from engine.ir.values import materialise
from engine.ops import OPS
from engine.ops.typing import call_of_node, retype
from engine.oracles.comparison import Comparison, Counterpart, Gradients, framework_of
from engine.oracles.differences import Differences, along
from engine.oracles.judge import judge
from engine.oracles.keys import form_of
from engine.oracles.promises import MAY_COPY
from engine.oracles.referee import Floats, Referee
from engine.oracles.verdict import Kind, Ruling, Verdict

__all__ = ["Bench", "Trial", "failed_with", "other_forms", "referees_of"]

_DOUBLE = "torch-eager-f64"
_VALUE_KINDS = {Kind.VALUES, Kind.NONFINITE, Kind.SECOND_CALL}
_GRADIENT_DRAWS = 3
# Results of narrower dtypes are left alone: a compiler that rounds them less is to be seen, and
# labelled by the option that makes it round as eager mode does.
_ROUNDED_BYTES = 4
# Forms beside the plainest that are asked to testify.
_MOST_FORMS = 8


@dataclass(frozen=True)
class Trial:
    """One judged run; `executions` counts framework runs."""

    case: Case
    comparison: Comparison
    verdict: Verdict
    executions: int

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        return self.comparison.outcomes

    @property
    def keys(self) -> tuple[str, ...]:
        """The failure keys of the verdict."""
        return tuple(one.key for one in self.verdict.divergences)


# How often the time that a mode is known to need must pass before a run counts as hanging.
_HANGING = 10.0
_LEAST_HASTE = 2.0  # seconds


@dataclass
class Bench:
    """Runs cases on a pool and judges them; remembers what the documentation says.

    `parent`: the program before mutations that must preserve it, with its blobs; a value of the
    same name answers for it where nobody else can. `hasty`: modes of which a hang is known; they
    get no more time than they need to answer, and a run that misses it is not repeated.
    """

    pool: Pool
    modes: tuple[str, ...]
    parent: tuple[Case, Mapping[str, Array]] | None = None
    hasty: tuple[str, ...] = ()
    _slowest: dict[str, float] = field(default_factory=dict)
    _documents: dict[tuple[str, str], Document] = field(default_factory=dict)
    _environments: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def trial(
        self,
        case: Case,
        blobs: Mapping[str, Array],
        *,
        modes: Sequence[str] = (),
        alone: bool = False,
    ) -> Trial:
        """Run the case in `modes` (default: all of the bench) and judge.

        The gradient referee runs where the plan asks for a gradient, the double-precision one where
        values are suspect.
        """
        chosen = tuple(modes or self.modes)
        hasty = tuple(mode for mode in chosen if mode in self.hasty)
        patient = tuple(mode for mode in chosen if mode not in hasty)
        found = self.pool.run_modes(case, patient, blobs=blobs, alone=alone)
        hung: dict[str, float] = {}
        for mode in hasty:
            seconds = self._haste(mode)
            found[mode] = self.pool.run(case, mode, blobs=blobs, alone=alone, deadline=seconds)
            if found[mode].status is Status.TIMEOUT:
                hung[mode] = seconds
        outcomes = {mode: found[mode] for mode in chosen}
        hung |= self._confirmed_hangs(case, blobs, outcomes, patient)
        if case.plan.gradient != "none" and _DOUBLE not in outcomes:
            outcomes[_DOUBLE] = self.pool.run(case, _DOUBLE, blobs=blobs)
        trial = self._judge(case, blobs, outcomes, hung)
        suspect = any(one.kind in _VALUE_KINDS for one in trial.verdict.divergences)
        if suspect and _DOUBLE not in outcomes:
            outcomes[_DOUBLE] = self.pool.run(case, _DOUBLE, blobs=blobs)
            trial = self._judge(case, blobs, outcomes, hung)
        return self._with_counterparts(trial, blobs, chosen) if trial.verdict.doubted else trial

    def compare(
        self,
        case: Case,
        blobs: Mapping[str, Array],
        outcomes: Mapping[str, Outcome],
        *,
        hung: Mapping[str, float] | None = None,
    ) -> Comparison:
        """What was answered, with all that it is measured against."""
        referees = referees_of(case, blobs)
        documentation = _Documentation(self, case.graph)
        frameworks = dict.fromkeys(framework_of(mode) for mode in outcomes)
        return Comparison(
            case,
            outcomes,
            referees,
            documentation.lists_cpu,
            documentation.promises_view,
            documentation.promises_write,
            self._gradients(case, blobs, outcomes) if referees else None,
            leaves_cpu_out=documentation.leaves_cpu_out,
            hung=hung or {},
            versions={
                one: self.pool.versions(one).get(one, "") for one in frameworks if one != "numpy"
            },
        )

    def _judge(
        self,
        case: Case,
        blobs: Mapping[str, Array],
        outcomes: Mapping[str, Outcome],
        hung: Mapping[str, float],
    ) -> Trial:
        comparison = self.compare(case, blobs, outcomes, hung=hung)
        return Trial(case, comparison, judge(comparison), len(outcomes))

    def _haste(self, mode: str) -> float:
        """Seconds for an attempt at a hang: ten times the slowest answer of the mode so far."""
        known = self._slowest.get(mode)
        usual = self.pool.deadline(mode)
        return usual if known is None else min(usual, max(_LEAST_HASTE, _HANGING * known))

    def _confirmed_hangs(
        self,
        case: Case,
        blobs: Mapping[str, Array],
        outcomes: dict[str, Outcome],
        modes: Sequence[str],
    ) -> dict[str, float]:
        """Run again alone, at ten times the slowest answer of the mode so far, what missed its
        deadline where another mode did not; seconds by mode for what hangs again."""
        hung: dict[str, float] = {}
        for mode, outcome in outcomes.items():
            if outcome.status is Status.OK:
                self._slowest[mode] = max(self._slowest.get(mode, 0.0), outcome.seconds)
        answered = any(one.status is Status.OK for one in outcomes.values())
        for mode in modes:
            if outcomes[mode].status is Status.TIMEOUT and answered:
                known = _HANGING * self._slowest.get(mode, 0.0)
                seconds = max(self.pool.deadline(mode), known)
                again = self.pool.run(case, mode, blobs=blobs, alone=True, deadline=seconds)
                outcomes[mode] = again
                if again.status is Status.TIMEOUT:
                    hung[mode] = seconds
        return hung

    # ------------------------------------------------------------------------- counterparts
    def _with_counterparts(
        self, trial: Trial, blobs: Mapping[str, Array], modes: tuple[str, ...]
    ) -> Trial:
        """The trial judged again with what must answer the same, in the frameworks in doubt."""
        found: list[Counterpart] = []
        for framework in sorted(trial.verdict.doubted):
            own = tuple(mode for mode in modes if framework_of(mode) == framework)
            for other in other_forms(trial.case, framework) if own else ():
                found.append(self._counterpart(*other, blobs, own, is_other_form=True))
                if any(one.status is Status.OK for one in found[-1].outcomes.values()):
                    break
            before = self._before(trial.case.graph)
            if before is not None and own:
                case, kept = before
                words = "before a mutation that must preserve it"
                found.append(self._counterpart(case, words, kept, own, is_other_form=False))
        if not found:
            return trial
        comparison = replace(trial.comparison, counterparts=tuple(found))
        executions = trial.executions + sum(len(one.outcomes) for one in found)
        return replace(
            trial, comparison=comparison, verdict=judge(comparison), executions=executions
        )

    def _counterpart(
        self,
        case: Case,
        words: str,
        blobs: Mapping[str, Array],
        modes: tuple[str, ...],
        *,
        is_other_form: bool,
    ) -> Counterpart:
        outcomes = self.pool.run_modes(case, modes, blobs=blobs)
        referees = referees_of(case, blobs)
        referee = referees[0] if referees else None
        return Counterpart(words, case, outcomes, referee, is_other_form)

    def _before(self, graph: Graph) -> tuple[Case, Mapping[str, Array]] | None:
        """The parent with those outputs of the graph that it has too, under the same type."""
        if self.parent is None:
            return None
        case, blobs = self.parent
        types = case.graph.types
        shared = tuple(
            one for one in graph.outputs if one in types and types[one] == graph.types[one]
        )
        if not shared:
            return None
        return replace(case, graph=replace(case.graph, outputs=shared), plan=Plan()), blobs

    # ------------------------------------------------------------------------ documentation
    def document(self, framework: str, api: str) -> Document:
        """What the documentation says about an API, asked for once."""
        if (framework, api) not in self._documents:
            self._documents[framework, api] = self.pool.document(framework, (api,))[api]
        return self._documents[framework, api]

    def environment(self, framework: str) -> Mapping[str, str]:
        """Versions and machine, as a report states them; asked for once."""
        if framework not in self._environments:
            self._environments[framework] = {
                **self.pool.versions(framework),
                **described(self.pool.environment(framework)),
            }
        return self._environments[framework]

    # ---------------------------------------------------------------------------- gradients
    def _gradients(
        self, case: Case, blobs: Mapping[str, Array], outcomes: Mapping[str, Outcome]
    ) -> Gradients | None:
        double = outcomes.get(_DOUBLE)
        if case.plan.gradient == "none" or double is None or double.status is not Status.OK:
            return None
        values = settled(case.graph.inputs, materialise(case.graph, blobs))
        terms = self._transposed(case, blobs)
        # An operand that no gradient flows to, such as the weights of classes, is a constant.
        differences = Differences(case, values, tuple(terms) if terms is not None else None)
        flat = np.concatenate([np.zeros(0), *(one.ravel() for one in (terms or {}).values())])
        return Gradients(
            _arrays(double),
            _Disturbed(self.pool, case, blobs).draws,
            differences.is_smooth,
            differences.slope,
            float(flat.sum()) if terms else None,
            float(np.abs(flat).sum()),
            differences.fine_slope,
        )

    def _transposed(self, case: Case, blobs: Mapping[str, Array]) -> dict[str, Floats] | None:
        """What reverse mode says of the derivative that forward mode was asked for, in float64: its
        terms by input, of those that it has a gradient of. None where another kind was asked for.
        """
        if case.plan.gradient != "forward":
            return None
        reverse = replace(case, plan=replace(case.plan, gradient="reverse"))
        found = _arrays(self.pool.run(reverse, _DOUBLE, blobs=blobs))
        terms = {name: along(one) for name, one in found.items()}
        return {name: one for name, one in terms.items() if one is not None}


def referees_of(case: Case, blobs: Mapping[str, Array]) -> tuple[Referee, ...]:
    """One referee for each call of the plan; none where NumPy has no answer for one of them."""
    referees: list[Referee] = []
    for call in case.plan.calls:
        if referees and not call.inputs and not case.plan.calls[0].inputs:
            referees.append(referees[0])
            continue
        try:
            graph = _called(case, call)
        except ConstraintViolated:
            return ()
        values = settled(graph.inputs, materialise(graph, blobs))
        referees.append(Referee(case.with_graph(graph), values))
        if referees[-1].refusal:
            return ()
    return tuple(referees[:1] if _writes_inputs(case.graph) else referees)


def other_forms(case: Case, framework: str) -> Iterator[tuple[Case, str]]:
    """The case with each call of a framework in another form that the documentation makes equal:
    the plainest, where that is another, then further ones; and how that is said."""
    graph = case.graph
    written = [_names(graph.nodes, graph, framework)]
    for place in range(1 + _MOST_FORMS):
        nodes = tuple(_in_form(node, graph, framework, place) for node in graph.nodes)
        names = _names(nodes, graph, framework)
        if names not in written:
            written.append(names)
            words = "in another form" if place else "in its plainest form"
            yield case.with_graph(graph.with_nodes(nodes)), words


def _names(nodes: Sequence[Node], graph: Graph, framework: str) -> list[str]:
    found = [form_of(graph, node, framework) for node in nodes]
    return [one[0] if one else "" for one in found]


def _in_form(node: Node, graph: Graph, framework: str, place: int) -> Node:
    """The node in its plainest form, or in the `place`th of those that hold for it beside that and
    whose equality is documented; of fewer in the last."""
    if not place:
        return node.with_form(framework, "")
    if node.op not in OPS or node.writes:
        return node
    spec = OPS[node.op]
    names = spec.forms_for(framework, call_of_node(node, graph.types))
    equal = [name for name in names[1:] if spec.forms[framework][name].source]
    return node.with_form(framework, equal[:place][-1]) if equal else node


def _called(case: Case, call: Call) -> Graph:
    """The graph with the inputs of a call; types inferred anew where those are others."""
    graph = replace(case.graph, inputs=case.inputs_of(call))
    changed = {one.name for one in graph.inputs if one.type != case.graph.types[one.name]}
    return retype(graph, changed) if changed else graph


def _writes_inputs(graph: Graph) -> bool:
    return any(node.writes for node in graph.nodes)


@dataclass(frozen=True)
class _Documentation:
    """What is documented about the forms that the nodes of a graph are written in."""

    bench: Bench
    graph: Graph

    def lists_cpu(self, framework: str, node: Node) -> bool | None:
        found = self._of(framework, node)
        if found is None or found.platforms is None:
            return None
        return "CPU" in found.platforms

    def leaves_cpu_out(self, framework: str, node: Node) -> bool:
        """Whether the page of any call of the form lists platforms, and CPU is none of them."""
        found = form_of(self.graph, node, framework)
        pages = (
            self.bench.document(framework, api)
            for api in (public_apis(found[1], framework) if found else ())
        )
        return any(page.platforms is not None and "CPU" not in page.platforms for page in pages)

    def promises_view(self, framework: str, node: Node) -> bool:
        """PyTorch documents its views as such; MindSpore where a page says that data is shared."""
        if framework == "torch":
            return node.op not in MAY_COPY
        found = self._of(framework, node)
        return found is not None and bool(
            re.search(r"\bshares? (the )?(data|memory|stor)", found.text)
        )

    def promises_write(self, framework: str, node: Node) -> bool:
        """An assignment is Python's; what a method does to its tensor, its page says or not."""
        api = self._api(framework, node)
        if framework == "torch" or not api.endswith("_"):
            return True
        text = self.bench.document(framework, api).text
        return re.search(r"in-?place|\bfills?\b|\bupdate", text, re.IGNORECASE) is not None

    def _of(self, framework: str, node: Node) -> Document | None:
        api = self._api(framework, node)
        return self.bench.document(framework, api) if api else None

    def _api(self, framework: str, node: Node) -> str:
        found = form_of(self.graph, node, framework)
        return public_api(found[1], framework) if found else ""


def _arrays(outcome: Outcome) -> dict[str, Array | None]:
    return {name: one.array if one else None for name, one in outcome.gradients.items()}


@dataclass(frozen=True)
class _Disturbed:
    """Gradients of the case in float64 with every rounding disturbed by one unit in the last place:
    inputs moved, and results and what flows back to them multiplied by 1 + u eps."""

    pool: Pool
    case: Case
    blobs: Mapping[str, Array]

    def draws(self) -> tuple[Mapping[str, Array | None], ...]:
        return self._cached

    @cached_property
    def _cached(self) -> tuple[Mapping[str, Array | None], ...]:
        found = []
        for number in range(_GRADIENT_DRAWS + 1):
            # The last draw moves nothing but subnormal numbers, which may be flushed to zero.
            rng = np.random.default_rng([21, number]) if number < _GRADIENT_DRAWS else None
            blobs = dict(self.blobs)
            graph = self._moved(rng, blobs)
            if graph == self.case.graph:
                continue
            outcome = self.pool.run(self.case.with_graph(graph), _DOUBLE, blobs=blobs)
            if outcome.status is Status.OK:
                found.append(_arrays(outcome))
        return tuple(found)

    def _moved(self, rng: np.random.Generator | None, blobs: dict[str, Array]) -> Graph:
        graph = self.case.graph
        inputs = [self._moved_input(given, rng, blobs) for given in graph.inputs]
        if rng is None or _writes_inputs(graph):
            return replace(graph, inputs=tuple(inputs))
        nodes: list[Node] = []
        for node in graph.nodes:
            factor = _factor(node, rng, blobs)
            if factor is None:
                nodes.append(node)
                continue
            inputs.append(factor)
            rounded = replace(node, name=f"{factor.name}_of")
            nodes += [rounded, Node(node.name, "mul", (rounded.name, factor.name), node.type)]
        return replace(graph, inputs=tuple(inputs), nodes=tuple(nodes))

    def _moved_input(
        self, given: Input, rng: np.random.Generator | None, blobs: dict[str, Array]
    ) -> Input:
        if not _is_rounded(given.type) or given.alias:
            return given
        array = materialise((given,), self.blobs)[given.name]
        if rng is None:
            wide = array.astype(np.float64)
            tiny = (wide != 0) & (np.abs(wide) < smallest_normal(given.type.dtype))
            if not tiny.any():
                return given
            moved = np.where(tiny, 0.0, wide).astype(array.dtype)
        else:
            # In the working dtype the neighbouring number is the smallest step there is.
            towards = np.where(rng.random(array.shape) < 0.5, -np.inf, np.inf).astype(array.dtype)
            moved = np.where(np.isfinite(array), np.nextafter(array, towards), array)
            moved = np.where(array == 0, array, moved).astype(array.dtype)
        return replace(given, init=stored_blob(moved, blobs))


def _factor(node: Node, rng: np.random.Generator, blobs: dict[str, Array]) -> Input | None:
    """What to multiply a result by, None where it is not rounded, or must stay what it is."""
    if node.views or not _is_rounded(node.type) or not node.type.is_static:
        return None
    if itemsize(node.type.dtype) < _ROUNDED_BYTES:
        return None
    steps = 1 + epsilon(node.type.dtype) * rng.integers(-1, 2, node.type.extents)
    init = stored_blob(np.asarray(steps, numpy_dtype(node.type.dtype)), blobs)
    return Input(f"{node.name}_rounding", node.type, "constant", init)


def _is_rounded(given: Type) -> TypeGuard[Dense]:
    return isinstance(given, Dense) and is_float(given.dtype)


def failed_with(trial: Trial, key: str) -> bool:
    """Whether the trial fails with this failure key."""
    return trial.verdict.ruling is Ruling.FAIL and key in trial.keys
