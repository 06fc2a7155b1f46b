"""Candidates of a round: every (mutator, variant, site), found lazily, with their features."""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine import mutators  # noqa: F401 - fills MUTATORS
from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Graph
from engine.ir.types import Dense
from engine.mutators.sites import Pattern
from engine.mutators.spec import Mutator, Site, pool_variants
from engine.tfg import Fact, FlowGraph

__all__ = ["FEATURES", "Candidate", "Candidates", "Counts", "candidates"]

Floats = npt.NDArray[np.float64]
FEATURES = (
    "site novelty",
    "tensor-state novelty",
    "mutator novelty",
    "downstream reach",
    "gradient magnitude",
    "cost",
    "depth",
)
GRADIENT_FLOOR = 1e-8
"""Mean |gradient| from which on a site counts as reached at all; 1 maps to the value 1."""


@dataclass(frozen=True)
class Candidate:
    """What may be applied where."""

    mutator: Mutator
    variant: str
    site: Site

    @property
    def label(self) -> str:
        return f"{self.mutator.name}.{self.variant}" if self.variant else self.mutator.name


@dataclass
class Counts:
    """How often a campaign met each element: parts of sites, states of tensors, mutators."""

    sites: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    mutators: Counter[str] = field(default_factory=Counter)

    def note(self, elements: tuple[Iterable[str], Iterable[str], Iterable[str]]) -> None:
        """Count the elements of a candidate that was run (`Candidates.elements`)."""
        for counter, seen in zip((self.sites, self.states, self.mutators), elements, strict=True):
            counter.update(seen)

    def to_json(self) -> dict[str, dict[str, int]]:
        return {
            "sites": dict(self.sites),
            "states": dict(self.states),
            "mutators": dict(self.mutators),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, int]]) -> Counts:
        return cls(*(Counter(dict(data[name])) for name in ("sites", "states", "mutators")))


def novelty(counter: Mapping[str, int], elements: Sequence[str]) -> float:
    """Mean of 1/sqrt(1+n) over the elements, n being how often each was met; 1 for no elements."""
    if not elements:
        return 1.0
    return sum(1.0 / math.sqrt(1 + counter.get(one, 0)) for one in elements) / len(elements)


@dataclass(frozen=True)
class _Block:
    """A variant with its sites; candidates are numbered block by block."""

    mutator: Mutator
    variant: str
    sites: tuple[Site, ...]


class Candidates:
    """The candidates of one case. Sites of a row are looked for when they are asked for.

    `limit`: at most so many candidates of each row are numbered, drawn by `rng`: scoring stays
    cheap, and a row of many variants or sites does not crowd out others. None numbers them all.
    `rows`: at most so many rows that have a site, drawn uniformly by `rng`; None takes them all.
    `near`: with a limit, only sites among these values. `flow`: the flow graph of the case, where
    it is kept from round to round, instead of `facts`.
    `ops`: only candidates that involve one of these operators: at the site (a node of it, or the
    producer or a reader of the edge that it touches), or named by the variant, which brings it in.
    """

    def __init__(
        self,
        case: Case,
        facts: Mapping[str, Fact] | None = None,
        *,
        pool: str = "full",
        ops: Collection[str] = (),
        counts: Counts | None = None,
        limit: int | None = None,
        rows: int | None = None,
        rng: np.random.Generator | None = None,
        flow: FlowGraph | None = None,
        near: Collection[str] | None = None,
    ) -> None:
        self.case = case
        self.flow = FlowGraph(case.graph, facts) if flow is None else flow
        self.counts = counts or Counts()
        self.variants = pool_variants(pool)
        self._ops = frozenset(ops)
        self._near = near
        self._limit, self._wanted, self._rng = limit, rows, rng
        self._found: dict[str, tuple[Site, ...]] = {}
        self._of_values: dict[str, list[float]] = {}

    # ---------------------------------------------------------------- numbering
    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> Candidate:
        if not 0 <= index < len(self):
            raise IndexError(index)
        at = bisect.bisect_right(self._ends, index)
        block = self._blocks[at]
        return Candidate(block.mutator, block.variant, block.sites[index - self._start(at)])

    def sites_of(self, row: Mutator) -> tuple[Site, ...]:
        """Every site of a row, in order."""
        if row.name not in self._found:
            self._found[row.name] = tuple(row.sites(self.case))
        return self._found[row.name]

    @cached_property
    def _blocks(self) -> tuple[_Block, ...]:
        variants: dict[str, list[str]] = {}
        rows: dict[str, Mutator] = {}
        for row, variant in self.variants:
            variants.setdefault(row.name, []).append(variant)
            rows[row.name] = row
        found: list[_Block] = []
        taken = 0
        for name in self._drawn(tuple(rows)):
            if self._wanted is not None and taken >= self._wanted:
                break
            blocks = [one for one in self._numbered(rows[name], variants[name]) if one.sites]
            taken += bool(blocks)
            found += blocks
        return tuple(found)

    def _drawn(self, names: tuple[str, ...]) -> Iterable[str]:
        """The rows in the order in which they are looked at."""
        if self._wanted is None or self._rng is None:
            return names
        return (names[at] for at in self._rng.permutation(len(names)))

    def _numbered(self, row: Mutator, variants: Sequence[str]) -> Iterator[_Block]:
        """The row's candidates that are numbered: all, or `limit` of them drawn uniformly."""
        if self._limit is None or self._rng is None:
            yield from (_Block(row, one, self._involved(row, one)) for one in variants)
            return
        if isinstance(row.sites, Pattern) and not self._ops:
            few = row.sites.drawn(self.case, self._rng, self._limit, near=self._near)
            sites = [few] * len(variants)
        else:
            sites = [self._involved(row, variant) for variant in variants]
        ends = list(itertools.accumulate(len(one) for one in sites))
        if ends[-1] <= self._limit:
            yield from (_Block(row, *one) for one in zip(variants, sites, strict=True))
            return
        drawn: dict[int, list[Site]] = {}
        for at in sorted(self._rng.choice(ends[-1], size=self._limit, replace=False).tolist()):
            place = bisect.bisect_right(ends, at)
            drawn.setdefault(place, []).append(sites[place][at - ends[place]])
        for place, chosen in drawn.items():
            yield _Block(row, variants[place], tuple(chosen))

    def _involved(self, row: Mutator, variant: str) -> tuple[Site, ...]:
        """The variant's sites: all of the row's, or those where it involves one of `ops`."""
        sites = self.sites_of(row)
        if not self._ops or self._ops.intersection(variant.split(".")):
            return sites
        return tuple(site for site in sites if self._ops & _ops_at(self.case.graph, site))

    @cached_property
    def _ends(self) -> list[int]:
        return list(itertools.accumulate(len(block.sites) for block in self._blocks))

    def _start(self, at: int) -> int:
        return self._ends[at - 1] if at else 0

    # ---------------------------------------------------------------- drawing
    @cached_property
    def _rows(self) -> tuple[tuple[int, ...], ...]:
        """Blocks of each row, by number."""
        found: dict[str, list[int]] = {}
        for at, block in enumerate(self._blocks):
            found.setdefault(block.mutator.name, []).append(at)
        return tuple(tuple(blocks) for blocks in found.values())

    def draw(self, rng: np.random.Generator) -> int:
        """Number of a candidate: a row uniformly, one of its variants, one of its sites.

        Neither rows with many sites nor rows with many variants crowd out the others.
        """
        if not self._rows:
            raise ConstraintViolated("no mutator has a site in this case")
        blocks = self._rows[int(rng.integers(len(self._rows)))]
        at = blocks[int(rng.integers(len(blocks)))]
        return self._start(at) + int(rng.integers(len(self._blocks[at].sites)))

    def choose_uniform(self, rng: np.random.Generator) -> Candidate:
        """The candidate that `draw` numbers, looking for sites of the chosen row only."""
        rows: dict[str, list[tuple[Mutator, str]]] = {}
        for row, variant in self.variants:
            rows.setdefault(row.name, []).append((row, variant))
        names = list(rows)
        while names:
            name = names.pop(int(rng.integers(len(names))))
            for at in rng.permutation(len(rows[name])).tolist():
                row, variant = rows[name][at]
                sites = self._involved(row, variant)
                if sites:
                    return Candidate(row, variant, sites[int(rng.integers(len(sites)))])
                if not self._ops:
                    break
        raise ConstraintViolated("no mutator has a site in this case")

    def sample(self, rng: np.random.Generator) -> Candidate:
        return self[self.draw(rng)]

    # ---------------------------------------------------------------- features
    @cached_property
    def cells(self) -> Sequence[tuple[str, str]]:
        """(object, primitive) of every numbered candidate."""
        return [cell for block in self._blocks for cell in [block.mutator.cell] * len(block.sites)]

    def contexts(self) -> Floats:
        """Features of every numbered candidate, [n, 7], each about in [0, 1]; see `FEATURES`."""
        return self._contexts

    @cached_property
    def _contexts(self) -> Floats:
        if not self._blocks:
            return np.zeros((0, len(FEATURES)))
        known: dict[tuple[str, str, tuple[str, ...]], list[float]] = {}
        rows = []
        for block in self._blocks:
            row = np.array([self._known_features(site, known) for site in block.sites])
            elements = _mutator_elements(block.mutator, block.variant)
            row[:, 2] = novelty(self.counts.mutators, elements)
            rows.append(row)
        return np.vstack(rows)

    def _known_features(
        self, site: Site, known: dict[tuple[str, str, tuple[str, ...]], list[float]]
    ) -> list[float]:
        key = (site.value, site.consumer, site.nodes)
        if key not in known:
            known[key] = self._site_features(site)
        return known[key]

    def _site_features(self, site: Site) -> list[float]:
        value = site.value or (site.nodes[-1] if site.nodes else "")
        if value not in self._of_values:
            self._of_values[value] = self._value_features(value)
        return [novelty(self.counts.sites, _site_elements(self.case.graph, site))] + (
            self._of_values[value]
        )

    def _value_features(self, value: str) -> list[float]:
        """Those after the first; the mutator's novelty is left at nought."""
        graph, total = self.case.graph, max(len(self.case.graph.nodes), 1)
        return [
            novelty(self.counts.states, _state_elements(self.flow, value)),
            0.0,
            self._reach.get(value, 0) / total,
            self._gradient(value),
            self._cost(value),
            (graph.position.get(value, -1) + 1) / total,
        ]

    @cached_property
    def _reach(self) -> Mapping[str, int]:
        """Number of nodes downstream of every value; sets of nodes are bits of an integer."""
        graph = self.case.graph
        below: dict[str, int] = {}
        users, position = graph.users, graph.position
        for name in (*(node.name for node in reversed(graph.nodes)), *graph.input_by_name):
            bits = 0
            for user in users[name]:
                bits |= below[user] | (1 << position[user])
            below[name] = bits
        return {name: bits.bit_count() for name, bits in below.items()}

    def _gradient(self, value: str) -> float:
        """Mean |gradient| on a logarithmic scale: 0 for none or unknown, 1 from 1 upwards."""
        seen = self.flow.facts(value).summary.get("gradient") if value else None
        if seen is None or not math.isfinite(seen) or seen <= GRADIENT_FLOOR:
            return 0.0
        return min(1.0, 1.0 - math.log10(min(seen, 1.0)) / math.log10(GRADIENT_FLOOR))

    def _cost(self, value: str) -> float:
        """Elements at the site on a logarithmic scale; a million is about 1."""
        type_ = self.case.graph.types.get(value)
        return math.log10(1 + type_.elements) / 6.0 if isinstance(type_, Dense) else 0.0

    def elements(self, candidate: Candidate) -> tuple[list[str], list[str], list[str]]:
        """What a candidate is made of, for `Counts.note`: site, tensor state, mutator."""
        site = candidate.site
        value = site.value or (site.nodes[-1] if site.nodes else "")
        return (
            _site_elements(self.case.graph, site),
            list(_state_elements(self.flow, value)),
            _mutator_elements(candidate.mutator, candidate.variant),
        )


def _mutator_elements(row: Mutator, variant: str) -> list[str]:
    return [
        f"row {row.name}",
        f"variant {row.name} {variant}",
        f"cell {row.object}.{row.primitive}",
    ]


def _ops_at(graph: Graph, site: Site) -> set[str]:
    """Operators of the site's nodes, and of those that make or read the edge it touches."""
    names = {*site.nodes, site.value, site.consumer}
    if site.value and not site.consumer:
        names.update(graph.users.get(site.value, ()))
    return {graph.by_name[name].op for name in names if name in graph.by_name}


def _site_elements(graph: Graph, site: Site) -> list[str]:
    """Operators of the site, and the operator pairs at the edge it touches."""
    found = [f"op {graph.by_name[name].op}" for name in site.nodes if name in graph.by_name]
    if site.value:
        producer = graph.by_name.get(site.value)
        made_by = producer.op if producer else "input"
        readers = (site.consumer,) if site.consumer else graph.users.get(site.value, ())
        found += [f"edge {made_by}>{graph.by_name[name].op}" for name in readers]
    return found


def _state_elements(flow: FlowGraph, value: str) -> Sequence[str]:
    """The state of the tensor at the site."""
    return flow.facts(value).state if value else ()


def candidates(
    case: Case,
    facts: Mapping[str, Fact] | None = None,
    *,
    pool: str = "full",
    ops: Collection[str] = (),
    counts: Counts | None = None,
    limit: int | None = None,
    rows: int | None = None,
    rng: np.random.Generator | None = None,
) -> Candidates:
    """The candidates of a case; see `Candidates`."""
    return Candidates(
        case, facts, pool=pool, ops=ops, counts=counts, limit=limit, rows=rows, rng=rng
    )
