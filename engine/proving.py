"""Which variants count: those that made an accepted, distinct mutant in a recorded run.

A variant is tried on the compact seeds, small ones first, until one of its mutants passes in eager
PyTorch and PyNative MindSpore and the whole graph runs and is alive, as a campaign accepts it. What
is nasty on purpose a campaign never accepts: of that, a mutant that passes is noted, and it does
not count.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from engine.alive import why_dead
from engine.chain import Chain, IllegalMutant
from engine.errors import ConstraintViolated
from engine.executors.pool import Pool
from engine.ir.digest import case_digest
from engine.mutators.apply import Mutant, apply
from engine.mutators.spec import POOLS, Mutator, Site, pool_variants
from engine.oracles.verdict import Ruling
from engine.seeds import SEEDS, load_seed
from engine.trial import Bench

__all__ = [
    "COMMAND",
    "PROOFS",
    "Proof",
    "counted",
    "label_of",
    "proofs",
    "prove",
    "remade",
    "write",
]

PROOFS = Path(__file__).parent / "mutators" / "proofs.json"
MODES = ("torch-eager", "mindspore-pynative")
COMMAND = "flowmut prove"
_SITES = 4
_WINDOW = 6


@dataclass(frozen=True)
class Proof:
    """The run that proves a variant.

    `draw`: the numbers that the site and the edit are drawn with. `digest`: of the mutant.
    `accepted`: whether a campaign goes on from it; not where it is nasty on purpose.
    """

    variant: str
    seed: str
    draw: tuple[int, ...]
    site: str
    digest: str
    nodes: int
    verdict: str
    accepted: bool


@cache
def proofs() -> Mapping[str, Proof]:
    """Proofs on record, by the full name of the variant."""
    rows = json.loads(PROOFS.read_text())["proofs"] if PROOFS.exists() else []
    found = (Proof(**{**row, "draw": tuple(row["draw"])}) for row in rows)
    return {one.variant: one for one in found}


def label_of(row: Mutator, variant: str) -> str:
    return f"{row.name}.{variant}" if variant else row.name


def counted(known: Mapping[str, Proof]) -> dict[str, int]:
    """How many variants of each pool count."""
    return {
        pool: sum(
            (one := known.get(label_of(*pair))) is not None and one.accepted
            for pair in pool_variants(pool)
        )
        for pool in POOLS
    }


def prove(pool: Pool, known: Mapping[str, Proof]) -> Iterator[Proof]:
    """A proof of every variant that has none yet, as they are found."""
    bench = Bench(pool, MODES)
    missing = {label_of(*pair): pair for pair in pool_variants() if label_of(*pair) not in known}
    compact = [one for one in SEEDS if one.endswith("_compact")]
    for seed in sorted(compact, key=lambda name: len(load_seed(name).graph.nodes)):
        if not missing:
            return
        chain = Chain.profiled(load_seed(seed), (), pool)
        for label, (row, variant) in list(missing.items()):
            found = _proof_of(row, variant, seed, chain, bench)
            if found is not None:
                del missing[label]
                yield found


def _drawn(
    row: Mutator, variant: str, seed: str, chain: Chain
) -> Iterator[tuple[tuple[int, ...], Site, Mutant]]:
    """A few mutants of the variant that the filter lets through, each with what it is drawn by."""
    sites = tuple(row.sites(chain.case))
    for attempt in range(_SITES if sites else 0):
        draw = (zlib.crc32(f"{label_of(row, variant)} {seed}".encode()), attempt)
        rng = np.random.default_rng(draw)
        site = sites[int(rng.integers(len(sites)))]
        try:
            mutant = apply(chain.case, row, variant, site, rng, facts=chain.facts)
        except ConstraintViolated:
            continue
        yield draw, site, mutant


def remade(proof: Proof, chain: Chain) -> Mutant | None:
    """The mutant of a proof made again, None where the variant is no more what it was."""
    for row, variant in pool_variants():
        if label_of(row, variant) == proof.variant:
            found = _drawn(row, variant, proof.seed, chain)
            return next((mutant for draw, _, mutant in found if draw == proof.draw), None)
    return None


def _proof_of(row: Mutator, variant: str, seed: str, chain: Chain, bench: Bench) -> Proof | None:
    for draw, site, mutant in _drawn(row, variant, seed, chain):
        try:
            window, blobs, _ = chain.windowed(
                mutant.case, mutant.changed, site, bench.pool, limit=_WINDOW, modes=MODES
            )
        except ConstraintViolated:
            continue
        trial = bench.trial(window, blobs)
        if trial.verdict.ruling not in (Ruling.PASS, Ruling.INCONCLUSIVE):
            continue
        if not row.is_nasty and not _is_accepted(chain, mutant, bench.pool):
            continue
        return Proof(
            variant=label_of(row, variant),
            seed=seed,
            draw=draw,
            site=site.consumer or site.value or " ".join(site.nodes),
            digest=case_digest(mutant.case),
            nodes=len(window.graph.nodes),
            verdict=trial.verdict.ruling.value,
            accepted=not row.is_nasty,
        )
    return None


def _is_accepted(chain: Chain, mutant: Mutant, pool: Pool) -> bool:
    case = replace(mutant.case, plan=chain.case.plan, claim="")
    try:
        after = chain.advanced(case, mutant.changed, (), pool)
    except IllegalMutant:
        return False
    return not why_dead(chain.case.graph, chain.facts, case.graph, after.facts)


def write(path: Path, known: Mapping[str, Proof]) -> None:
    """The proofs as JSON, by name, replaced as a whole."""
    rows = [asdict(known[name]) for name in sorted(known)]
    text = ",\n".join(json.dumps(row) for row in rows)
    made = path.with_suffix(".new")
    made.write_text(f'{{"command": "{COMMAND}",\n"proofs": [\n{text}\n]}}\n')
    made.replace(path)
