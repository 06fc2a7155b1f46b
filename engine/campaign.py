"""The loop: mutate the chain's graph, run the mutant, judge, learn, and yield events.

A campaign is deterministic for its options but for what the frameworks do and how long they take
(which only LinUCB's reward looks at). It can be stopped after any event; the checkpoint of the last
`RoundFinished` and the text of its graph are enough to go on.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import TypeAlias

import numpy as np

from engine.alive import why_dead
from engine.candidates import FEATURES, Candidate, Candidates, Counts
from engine.chain import Chain, IllegalMutant
from engine.checkpoint import CHECKPOINT_FORMAT, CheckpointReader
from engine.constraints import plain_reason
from engine.corpus import Corpus, Entry
from engine.errors import BadInput, ConstraintViolated
from engine.events import CampaignFinished, CampaignStarted, Event, FindingFound, RoundFinished
from engine.executors.modes import MODES
from engine.executors.outcome import Array
from engine.executors.pool import Pool
from engine.finding import Finding, Step
from engine.ir.case import Case
from engine.ir.digest import digest
from engine.ir.graph import Graph
from engine.ir.text import parse_case, print_case
from engine.localisation import localised
from engine.mutators.apply import apply, touched
from engine.mutators.spec import Effect, Site
from engine.options import Options, address_space
from engine.oracles.verdict import Ruling
from engine.report import Discovery, report
from engine.seeds import load_start
from engine.selection import policy
from engine.steps import newest, restored, step
from engine.throttle import Throttle, coarse_key, quick_key
from engine.trial import Bench, Trial

__all__ = ["Campaign", "campaign"]

# (mutation, reason) -> how often it was refused for it.
_Refusals: TypeAlias = "Counter[tuple[str, str]]"

_TRIES = 60
_LOOKS = 3000
_LARGEST_WINDOW = 32
# A chain with room for fewer new nodes than this starts again from its seed.
_ROOM = 6
# Rows that are drawn for a choice, and candidates of each: several hundred to choose from, at
# a cost that does not grow with the pool.
_ROWS = 32
_OF_A_ROW = 16
# Rounds without a novel event or a failure after which a chain starts again.
_QUIET = 15


def campaign(
    options: Options,
    pool: Pool,
    *,
    checkpoint: Mapping[str, object] | None = None,
    graph_text: str = "",
    corpus: Mapping[str, str] | None = None,
    recorded: Callable[[], Collection[str]] = frozenset,
) -> Iterator[Event]:
    """Run a campaign, or go on with one; see `Campaign`."""
    made = Campaign(
        options,
        pool,
        checkpoint=checkpoint,
        graph_text=graph_text,
        corpus=corpus,
        recorded=recorded,
    )
    yield from made.events()


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
    same place before. `moves`: the whole graph before and after each of the choices.
    """

    choices: tuple[_Choice, ...]
    case: Case
    changed: tuple[str, ...]
    window: Case
    parent: Graph
    blobs: dict[str, Array]
    moves: tuple[tuple[Graph, Graph], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.candidate.label for one in self.choices)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(
            step(name, before, after)
            for name, (before, after) in zip(self.labels, self.moves, strict=True)
        )


@dataclass(frozen=True)
class _Gain:
    """What a round was worth: the policy's reward, and trace events never seen before."""

    reward: float = 0.0
    novel: int = 0


class Campaign:
    """One chain of mutants of one seed.

    `checkpoint`: the last round's, with the text of its graph and of the graphs of its corpus, by
    digest (`Corpus.digests`). `recorded`: coarse keys of what other chains have found.
    """

    def __init__(
        self,
        options: Options,
        pool: Pool,
        *,
        checkpoint: Mapping[str, object] | None = None,
        graph_text: str = "",
        corpus: Mapping[str, str] | None = None,
        recorded: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self.options = options
        self.bench = Bench(pool, options.modes)
        self.policy = policy(options.policy)
        self.counts = Counts()
        self.throttle = Throttle(Counter(), recorded)
        self.seen_events: set[int] = set()
        self.next_round = 0
        self.findings = 0
        self.restarts = 0
        self.quiet = 0
        self.corpus = Corpus()
        self.seed, blobs = load_start(options.seed)
        pool.limit(address_space(options.seed))
        start = self.seed
        lineage: tuple[str, ...] = ()
        steps: tuple[Step, ...] = ()
        if checkpoint is not None:
            lineage = self._restore(checkpoint)
            steps = restored(checkpoint.get("steps"))
            self.corpus = Corpus.restored(checkpoint, corpus or {})
            start = parse_case(graph_text) if graph_text else self.seed
        self.chain = Chain.profiled(start, lineage, pool, steps=steps, blobs=blobs)

    # -------------------------------------------------------------------------------- events
    def events(self) -> Iterator[Event]:
        """Rounds until those asked for are done."""
        options, began = self.options, monotonic()
        candidates = len(self._candidates(None, np.random.default_rng(0)))
        if not candidates:
            raise BadInput(
                f"operators of a campaign of {options.seed}",
                seen=", ".join(options.ops),
                expected="one that is in the model or that a mutation brings in",
            )
        yield CampaignStarted(
            seed=options.seed,
            modes=options.modes,
            policy=options.policy,
            random_seed=options.random_seed,
            rounds=options.rounds,
            next_round=self.next_round,
            nodes=len(self.chain.case.graph.nodes),
            candidates=candidates,
        )
        while self.next_round < options.rounds:
            yield from self._round(self.next_round)
        yield CampaignFinished(
            self.next_round, self.findings, "all rounds are done", monotonic() - began
        )

    def _round(self, number: int) -> Iterator[Event]:
        began = monotonic()
        rng = np.random.default_rng([self.options.random_seed, number])
        if self.quiet >= _QUIET or self._is_full():
            # Not at the end of a round, whose event carries the graph that it accepted.
            self._restart(rng)
        parent = digest(self.chain.case.graph)
        rejected: _Refusals = Counter()
        attempt = self._attempt(rng, rejected)
        if attempt is None:
            self._restart(rng)
            yield self._finished(
                number, began, parent, rejected, None, None, "rejected", "", _Gain(), accepted=False
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
        gained = self._gained(trial)
        accepted, reason = self._accept(attempt, trial, gained.novel)
        self.quiet = 0 if gained.novel or trial.verdict.failed else self.quiet + 1
        for choice in attempt.choices:
            self.counts.note(choice.elements)
            self.policy.learn(choice.context, choice.candidate.mutator.cell, gained.reward)
        yield self._finished(
            number,
            began,
            parent,
            rejected,
            attempt,
            trial,
            verdict,
            reason,
            gained,
            accepted=accepted,
        )

    # ------------------------------------------------------------------------------ selection
    def _candidates(self, attempt: _Attempt | None, rng: np.random.Generator) -> Candidates:
        """Candidates of the chain's graph, or of a mutant of this round near what it changed."""
        chain = self.chain
        return Candidates(
            attempt.case if attempt else chain.case,
            pool=self.options.pool,
            ops=self.options.ops,
            counts=self.counts,
            limit=_OF_A_ROW,
            rows=_ROWS,
            rng=rng,
            flow=chain.flow_of(attempt.case, attempt.changed) if attempt else chain.flow,
            near=attempt.window.graph.types.keys() if attempt else None,
        )

    def _attempt(self, rng: np.random.Generator, rejected: _Refusals) -> _Attempt | None:
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
        self, attempt: _Attempt | None, rng: np.random.Generator, rejected: _Refusals
    ) -> _Attempt | None:
        """One more mutation. Select, then filter, lazily: the best candidate that fits."""
        case = attempt.case if attempt else self.chain.case
        near = set(attempt.window.graph.types) if attempt else None
        candidates = self._candidates(attempt, rng)
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
                rejected[candidate.label, plain_reason(refusal, case.graph)] += 1
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
        window, blobs, parent = self.chain.windowed(
            mutant.case,
            changed,
            candidate.site,
            self.bench.pool,
            limit=self.options.window,
            modes=self.options.modes,
        )
        if attempt is not None and len(window.graph.nodes) > _LARGEST_WINDOW:
            raise ConstraintViolated("the mutations are too far apart for one window")
        moves = (*(attempt.moves if attempt else ()), (case.graph, mutant.case.graph))
        return _Attempt(choices, mutant.case, changed, window, parent, blobs, moves)

    # ---------------------------------------------------------------------------------- running
    def _run(self, attempt: _Attempt, *, costly: bool) -> Trial:
        """Cheap modes first; a costly one only where its turn has come and nothing failed yet."""
        cheap = tuple(mode for mode in self.options.modes if not MODES[mode].is_costly)
        dear = tuple(mode for mode in self.options.modes if MODES[mode].is_costly)
        bench = self._bench(attempt)
        trial = bench.trial(attempt.window, attempt.blobs, modes=cheap)
        if costly and dear and trial.verdict.ruling in (Ruling.PASS, Ruling.INCONCLUSIVE):
            modes = ("torch-eager", *dear) if "torch-eager" in cheap else dear
            more = bench.trial(attempt.window, attempt.blobs, modes=modes)
            if more.verdict.failed:
                return replace(more, executions=trial.executions + more.executions)
            outcomes = {**trial.outcomes, **more.outcomes}
            comparison = replace(trial.comparison, outcomes=outcomes)
            executions = trial.executions + more.executions
            return replace(trial, comparison=comparison, executions=executions)
        return trial

    def _bench(self, attempt: _Attempt) -> Bench:
        """The bench; where every mutation must preserve values, one that knows the parent."""
        effects = {one.candidate.mutator.effect for one in attempt.choices}
        if effects != {Effect.PRESERVING}:
            return self.bench
        return replace(self.bench, parent=(Case(attempt.parent), attempt.blobs))

    def _findings(self, number: int, attempt: _Attempt, trial: Trial) -> Iterator[Finding]:
        """Confirm, minimise and describe every failure that is new to this campaign."""
        graph, bench = attempt.window.graph, self._bench(attempt)
        for divergence, quick in self.throttle.worth_a_look(trial.verdict.divergences, graph):
            located = localised(trial, divergence, bench, attempt.blobs)
            if not self.throttle.admits(coarse_key(divergence, located, graph)):
                self.throttle.note_confirmed(quick)
                continue
            findings = report(
                Discovery(
                    seed=Path(self.options.seed).stem,
                    round=number,
                    mutator=" + ".join(attempt.labels),
                    lineage=(*self.chain.lineage, *attempt.labels),
                    case=attempt.window,
                    blobs=attempt.blobs,
                    parent=attempt.parent,
                    changed=attempt.changed,
                    divergence=divergence,
                    original_nodes=len(attempt.case.graph.nodes),
                    profiled=self.chain.facts,
                    steps=newest((*self.chain.steps, *attempt.steps)),
                    located=located,
                ),
                bench,
                seconds=self.options.minimise_seconds,
                throttle=self.throttle,
            )
            yield from findings
            if not self.throttle.admits(coarse_key(divergence, located, graph)):
                self.throttle.note_confirmed(quick)

    def _is_known(self, attempt: _Attempt, trial: Trial) -> bool:
        """Whether a failure of this round is one that was confirmed before."""
        graph = attempt.window.graph
        return any(
            self.throttle.is_confirmed(quick_key(one, graph)[0])
            for one in trial.verdict.divergences
        )

    # ------------------------------------------------------------------------------- acceptance
    def _accept(self, attempt: _Attempt, trial: Trial, novel: int) -> tuple[bool, str]:
        """A mutant that passed becomes the chain's next graph if all of it runs in eager mode and
        is alive; one that showed something new joins the corpus."""
        if trial.verdict.ruling in (Ruling.FAIL, Ruling.ILLEGAL):
            return False, trial.verdict.reason
        if any(one.candidate.mutator.is_nasty for one in attempt.choices):
            return False, f"{trial.verdict.reason}; its values would silence the rest of the chain"
        case = replace(attempt.case, plan=self.seed.plan, claim="")
        lineage = (*self.chain.lineage, *attempt.labels)
        steps = newest((*self.chain.steps, *attempt.steps))
        try:
            chain = self.chain.advanced(
                case, attempt.changed, lineage, self.bench.pool, steps=steps
            )
        except IllegalMutant as error:
            return False, str(error)
        old = self.chain
        dead = why_dead(old.case.graph, old.facts, case.graph, chain.facts)
        if dead:
            return False, f"{trial.verdict.reason}; not alive: {dead}"
        self.chain = chain
        if novel:
            self.corpus.add(Entry(digest(case.graph), lineage, novel), print_case(case))
        return True, trial.verdict.reason

    def _is_full(self) -> bool:
        """Whether the chain has outgrown its seed."""
        room = len(self.seed.graph.nodes) + self.options.chain_nodes - _ROOM
        return len(self.chain.case.graph.nodes) > room

    def _restart(self, rng: np.random.Generator) -> None:
        """Begin a new chain, from the corpus or from the seed; what was learned stays."""
        self.restarts += 1
        self.quiet = 0
        blobs, pool = self.chain.blobs, self.bench.pool
        entry = self.corpus.pick(rng)
        if entry is not None:
            case = parse_case(self.corpus.texts[entry.digest])
            self.chain = Chain.profiled(case, entry.lineage, pool, blobs=blobs)
        if entry is None or self._is_full():
            self.chain = Chain.profiled(self.seed, (), pool, blobs=blobs)

    # --------------------------------------------------------------------------------- learning
    def _gained(self, trial: Trial) -> _Gain:
        """Novel events of the frameworks and the oracle's signal, per unit of time spent."""
        seconds = sum(one.seconds for one in trial.outcomes.values())
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
        return _Gain(float(gain / (1.0 + np.log1p(seconds))), novel)

    def _finished(
        self,
        number: int,
        began: float,
        parent: str,
        rejected: _Refusals,
        attempt: _Attempt | None,
        trial: Trial | None,
        verdict: str,
        reason: str,
        gained: _Gain,
        *,
        accepted: bool,
    ) -> RoundFinished:
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
            parent=parent,
            digest=digest(attempt.case.graph) if attempt else "",
            nodes=len(attempt.case.graph.nodes) if attempt else 0,
            rejected=_by_reason(rejected),
            refused=_by_mutation(rejected),
            statuses={
                mode: outcome.status.value
                for mode, outcome in (trial.outcomes.items() if trial else ())
            },
            reward=gained.reward,
            novel=gained.novel,
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
            "steps": [asdict(one) for one in self.chain.steps],
            "policy": self.policy.state(),
            "counts": self.counts.to_json(),
            "known": dict(self.throttle.known),
            "seen": sorted(self.seen_events),
            "findings": self.findings,
            "restarts": self.restarts,
            "quiet": self.quiet,
            "corpus": self.corpus.state(),
        }

    def _restore(self, data: Mapping[str, object]) -> tuple[str, ...]:
        if data.get("format") != CHECKPOINT_FORMAT:
            raise BadInput(
                "checkpoint format", seen=data.get("format"), expected=str(CHECKPOINT_FORMAT)
            )
        read = CheckpointReader(data)
        self.next_round = read.integer("next_round")
        self.findings = read.integer("findings")
        self.restarts = read.integer("restarts")
        # One of an earlier version has no such field, as it never started again for silence.
        self.quiet = read.integer("quiet") if "quiet" in data else 0
        self.policy.restore(read.mapping("policy"))
        self.counts = Counts.from_json(read.counts("counts"))
        self.throttle.known = Counter(read.numbers("known"))
        self.seen_events = {int(str(one)) for one in read.sequence("seen")}
        return tuple(str(one) for one in read.sequence("lineage"))


# --------------------------------------------------------------------------------------- shared
def _touches(site: Site, near: set[str]) -> bool:
    """Whether a site lies among the values named; a change of the plan alone lies anywhere."""
    named = {*site.nodes, site.value, site.consumer} - {""}
    return not named or bool(named & near)


def _by_reason(refusals: _Refusals) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (_, reason), count in refusals.items():
        found[reason] += count
    return dict(found)


def _by_mutation(refusals: _Refusals) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (mutation, reason), count in refusals.items():
        found.setdefault(mutation, {})[reason] = count
    return found


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
