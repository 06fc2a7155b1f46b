"""Runs the cells, many in one program, and finds out which of them are why a program fails.

Calls that all work cost one program. One that does not pass is halved until each call that is to
blame stands alone; that one is judged as a campaign judges, with the other framework as a witness,
and what fails becomes a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.executors.outcome import Failure, Outcome, Status
from engine.finding import Symptom
from engine.oracles.comparison import BASELINE
from engine.oracles.crash import declines
from engine.oracles.judge import describe
from engine.oracles.verdict import Divergence, Kind, Ruling
from engine.report import Discovery, report
from engine.support.cells import Cell, joined
from engine.support.store import Record, State, Store
from engine.trial import Bench, Trial

__all__ = ["GROUPS", "Group", "Progress", "survey"]


@dataclass(frozen=True)
class Group:
    """Modes that are run together. `batch`: calls in one program."""

    name: str
    framework: str
    modes: tuple[str, ...]
    batch: int


GROUPS: Mapping[str, Group] = {
    one.name: one
    for one in (
        Group("torch", "torch", ("torch-eager", "torch-aot"), 16),
        Group("pynative", "mindspore", ("mindspore-pynative",), 16),
        Group("graph", "mindspore", ("mindspore-pynative", "mindspore-graph"), 16),
        Group("inductor", "torch", ("torch-eager", "torch-inductor"), 24),
    )
}
_WITNESS = {"torch": BASELINE["mindspore"], "mindspore": BASELINE["torch"]}
# A finding names every mode that fails, whatever group it was met in.
_EVERY_MODE = {
    "torch": ("torch-eager", "torch-aot", "torch-inductor"),
    "mindspore": ("mindspore-pynative", "mindspore-graph"),
}
_GRADIENT = (Kind.GRADIENT, Kind.GRADIENT_NONFINITE, Kind.GRADIENT_RAISES)
_TEXT = 300


@dataclass(frozen=True)
class Progress:
    """How far a survey is. `cells`: in the group; `done`: of them; `seen`: what was just seen."""

    group: str
    cells: int
    done: int
    seen: tuple[Record, ...]


@dataclass
class _Survey:
    bench: Bench
    group: Group
    store: Store
    version: str
    minimise_seconds: float
    known: dict[str, str] = field(default_factory=dict)

    def run(self, several: Sequence[Cell]) -> Iterator[tuple[Record, ...]]:
        """Records of the cells, as soon as they are known."""
        if len(several) == 1:
            yield self._alone(several[0])
            return
        gradient = several[0].has_gradient
        trial = self.bench.trial(joined(several, gradient=gradient), {}, modes=self.group.modes)
        if _is_clean(trial, self.group.modes):
            works = True if gradient else None
            yield tuple(
                self._record(cell, mode, State.WORKS, backward=works)
                for cell in several
                for mode in self.group.modes
            )
            return
        middle = len(several) // 2
        yield from self.run(several[:middle])
        yield from self.run(several[middle:])

    def _alone(self, cell: Cell) -> tuple[Record, ...]:
        modes = (*self.group.modes, _WITNESS[cell.framework])
        trial = self.bench.trial(cell.case, {}, modes=modes)
        if trial.verdict.failed:
            # What calls before it left behind in the worker is not its fault.
            trial = self.bench.trial(cell.case, {}, modes=modes, alone=True)
        found = self._found(cell, trial) if trial.verdict.failed else {}
        return tuple(self._judged(cell, mode, trial, found) for mode in self.group.modes)

    def _judged(self, cell: Cell, mode: str, trial: Trial, found: Mapping[str, str]) -> Record:
        """What the trial says of one mode. `found`: names of findings by failure."""
        outcome = trial.outcomes[mode]
        own = [one for one in trial.verdict.divergences if mode in one.modes]
        backward = _backward(cell, outcome, own)
        if not own:
            if self._answers_alone(cell, mode, outcome):
                # What is open concerns a sibling, or the witness.
                return self._record(cell, mode, State.WORKS, backward=backward)
            state, text = _without_divergence(cell, outcome, trial)
            return self._record(cell, mode, state, backward=backward, text=text)
        return self._record(
            cell,
            mode,
            _state_of(own[0], trial),
            backward=backward,
            text=describe(own[0])[:_TEXT],
            keys=tuple(found),
            finding=found[_quick(own[0], trial)],
        )

    def _answers_alone(self, cell: Cell, mode: str, outcome: Outcome) -> bool:
        """Whether a mode that answered stands when it is asked alone."""
        if not outcome.is_complete:
            return False
        return _is_clean(self.bench.trial(cell.case, {}, modes=(mode,)), (mode,))

    def _found(self, cell: Cell, trial: Trial) -> dict[str, str]:
        """Names of findings by failure, "" where there is none: of those of the trial, and of
        what they are in all modes of the framework. A failure of a call is reported once."""
        own = [one for one in trial.verdict.divergences if one.framework == cell.framework]
        quick = [_quick(one, trial) for one in own]
        if all(one in self.known for one in quick):
            return {one: self.known[one] for one in quick}
        modes = (*_EVERY_MODE[cell.framework], _WITNESS[cell.framework])
        bench = replace(self.bench, modes=modes)
        whole = bench.trial(cell.case, {}, alone=True)
        for divergence in whole.verdict.divergences:
            key = _quick(divergence, whole)
            if divergence.framework == cell.framework and key not in self.known:
                self.known[key] = self._finding(cell, divergence, bench)
        names = {
            key: self.known[key]
            for one in whole.verdict.divergences
            if (key := _quick(one, whole)) in self.known
        }
        first = next((name for name in names.values() if name), "")
        for one in quick:
            self.known.setdefault(one, names.get(one, first))
        return {one: self.known[one] for one in quick} | names

    def _finding(self, cell: Cell, divergence: Divergence, bench: Bench) -> str:
        """The name of the finding, "" where the failure does not repeat."""
        graph = cell.case.graph
        discovery = Discovery(
            seed="support",
            round=0,
            mutator=cell.words,
            lineage=(),
            case=cell.case,
            blobs={},
            parent=graph,
            changed=("v0",),
            divergence=divergence,
            original_nodes=len(graph.nodes),
        )
        for finding in report(discovery, bench, seconds=self.minimise_seconds):
            name = f"{cell.framework}-{cell.op}-{cell.form}-{cell.dtype}"
            return self.store.keep(finding, f"{name}-{finding.signature[:8]}")
        return ""

    def _record(
        self,
        cell: Cell,
        mode: str,
        state: State,
        *,
        backward: bool | None,
        text: str = "",
        keys: tuple[str, ...] = (),
        finding: str = "",
    ) -> Record:
        return Record(
            *cell.name,
            mode=mode,
            state=state,
            digest=cell.digest,
            version=self.version,
            backward=backward,
            text=text,
            keys=keys,
            finding=finding,
        )


def survey(
    cells: Sequence[Cell],
    group: Group,
    bench: Bench,
    store: Store,
    *,
    minimise_seconds: float = 30.0,
) -> Iterator[Progress]:
    """Run what the store has no valid record of; every record is on the disk when it is told."""
    version = bench.pool.versions(group.framework)[group.framework]
    recorded = store.records()
    left = [cell for cell in cells if not _is_recorded(cell, group, recorded, version)]
    known = {key: one.finding for one in recorded.values() for key in one.keys}
    running = _Survey(bench, group, store, version, minimise_seconds, known)
    done = len(cells) - len(left)
    yield Progress(group.name, len(cells), done, ())
    # One call that fails costs a batch two runs for every time that it is halved.
    failing = {one.name for one in recorded.values() if one.state is not State.WORKS}
    sound = [cell for cell in left if cell.name not in failing]
    alone = ([cell] for cell in left if cell.name in failing)
    for batch in (*_batches(sound, group.batch), *alone):
        for records in running.run(batch):
            store.add(records)
            done += len({one.name for one in records})
            yield Progress(group.name, len(cells), done, records)


def _is_recorded(
    cell: Cell,
    group: Group,
    recorded: Mapping[tuple[str, str, str, str, str], Record],
    version: str,
) -> bool:
    found = [recorded.get((*cell.name, mode)) for mode in group.modes]
    return all(one and (one.digest, one.version) == (cell.digest, version) for one in found)


def _batches(cells: Sequence[Cell], size: int) -> Iterator[list[Cell]]:
    """Calls of one program: alike in whether a gradient is asked for, and of one dtype."""
    waiting: dict[tuple[bool, str], list[Cell]] = {}
    for cell in cells:
        kind = cell.has_gradient, cell.dtype
        waiting.setdefault(kind, []).append(cell)
        if len(waiting[kind]) == size:
            yield waiting.pop(kind)
    yield from waiting.values()


def _is_clean(trial: Trial, modes: Sequence[str]) -> bool:
    """Every mode answered, with its gradient, and nothing speaks against any answer."""
    answered = all(trial.outcomes[mode].is_complete for mode in modes)
    return answered and trial.verdict.ruling is Ruling.PASS


def _state_of(divergence: Divergence, trial: Trial) -> State:
    """Whether one mode alone is accused of what its siblings do right, or all of them."""
    siblings = [
        mode for mode in trial.comparison.modes_of(divergence.framework) if mode in trial.outcomes
    ]
    # Of a form that raises it is other forms that testify, not other modes.
    if divergence.kind is not Kind.IN_FORM and set(divergence.modes) < set(siblings):
        return State.DIFFERS
    return State.RAISES if divergence.symptom is Symptom.CRASH else State.WRONG


def _backward(cell: Cell, outcome: Outcome, own: Sequence[Divergence]) -> bool | None:
    """Whether the gradient is right; None where none was asked for, or the call has no answer."""
    if not cell.has_gradient or outcome.status is not Status.OK:
        return None
    return outcome.gradient_failure is None and not any(one.kind in _GRADIENT for one in own)


def _without_divergence(cell: Cell, outcome: Outcome, trial: Trial) -> tuple[State, str]:
    """The state, and its text, of a mode that is not accused of anything."""
    limits = [
        one for one in trial.verdict.notes if one.startswith(f"known limit: {cell.framework}")
    ]
    if limits:
        return State.LIMIT, limits[0][:_TEXT]
    baseline = trial.outcomes[BASELINE[cell.framework]]
    failure = baseline.failure or outcome.failure or outcome.gradient_failure
    if failure is not None:
        # What the plainest mode refuses, a compiler has no call to compile.
        node = trial.case.graph.by_name["v0"]
        said = _said(failure)
        if failure is outcome.gradient_failure:
            said = f"the gradient: {said}"
        if declines(failure):
            return State.LIMIT, said[:_TEXT]
        if trial.comparison.lists_cpu(cell.framework, node) is False:
            return State.LIMIT, f"the documentation does not list CPU; {said}"[:_TEXT]
        return State.RAISES, said[:_TEXT]
    if outcome.status is Status.UNSUPPORTED:
        return State.LIMIT, outcome.reason[:_TEXT]
    if outcome.status is not Status.OK:
        return State.RAISES, outcome.status.value
    if trial.verdict.ruling is Ruling.INCONCLUSIVE:
        return State.UNDECIDED, trial.verdict.reason[:_TEXT]
    return State.WORKS, ""


def _said(failure: Failure) -> str:
    """The type, and the first line of the message that has a word in it."""
    lines = (one.strip() for one in failure.message.splitlines())
    words = next((one for one in lines if any(map(str.isalpha, one))), "")
    return f"{failure.type}: {words.removeprefix('- ')}"


def _quick(divergence: Divergence, trial: Trial) -> str:
    """Which failure it is, before it is minimised: forms of an operator that fail alike are one."""
    return f"{divergence.key}|{trial.case.graph.by_name['v0'].op}"
