"""Draws candidates before the filter, runs each on both frameworks, and notes what the filter says.

Legal is judged by running: a mutant is legal when eager PyTorch and PyNative MindSpore run it,
where they support it, or when what they raise is a recorded finding. A mutant runs in a window that
holds every node whose operator or type the mutation puts in doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from engine.candidates import Candidate, Candidates
from engine.chain import Chain
from engine.constraints import plain_reason
from engine.errors import ConstraintViolated, InvalidGraph
from engine.executors.lowering import Unsupported, lower
from engine.executors.outcome import Array, Outcome, Status
from engine.executors.pool import Pool
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.digest import case_digest
from engine.ir.graph import Graph
from engine.legality.record import Broken, Ran, Row, Rows
from engine.mutators.apply import Proposal, propose
from engine.mutators.spec import Effect
from engine.ops.spec import FRAMEWORKS
from engine.report import Discovery, report
from engine.seeds import SEEDS, load_seed
from engine.trial import Bench

__all__ = ["MODES", "Experiment"]

_PYNATIVE, _GRAPH = "mindspore-pynative", "mindspore-graph"
MODES = ("torch-eager", _PYNATIVE)
_DRAWS = 60
_WINDOW = 8
_MINIMISE = 20.0


@dataclass(frozen=True)
class _Drawn:
    """A mutant from before the filter, and its window."""

    candidate: Candidate
    proposal: Proposal
    window: Case
    blobs: dict[str, Array]
    before: Graph
    redrawn: Mapping[str, int]


@dataclass
class Experiment:
    """`candidates` mutants, spread evenly over `seeds` (every compact one by default).

    Rows go to `folder/rows.jsonl` as they come, findings to `folder/findings`. A second run of the
    same experiment draws again, which is cheap, and runs only windows that it has not run.
    `known`: findings by failure key.
    """

    folder: Path
    candidates: int
    random_seed: int = 0
    seeds: tuple[str, ...] = ()
    rows: Rows = field(init=False)
    known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seeds = self.seeds or tuple(one for one in SEEDS if one.endswith("_compact"))
        settings = {
            "random_seed": self.random_seed,
            "seeds": list(self.seeds),
            "modes": list(MODES),
        }
        self.rows = Rows.open(self.folder / "rows.jsonl", settings)

    def run(self, pool: Pool) -> Iterator[Row]:
        """Every row, seed by seed; known ones are drawn and filtered again and run no more.

        A row comes a second time where a finding explains what it raised.
        """
        bench = Bench(pool, (*MODES, _GRAPH))
        for at, seed in enumerate(self.seeds):
            numbers = range(at, self.candidates, len(self.seeds))
            if not numbers:
                continue
            chain = Chain.profiled(load_seed(seed), (), pool)
            drawing = Candidates(chain.case, chain.facts)
            leaks: list[tuple[Row, _Drawn]] = []
            for number in numbers:
                drawn = self._draw(chain, drawing, number, pool)
                row = self._kept(self._row(number, seed, drawn, pool))
                yield row
                if not row.broken and row.is_raised and not row.findings:
                    leaks.append((row, drawn))
            for row, drawn in leaks:
                findings = tuple(self._findings(row, drawn, chain, bench))
                if findings:
                    yield self._kept(replace(row, findings=findings))

    def _kept(self, row: Row) -> Row:
        if row != self.rows.known.get(row.number):
            self.rows.add(row)
        return row

    # ------------------------------------------------------------------------------- drawing
    def _draw(self, chain: Chain, drawing: Candidates, number: int, pool: Pool) -> _Drawn:
        """The first draw of this number that gives a mutant at all."""
        rng = np.random.default_rng([self.random_seed, number])
        redrawn: Counter[str] = Counter()
        for _ in range(_DRAWS):
            candidate = drawing.choose_uniform(rng)
            if candidate.mutator.effect is Effect.INVALIDATING:
                redrawn["an invalidating mutation"] += 1
                continue
            try:
                proposal = propose(
                    chain.case,
                    candidate.mutator,
                    candidate.variant,
                    candidate.site,
                    rng,
                    facts=chain.facts,
                )
                if any(one.kind == "budget" for one in proposal.broken):
                    raise ConstraintViolated("the mutant is larger than the budget allows")
                check(proposal.mutant.case)
                window, blobs, before = chain.windowed(
                    proposal.mutant.case,
                    _in_doubt(proposal, chain.case.graph),
                    candidate.site,
                    pool,
                    limit=_WINDOW,
                    modes=MODES,
                )
                _check_written(window)
            except ConstraintViolated as refusal:
                redrawn[plain_reason(refusal, chain.case.graph)] += 1
                continue
            except InvalidGraph:
                redrawn["a version is read that was written over"] += 1
                continue
            return _Drawn(candidate, proposal, window, blobs, before, dict(redrawn))
        raise ConstraintViolated(f"candidate {number}: {_DRAWS} draws gave no mutant")

    # ------------------------------------------------------------------------------- judging
    def _row(self, number: int, seed: str, drawn: _Drawn, pool: Pool) -> Row:
        site, mutant = drawn.candidate.site, drawn.proposal.mutant
        row = Row(
            number=number,
            seed=seed,
            mutation=drawn.candidate.label,
            effect=mutant.effect.value,
            site=site.consumer or site.value or " ".join(site.nodes),
            nodes=len(drawn.window.graph.nodes),
            digest=case_digest(drawn.window),
            broken=tuple(Broken(o.kind, o.node, o.message) for o in drawn.proposal.broken),
            ran=(),
            redrawn=drawn.redrawn,
        )
        known = self.rows.known.get(number)
        if known is not None and known.digest == row.digest:
            return replace(row, ran=known.ran, findings=known.findings)
        outcomes = pool.run_modes(drawn.window, MODES, blobs=drawn.blobs)
        ran = tuple(_ran(mode, one) for mode, one in outcomes.items())
        return replace(row, ran=tuple(self._without_gradient(one, drawn, pool) for one in ran))

    def _without_gradient(self, one: Ran, drawn: _Drawn, pool: Pool) -> Ran:
        """UNSUPPORTED instead, where MindSpore runs the calls and has a gradient in no mode."""
        if one.mode != _PYNATIVE or one.phase != "gradient":
            return one
        other = pool.run(drawn.window, _GRAPH, blobs=drawn.blobs)
        if other.is_complete:
            return one
        return replace(one, status=Status.UNSUPPORTED.value, said=f"no gradient: {one.said}")

    def _findings(self, row: Row, drawn: _Drawn, chain: Chain, bench: Bench) -> Iterator[str]:
        """Ids of the findings that a retained mutant's exception amounts to, each recorded."""
        trial = bench.trial(drawn.window, drawn.blobs)
        for divergence in trial.verdict.divergences:
            if divergence.key in self.known:
                yield self.known[divergence.key]
                continue
            found = Discovery(
                seed=row.seed,
                round=row.number,
                mutator=row.mutation,
                lineage=(row.mutation,),
                case=drawn.window,
                blobs=drawn.blobs,
                parent=drawn.before,
                changed=drawn.proposal.mutant.changed,
                divergence=divergence,
                original_nodes=len(drawn.proposal.mutant.case.graph.nodes),
                profiled=chain.facts,
            )
            for finding in report(found, bench, seconds=_MINIMISE):
                name = finding.signature[:12]
                folder = self.folder / "findings"
                folder.mkdir(exist_ok=True)
                (folder / f"{name}.py").write_text(finding.script)
                (folder / f"{name}.flow").write_text(finding.minimised_text)
                self.known[divergence.key] = f"{name} ({finding.title})"
                yield self.known[divergence.key]


def _check_written(window: Case) -> None:
    """`ConstraintViolated` where a refused call cannot be written at all, in any form."""
    for framework in FRAMEWORKS:
        with suppress(Unsupported):
            lower(window, framework)


def _in_doubt(proposal: Proposal, parent: Graph) -> tuple[str, ...]:
    """Changed nodes, those refused or of other types, and who reads a value of another type."""
    graph = proposal.mutant.case.graph
    doubtful = set(proposal.doubtful)
    names = {*proposal.mutant.changed, *doubtful}
    before = parent.types
    for name in doubtful:
        if name in graph.types and before.get(name) != graph.types[name]:
            names.update(graph.users[name])
    return tuple(node.name for node in graph.nodes if node.name in names)


def _ran(mode: str, outcome: Outcome) -> Ran:
    failure = outcome.failure or outcome.gradient_failure
    if outcome.is_complete:
        return Ran(mode, "ok")
    status = outcome.status if outcome.status is not Status.OK else Status.RAISED
    said = f"{failure.type}: {failure.message}" if failure else outcome.reason or outcome.signal
    phase = "gradient" if outcome.status is Status.OK else failure.phase if failure else ""
    node = failure.node if failure else ""
    return Ran(mode, status.value, " ".join(said.split())[:300], node, phase)
