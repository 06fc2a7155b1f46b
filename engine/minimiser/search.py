"""The search: named passes, big cuts first, to a fixed point under a total order on cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TypeAlias

from engine.errors import ConstraintViolated, InvalidGraph
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.digest import case_digest
from engine.ir.graph import Literal, Random, StoredBlob
from engine.ir.types import Dense
from engine.minimiser.passes import PASSES, Blobs, cut_round
from engine.ops import OPS

__all__ = ["Budget", "minimise", "size"]

Keeps: TypeAlias = "Callable[[Case], bool]"
Shrink: TypeAlias = "Callable[[Case, Blobs], Iterable[Case]]"
_DTYPE_ORDER = ("float32", "int64", "bool", "float64", "int32", "float16", "bfloat16")


@dataclass
class Budget:
    """What a minimisation may spend. `clock` is passed in so that tests need no real time."""

    attempts: int = 250
    seconds: float = 90.0
    clock: Callable[[], float] = monotonic
    spent: int = 0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def is_left(self) -> bool:
        return self.spent < self.attempts and self.clock() - self.started < self.seconds


def minimise(
    case: Case,
    blobs: Blobs,
    keeps: Keeps,
    *,
    budget: Budget,
    suspects: Sequence[str] = (),
) -> Case:
    """The smallest case found for which `keeps` holds; `case` itself must satisfy it.

    `blobs` is content-addressed and grows with the values that attempts need. `suspects`: names of
    nodes where the failure seems to be, likeliest first; the cuts round them are tried before all
    else. Every accepted attempt is smaller by `size`, so the search ends; when no pass makes
    progress it is at a fixed point, and minimising its result again changes nothing.
    """
    seen = {case_digest(case)}
    if suspects:
        case = _exhaust(case, blobs, keeps, partial(cut_round, suspects), seen, budget)
    progress = True
    while progress and budget.is_left:
        progress = False
        for shrink in PASSES.values():
            smaller = _exhaust(case, blobs, keeps, shrink, seen, budget)
            if smaller is not case:
                case, progress = smaller, True
    return case


def _exhaust(
    case: Case,
    blobs: Blobs,
    keeps: Keeps,
    shrink: Shrink,
    seen: set[str],
    budget: Budget,
) -> Case:
    """Repeat one pass until none of its proposals is kept."""
    accepted = True
    while accepted:
        accepted = False
        for attempt in _proposals(case, blobs, shrink):
            if not budget.is_left:
                return case
            if size(attempt) >= size(case) or not _is_new(attempt, seen):
                continue
            budget.spent += 1
            if keeps(attempt):
                case, accepted = attempt, True
                break
    return case


def _proposals(case: Case, blobs: Blobs, shrink: Shrink) -> Iterator[Case]:
    """One after another: there may be many, and those after the first that is kept are not
    wanted."""
    for attempt in shrink(case, blobs):
        try:
            check(attempt)
        except (InvalidGraph, ConstraintViolated):
            continue
        yield attempt


def _is_new(case: Case, seen: set[str]) -> bool:
    digest = case_digest(case)
    if digest in seen:
        return False
    seen.add(digest)
    return True


def size(case: Case) -> tuple[int, ...]:
    """The total order: nodes, plan, outputs, elements, inputs, forms, attributes, then values."""
    graph = case.graph
    plan = case.plan
    dense = [one.type for one in graph.inputs if isinstance(one.type, Dense)]
    attrs = [
        _place(value, OPS[node.op].attrs.get(name, ()))
        for node in graph.nodes
        if node.op in OPS
        for name, value in node.attrs
    ]
    return (
        len(graph.nodes),
        len(plan.calls) + (plan.gradient != "none") + len(plan.checks),
        len(graph.outputs),
        sum(one.elements for one in dense),
        len(graph.inputs),
        sum(one.rank for one in dense),
        sum(len(node.forms) for node in graph.nodes),
        sum(attrs),
        sum(_place(one.dtype, _DTYPE_ORDER) for one in dense),
        sum(
            one.requires_grad + (one.layout != "contiguous") + bool(one.alias)
            for one in graph.inputs
        ),
        sum(_plainness(one.init) for one in graph.inputs),
    )


def _place(value: object, order: tuple[object, ...]) -> int:
    return order.index(value) if value in order else len(order)


def _plainness(init: object) -> int:
    """Plain formulas before short literals before random values before stored ones."""
    if isinstance(init, StoredBlob):
        return 200
    if isinstance(init, Random):
        return 100
    if isinstance(init, Literal):
        return 10 + sum(len(repr(one)) for one in init.values) // 8
    return 1
