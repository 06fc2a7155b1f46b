"""The loop: mutate the chain's graph, run the mutant, judge, learn, and yield events.

A campaign is deterministic for its options but for what the frameworks do and how long they take
(which only LinUCB's reward looks at). It can be stopped after any event; the checkpoint of the last
`RoundFinished` and the text of its graph are enough to go on.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import monotonic

import numpy as np

from engine.candidates import FEATURES, Candidate, Candidates, Counts
from engine.errors import BadInput, ConstraintViolated, EngineError
from engine.events import CampaignFinished, CampaignStarted, Event, FindingFound, RoundFinished
from engine.executors.lowering import has_form
from engine.executors.modes import MODES
from engine.executors.outcome import Answer, Array, Outcome, Status
from engine.executors.pool import GIB, Pool
from engine.finding import Finding
from engine.ir.case import Case, Plan
from engine.ir.digest import digest
from engine.ir.graph import Graph
from engine.ir.text import parse_case, print_case
from engine.ir.window import alias_root, closure, cut, neighbourhood
from engine.mutators.apply import apply, touched
from engine.mutators.spec import Site
from engine.ops.spec import FRAMEWORKS
from engine.oracles.keys import form_name
from engine.oracles.verdict import Divergence, Ruling
from engine.report import Discovery, report
from engine.seeds import load_seed, seed_named
from engine.selection import policy
from engine.trial import Bench, Trial

__all__ = ["CHECKPOINT_FORMAT", "PRESETS", "Campaign", "Options", "address_space", "campaign"]

CHECKPOINT_FORMAT = 1
_TRIES = 60
_LOOKS = 3000
_LARGEST_WINDOW = 32
_CONTEXT = 5
# How often a failure that did not repeat alone is tried again when it comes back.
_CONFIRMATIONS = 3


@dataclass(frozen=True)
class Options:
    """What a campaign is asked to do.

    `window`: greatest number of nodes that are run for one mutant. `stack`: greatest number of
    mutations in one mutant. `costly_share`: share of the
    rounds that also run modes marked costly (inductor); they are screened by the cheaper compiled
    modes first. `chain_nodes`: how far a chain may outgrow its seed before it starts again from it.
    `minimise_seconds`: budget of one minimisation.
    """

    seed: str
    rounds: int
    modes: tuple[str, ...] = (
        "torch-eager",
        "torch-aot",
        "torch-inductor",
        "mindspore-pynative",
        "mindspore-graph",
    )
    policy: str = "linucb"
    pool: str = "full"
    random_seed: int = 0
    window: int = 10
    stack: int = 3
    costly_share: float = 0.3
    chain_nodes: int = 40
    minimise_seconds: float = 60.0

    def __post_init__(self) -> None:
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown:
            raise BadInput("mode", seen=repr(unknown[0]), expected=", ".join(MODES))
        if not self.modes:
            raise BadInput("modes", seen="none", expected=f"some of {', '.join(MODES)}")
        if self.rounds < 1:
            raise BadInput("rounds", seen=self.rounds, expected="at least 1")
        seed_named(self.seed)
        policy(self.policy)


PRESETS: dict[str, dict[str, object]] = {
    "quick-look": {"rounds": 60, "policy": "linucb", "costly_share": 0.2, "minimise_seconds": 45.0},
    "thorough": {"rounds": 2000, "policy": "linucb", "costly_share": 0.3},
    "baseline-random": {"rounds": 500, "policy": "random"},
}


def address_space(seed: str) -> int:
    """Bytes that a worker may map for a seed: models at full scale carry their weights."""
    return (16 if seed_named(seed).scale == "full" else 4) * GIB


def campaign(
    options: Options,
    pool: Pool,
    *,
    checkpoint: Mapping[str, object] | None = None,
    graph_text: str = "",
) -> Iterator[Event]:
    """Run a campaign, or go on with one; see `Campaign`."""
    yield from Campaign(options, pool, checkpoint=checkpoint, graph_text=graph_text).events()


@dataclass
class _Chain:
    """The graph that is mutated next, with what the last profiling run recorded of it."""

    case: Case
    values: dict[str, Array]
    facts: Mapping[str, Answer]
    lineage: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Choice:
    """A candidate that was taken, with what the policy and the counts need to know of it."""

    candidate: Candidate
    context: np.ndarray[tuple[int], np.dtype[np.float64]]
    elements: tuple[list[str], list[str], list[str]]


@dataclass(frozen=True)
class _Attempt:
    """A mutant of this round, and the window it is run in.

    `changed`: its nodes that the chain's graph lacks or has otherwise. `parent`: the graph at the
    same place before.
    """

    choices: tuple[_Choice, ...]
    case: Case
    changed: tuple[str, ...]
    window: Case
    parent: Graph
    blobs: dict[str, Array]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.candidate.label for one in self.choices)


class Campaign:
    """One chain of mutants of one seed."""

    def __init__(
        self,
        options: Options,
        pool: Pool,
        *,
        checkpoint: Mapping[str, object] | None = None,
        graph_text: str = "",
    ) -> None:
        self.options = options
        self.bench = Bench(pool, options.modes)
        self.policy = policy(options.policy)
        self.counts = Counts()
        self.known: Counter[str] = Counter()
        self.seen_events: set[int] = set()
        self.next_round = 0
        self.findings = 0
        self.restarts = 0
        self.seed = load_seed(options.seed)
        start = self.seed
        lineage: tuple[str, ...] = ()
        if checkpoint is not None:
            lineage = self._restore(checkpoint)
            start = parse_case(graph_text) if graph_text else self.seed
        self.chain = self._profiled(start, lineage)

    # -------------------------------------------------------------------------------- events
    def events(self) -> Iterator[Event]:
        """Rounds until those asked for are done."""
        options, began = self.options, monotonic()
        yield CampaignStarted(
            seed=options.seed,
            modes=options.modes,
            policy=options.policy,
            random_seed=options.random_seed,
            rounds=options.rounds,
            next_round=self.next_round,
            nodes=len(self.chain.case.graph.nodes),
            candidates=len(self._candidates(self.chain.case, np.random.default_rng(0))),
        )
        while self.next_round < options.rounds:
            yield from self._round(self.next_round)
        yield CampaignFinished(
            self.next_round, self.findings, "all rounds are done", monotonic() - began
        )

    def _round(self, number: int) -> Iterator[Event]:
        began = monotonic()
        rng = np.random.default_rng([self.options.random_seed, number])
        rejected: Counter[str] = Counter()
        attempt = self._attempt(rng, rejected)
        if attempt is None:
            self._restart()
            yield self._finished(
                number, began, rejected, None, None, "rejected", "", accepted=False
            )
            return
        costly = bool(rng.random() < self.options.costly_share)
        trial = self._run(attempt, costly=costly)
        verdict = trial.verdict.ruling.value
        if trial.verdict.failed:
            new = 0
            for finding in self._findings(number, attempt, trial):
                new += 1
                yield FindingFound(number, finding)
            self.findings += new
            if not new and not self._is_known(attempt, trial):
                verdict = "flaky"
        accepted, reason = self._accept(attempt, trial)
        for choice in attempt.choices:
            self.counts.note(choice.elements)
        yield self._finished(
            number, began, rejected, attempt, trial, verdict, reason, accepted=accepted
        )

    # ------------------------------------------------------------------------------ selection
    def _candidates(self, case: Case, rng: np.random.Generator) -> Candidates:
        return Candidates(
            case,
            self.chain.facts,
            pool=self.options.pool,
            counts=self.counts,
            limit=32,
            rng=rng,
        )

    def _attempt(self, rng: np.random.Generator, rejected: Counter[str]) -> _Attempt | None:
        """A mutant of up to `stack` mutations, each near the one before: running a window costs the
        same for one as for three."""
        attempt: _Attempt | None = None
        for _ in range(self.options.stack):
            extended = self._extended(attempt, rng, rejected)
            if extended is None:
                break
            attempt = extended
        return attempt

    def _extended(
        self, attempt: _Attempt | None, rng: np.random.Generator, rejected: Counter[str]
    ) -> _Attempt | None:
        """One more mutation. Select, then filter, lazily: the best candidate that fits."""
        case = attempt.case if attempt else self.chain.case
        near = set(attempt.window.graph.types) if attempt else None
        candidates = self._candidates(case, rng)
        contexts = (
            candidates.contexts()
            if self.policy.is_contextual
            else np.zeros((len(candidates), len(FEATURES)))
        )
        tries = 0
        for looked, chosen in enumerate(self.policy.order(candidates, rng)):
            if tries >= _TRIES or looked >= _LOOKS:
                break
            candidate = candidates[chosen]
            if near is not None and not _touches(candidate.site, near):
                continue
            tries += 1
            choice = _Choice(candidate, contexts[chosen], candidates.elements(candidate))
            try:
                return self._mutated(attempt, choice, case, rng)
            except ConstraintViolated as refusal:
                rejected[_reason(refusal)] += 1
        return None

    def _mutated(
        self, attempt: _Attempt | None, choice: _Choice, case: Case, rng: np.random.Generator
    ) -> _Attempt:
        """The mutant of a candidate with its window, or `ConstraintViolated`."""
        candidate = choice.candidate
        mutant = apply(
            case,
            candidate.mutator,
            candidate.variant,
            candidate.site,
            rng,
            facts=self.chain.facts,
            seed_nodes=len(self.seed.graph.nodes),
        )
        choices = (*(attempt.choices if attempt else ()), choice)
        changed = touched(self.chain.case.graph, mutant.case.graph)
        window, blobs, parent = self._windowed(mutant.case, changed, candidate.site)
        if attempt is not None and len(window.graph.nodes) > _LARGEST_WINDOW:
            raise ConstraintViolated("the mutations are too far apart for one window")
        return _Attempt(choices, mutant.case, changed, window, parent, blobs)

    def _windowed(
        self, case: Case, changed: tuple[str, ...], site: Site
    ) -> tuple[Case, dict[str, Array], Graph]:
        """The window round a mutation, its blobs, and the same place in the parent."""
        graph, parent = case.graph, self.chain.case.graph
        centre = changed or tuple(
            name for name in (*site.nodes, site.consumer, site.value) if name in graph.by_name
        )
        if not centre:
            centre = graph.users.get(site.value, ())
        if not centre:
            raise ConstraintViolated("the mutation touches no node")
        dirty = _dirty(parent, graph, changed)
        limit = max(self.options.window, len(centre) + _CONTEXT)
        names = _closed(graph, centre, dirty, limit=limit, without=self._unwritable(graph))
        if any(call.inputs for call in case.plan.calls):
            # A second call with other inputs only makes sense for the whole model.
            names = tuple(node.name for node in graph.nodes)
        window, blobs = cut(case, names, self.chain.values)
        window = replace(window, plan=_window_plan(case, window.graph))
        around = neighbourhood(
            parent,
            [one for one in (*names, *site.nodes) if one in parent.by_name],
            limit=max(len(names), 2),
        )
        if not around:
            return window, blobs, window.graph
        before, _ = cut(self.chain.case, around, self.chain.values)
        return window, blobs, before.graph

    def _unwritable(self, graph: Graph) -> set[str]:
        """Nodes that one of the frameworks cannot write: kept out of windows of other mutations,
        or after some rounds most of a chain could only be run on the other framework."""
        frameworks = {MODES[mode].framework for mode in self.options.modes} & set(FRAMEWORKS)
        return {
            node.name
            for node in graph.nodes
            if not all(has_form(node, graph.types, framework) for framework in frameworks)
        }

    # ---------------------------------------------------------------------------------- running
    def _run(self, attempt: _Attempt, *, costly: bool) -> Trial:
        """Cheap modes first; a costly one only where its turn has come and nothing failed yet."""
        cheap = tuple(mode for mode in self.options.modes if not MODES[mode].is_costly)
        dear = tuple(mode for mode in self.options.modes if MODES[mode].is_costly)
        trial = self.bench.trial(attempt.window, attempt.blobs, modes=cheap)
        if costly and dear and trial.verdict.ruling in (Ruling.PASS, Ruling.INCONCLUSIVE):
            modes = ("torch-eager", *dear) if "torch-eager" in cheap else dear
            more = self.bench.trial(attempt.window, attempt.blobs, modes=modes)
            if more.verdict.failed:
                return replace(more, executions=trial.executions + more.executions)
            outcomes = {**trial.outcomes, **more.outcomes}
            comparison = replace(trial.comparison, outcomes=outcomes)
            executions = trial.executions + more.executions
            return replace(trial, comparison=comparison, executions=executions)
        return trial

    def _findings(self, number: int, attempt: _Attempt, trial: Trial) -> Iterator[Finding]:
        """Confirm, minimise and describe every failure that is new to this campaign."""
        for divergence in trial.verdict.divergences:
            quick = _quick_signature(divergence, attempt.window.graph)
            self.known[quick] += 1
            if self.known[f"confirmed {quick}"] or self.known[quick] > _CONFIRMATIONS:
                continue
            findings = report(
                Discovery(
                    seed=self.options.seed,
                    round=number,
                    mutator=" + ".join(attempt.labels),
                    lineage=(*self.chain.lineage, *attempt.labels),
                    case=attempt.window,
                    blobs=attempt.blobs,
                    parent=attempt.parent,
                    changed=attempt.changed,
                    divergence=divergence,
                    original_nodes=len(attempt.case.graph.nodes),
                ),
                self.bench,
                seconds=self.options.minimise_seconds,
                known=self.known,
            )
            for finding in findings:
                self.known[f"confirmed {quick}"] = 1
                yield finding

    def _is_known(self, attempt: _Attempt, trial: Trial) -> bool:
        """Whether a failure of this round is one that was confirmed before."""
        return any(
            self.known[f"repeated {one.key}"]
            or self.known[f"confirmed {_quick_signature(one, attempt.window.graph)}"]
            for one in trial.verdict.divergences
        )

    # ------------------------------------------------------------------------------- acceptance
    def _accept(self, attempt: _Attempt, trial: Trial) -> tuple[bool, str]:
        """A mutant that passed becomes the chain's next graph if all of it runs in eager mode."""
        if trial.verdict.ruling in (Ruling.FAIL, Ruling.ILLEGAL):
            return False, trial.verdict.reason
        if any(one.candidate.mutator.is_nasty for one in attempt.choices):
            return False, f"{trial.verdict.reason}; its values would silence the rest of the chain"
        case = replace(attempt.case, plan=self.seed.plan, claim="")
        try:
            lineage = (*self.chain.lineage, *attempt.labels)
            chain = self._advanced(case, attempt.changed, lineage)
        except _IllegalMutant as error:
            return False, str(error)
        self.chain = chain
        if len(case.graph.nodes) > len(self.seed.graph.nodes) + self.options.chain_nodes - 6:
            self._restart()
        return True, trial.verdict.reason

    def _profiled(self, case: Case, lineage: tuple[str, ...]) -> _Chain:
        """Run the whole graph in eager mode with recording on."""
        facts = self._recorded(case, {})
        return _Chain(case, _arrays(facts), facts, lineage)

    def _advanced(self, case: Case, changed: tuple[str, ...], lineage: tuple[str, ...]) -> _Chain:
        """The chain after a mutation: only what the mutation made stale is run again."""
        graph = case.graph
        dirty = _dirty(self.chain.case.graph, graph, changed)
        if not dirty or len(dirty) == len(graph.nodes):
            return self._profiled(case, lineage)
        cone, blobs = cut(case, dirty, self.chain.values, plan=self.seed.plan)
        fresh = self._recorded(cone, blobs)
        clean = graph.types.keys() - cone.graph.by_name.keys()
        facts = {name: one for name, one in self.chain.facts.items() if name in clean}
        made = cone.graph.by_name.keys() | graph.input_by_name.keys()
        facts |= {name: one for name, one in fresh.items() if name in made}
        return _Chain(case, _arrays(facts), facts, lineage)

    def _recorded(self, case: Case, blobs: Mapping[str, Array]) -> Mapping[str, Answer]:
        outcome = self.bench.pool.run(case, "torch-eager", blobs=blobs, record="values")
        if outcome.status is not Status.OK:
            raise _IllegalMutant(_why(outcome))
        return outcome.recorded

    def _restart(self) -> None:
        """Begin a new chain from the seed; what was learned stays."""
        self.restarts += 1
        self.chain = self._profiled(self.seed, ())

    # --------------------------------------------------------------------------------- learning
    def _reward(self, trial: Trial, seconds: float) -> tuple[float, int]:
        """Novel events of the frameworks and the oracle's signal, per unit of time spent."""
        labels = {
            zlib.crc32(f"{mode} {label}".encode())
            for mode, outcome in trial.outcomes.items()
            for pair in (outcome.trace, _pairs(outcome.trace))
            for label in pair
        }
        novel = len(labels - self.seen_events)
        self.seen_events |= labels
        signal = {Ruling.FAIL: 1.0, Ruling.INCONCLUSIVE: 0.2}.get(trial.verdict.ruling, 0.0)
        gain = min(1.0, novel / 20) + signal
        return gain / (1.0 + np.log1p(seconds)), novel

    def _finished(
        self,
        number: int,
        began: float,
        rejected: Counter[str],
        attempt: _Attempt | None,
        trial: Trial | None,
        verdict: str,
        reason: str,
        *,
        accepted: bool,
    ) -> RoundFinished:
        reward, novel = 0.0, 0
        if attempt is not None and trial is not None:
            spent = sum(one.seconds for one in trial.outcomes.values())
            reward, novel = self._reward(trial, spent)
            for choice in attempt.choices:
                self.policy.learn(choice.context, choice.candidate.mutator.cell, reward)
        self.next_round = number + 1
        first = attempt.choices[0].candidate if attempt else None
        graph = self.chain.case.graph
        is_seed = graph is self.seed.graph
        return RoundFinished(
            round=number,
            mutator=first.mutator.name if first else "",
            variant=first.variant if first else "",
            further=attempt.labels[1:] if attempt else (),
            site=_site_json(first) if first else {},
            accepted=accepted,
            verdict=verdict,
            reason=reason,
            parent=digest(attempt.parent) if attempt else "",
            digest=digest(attempt.case.graph) if attempt else "",
            nodes=len(attempt.case.graph.nodes) if attempt else 0,
            rejected=dict(rejected),
            statuses={
                mode: outcome.status.value
                for mode, outcome in (trial.outcomes.items() if trial else ())
            },
            reward=float(reward),
            novel=novel,
            executions=trial.executions if trial else 0,
            seconds=monotonic() - began,
            checkpoint=self._checkpoint(is_seed=is_seed),
            graph_text="" if is_seed else print_case(self.chain.case),
        )

    # ------------------------------------------------------------------------------- checkpoint
    def _checkpoint(self, *, is_seed: bool) -> dict[str, object]:
        return {
            "format": CHECKPOINT_FORMAT,
            "next_round": self.next_round,
            "graph": "" if is_seed else digest(self.chain.case.graph),
            "lineage": list(self.chain.lineage),
            "policy": self.policy.state(),
            "counts": self.counts.to_json(),
            "known": dict(self.known),
            "seen": sorted(self.seen_events),
            "findings": self.findings,
            "restarts": self.restarts,
        }

    def _restore(self, data: Mapping[str, object]) -> tuple[str, ...]:
        if data.get("format") != CHECKPOINT_FORMAT:
            raise BadInput(
                "checkpoint format", seen=data.get("format"), expected=str(CHECKPOINT_FORMAT)
            )
        read = _Reader(data)
        self.next_round = read.integer("next_round")
        self.findings = read.integer("findings")
        self.restarts = read.integer("restarts")
        self.policy.restore(read.mapping("policy"))
        self.counts = Counts.from_json(read.counts("counts"))
        self.known = Counter(read.numbers("known"))
        self.seen_events = {int(str(one)) for one in read.sequence("seen")}
        return tuple(str(one) for one in read.sequence("lineage"))


class _IllegalMutant(EngineError):
    """A whole graph does not run in eager mode."""


@dataclass(frozen=True)
class _Reader:
    """Typed access to a checkpoint, with errors that name the field."""

    data: Mapping[str, object]
    thing: str = field(default="checkpoint")

    def integer(self, name: str) -> int:
        found = self.data.get(name)
        if not isinstance(found, int):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="an integer")
        return found

    def mapping(self, name: str) -> dict[str, object]:
        found = self.data.get(name)
        if not isinstance(found, Mapping):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="an object")
        return dict(found)

    def numbers(self, name: str) -> dict[str, int]:
        return {key: int(str(value)) for key, value in self.mapping(name).items()}

    def counts(self, name: str) -> dict[str, dict[str, int]]:
        found = self.mapping(name)
        return {key: _Reader(found, f"{self.thing} {name}").numbers(key) for key in found}

    def sequence(self, name: str) -> list[object]:
        found = self.data.get(name)
        if not isinstance(found, list):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="a list")
        return found


# --------------------------------------------------------------------------------------- shared
def _window_plan(case: Case, window: Graph) -> Plan:
    """The plan for a window: outputs that the loss of the whole leaves out stay out of it."""
    plan = case.plan
    checks = tuple(dict.fromkeys((*plan.checks, "values", "state")))
    if not plan.loss_outputs:
        return replace(plan, checks=checks)
    outputs = case.graph.outputs
    dead = {name for place, name in enumerate(outputs) if place not in plan.loss_outputs}
    loss = tuple(place for place, name in enumerate(window.outputs) if name not in dead)
    if not loss:
        # No positions would mean all of them.
        return replace(plan, checks=checks, gradient="none", loss_outputs=())
    return replace(plan, checks=checks, loss_outputs=loss)


def _dirty(parent: Graph, graph: Graph, changed: tuple[str, ...]) -> set[str]:
    """Nodes whose recorded values no longer hold after the mutation, or that are new."""
    before = parent.input_by_name
    stale = {one.name for one in graph.inputs if before.get(one.name) != one}
    stale.update(changed)
    stale.update(one.name for one in graph.nodes if one.name not in parent.by_name)
    # Storage that a changed node wrote to, or writes to now, is stale for whoever reads it.
    written = {
        alias_root(parent, node.writes)
        for node in parent.nodes
        if node.writes and (node.name in stale or node.name not in graph.by_name)
    }
    for node in graph.nodes:
        if stale.intersection(node.uses) or (
            written and any(alias_root(graph, one) in written for one in node.uses)
        ):
            stale.add(node.name)
        if node.writes and node.name in stale:
            written.add(alias_root(graph, node.writes))
    return {name for name in stale if name in graph.by_name}


def _closed(
    graph: Graph, centre: tuple[str, ...], dirty: set[str], *, limit: int, without: set[str]
) -> tuple[str, ...]:
    """A window round the centre that is fed only with values that the mutation left alone."""
    needed = _supplied(graph, centre, dirty)
    around = neighbourhood(graph, centre, limit=limit, without=without)
    held = needed.union(around)
    # A neighbour that needs more than the window holds stays out of it.
    names = needed.union(one for one in around if _supplied(graph, (one,), dirty) <= held)
    return tuple(node.name for node in graph.nodes if node.name in names)


def _supplied(graph: Graph, names: Iterable[str], dirty: set[str]) -> set[str]:
    """The nodes with every node whose recorded value they could not be fed with."""
    inside = set(names)
    while True:
        held = closure(graph, inside)
        fed = {used for name in held for used in graph.by_name[name].uses if used in dirty}
        grown = held | fed
        if grown == inside:
            return inside
        inside = grown


def _touches(site: Site, near: set[str]) -> bool:
    """Whether a site lies among the values named; a change of the plan alone lies anywhere."""
    named = {*site.nodes, site.value, site.consumer} - {""}
    return not named or bool(named & near)


def _quick_signature(divergence: Divergence, graph: Graph) -> str:
    """What is known of a failure before it is minimised: key, and the call that is blamed."""
    node = graph.by_name.get(divergence.node or divergence.value)
    call = f"{node.op}.{form_name(graph, node, divergence.framework)}" if node else ""
    return f"{divergence.key}|{call}"


def _reason(refusal: ConstraintViolated) -> str:
    """The reason without names of values, so that equal reasons are counted together."""
    kind = str(refusal).partition(" constraint at ")
    text = kind[2].partition(": ")[2] if kind[1] else str(refusal)
    return f"{kind[0]}: {text}"[:120] if kind[1] else text[:120]


def _arrays(facts: Mapping[str, Answer]) -> dict[str, Array]:
    return {name: answer.array for name, answer in facts.items() if answer.array is not None}


def _why(outcome: Outcome) -> str:
    failure = outcome.failure
    said = (
        f"{failure.type}: {failure.message.splitlines()[0]}" if failure and failure.message else ""
    )
    return f"the whole graph: {outcome.mode} {outcome.status.value} {said}".strip()


def _pairs(trace: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{before}>{after}" for before, after in pairwise(trace))


def _site_json(candidate: Candidate) -> dict[str, object]:
    site = candidate.site
    found = {
        "nodes": list(site.nodes),
        "value": site.value,
        "consumer": site.consumer,
        "slot": site.slot if site.slot >= 0 else None,
        "detail": dict(site.detail),
    }
    return {name: one for name, one in found.items() if one not in ([], "", None, {})}
