"""Selection policies: which candidate is tried next, and what a round teaches.

A policy scores all candidates of a round in one vectorised call and learns from the reward of
the one that was run. Its state is JSON, so that a campaign can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.errors import BadInput

__all__ = ["CONTEXT_SIZE", "POLICIES", "LinUcb", "Policy", "Pool", "RandomPolicy", "policy"]

Floats = npt.NDArray[np.float64]
Cell = tuple[str, str]
# Site, tensor-state and mutator novelty, downstream reach, gradient magnitude, cost, depth.
CONTEXT_SIZE = 7


class Pool(Protocol):
    """The candidates of one round, as a policy sees them."""

    def __len__(self) -> int: ...
    @property
    def cells(self) -> Sequence[Cell]: ...
    def contexts(self) -> Floats: ...
    def draw(self, rng: np.random.Generator) -> int: ...


class Policy(Protocol):
    """`order` yields candidates, best first; `learn` takes the reward of the one that was run.

    `is_contextual`: whether contexts are looked at, so that they need not be computed otherwise.
    """

    name: str
    is_contextual: bool

    def order(self, pool: Pool, rng: np.random.Generator) -> Iterator[int]: ...
    def learn(self, context: Floats, cell: Cell, reward: float) -> None: ...
    def state(self) -> dict[str, object]: ...
    def restore(self, state: Mapping[str, object]) -> None: ...


@dataclass
class RandomPolicy:
    """A variant uniformly, then one of its sites uniformly; learns nothing."""

    name: str = "random"
    is_contextual: bool = False

    def order(self, pool: Pool, rng: np.random.Generator) -> Iterator[int]:
        tried: set[int] = set()
        misses = 0
        while len(tried) < len(pool) and misses < 1000:
            chosen = pool.draw(rng)
            if chosen in tried:
                misses += 1
                continue
            tried.add(chosen)
            yield chosen

    def learn(self, context: Floats, cell: Cell, reward: float) -> None:
        """A random policy does not learn."""

    def state(self) -> dict[str, object]:
        return {}

    def restore(self, state: Mapping[str, object]) -> None:
        if state:
            raise BadInput("state of the random policy", seen=sorted(state), expected="nothing")


@dataclass
class _Ridge:
    """One ridge regression with its inverse kept by rank-one updates (Sherman-Morrison)."""

    inverse: Floats
    moment: Floats

    @classmethod
    def fresh(cls, size: int, ridge: float) -> _Ridge:
        return cls(np.eye(size) / ridge, np.zeros(size))

    def update(self, context: Floats, reward: float) -> None:
        projected = self.inverse @ context
        self.inverse -= np.outer(projected, projected) / (1.0 + context @ projected)
        self.moment += reward * context

    def bounds(self, contexts: Floats, alpha: float) -> Floats:
        """Upper confidence bound of each row: x'theta + alpha sqrt(x'A^-1x)."""
        mean = contexts @ (self.inverse @ self.moment)
        width = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", contexts, self.inverse, contexts), 0))
        return np.asarray(mean + alpha * width)


@dataclass
class LinUcb:
    """LinUCB (Li et al., 2010) with one shared model and one for each (object, primitive) cell.

    The score of a candidate is the mean of the bound of the shared model and the bound of its cell.
    Ties are broken by the generator, so that equal candidates share the work.
    """

    name: str = "linucb"
    is_contextual: bool = True
    alpha: float = 0.5
    ridge: float = 1.0
    shared: _Ridge = field(default_factory=lambda: _Ridge.fresh(CONTEXT_SIZE + 1, 1.0))
    cells: dict[Cell, _Ridge] = field(default_factory=dict)

    def order(self, pool: Pool, rng: np.random.Generator) -> Iterator[int]:
        scores = self.scores(pool.contexts(), pool.cells)
        yield from (int(one) for one in np.lexsort((rng.random(len(scores)), -scores)))

    def scores(self, contexts: Floats, cells: Sequence[Cell]) -> Floats:
        """Score of every candidate; `contexts` is [n, 7]."""
        rows = _with_bias(contexts)
        scores = self.shared.bounds(rows, self.alpha)
        own = np.zeros(len(rows))
        labels = np.array(["/".join(cell) for cell in cells])
        for label in np.unique(labels):
            chosen = labels == label
            model = self._cell(tuple(str(label).split("/", 1)))
            own[chosen] = model.bounds(rows[chosen], self.alpha)
        return np.asarray((scores + own) / 2)

    def learn(self, context: Floats, cell: Cell, reward: float) -> None:
        row = _with_bias(context[None])[0]
        self.shared.update(row, reward)
        self.cells.setdefault(cell, _Ridge.fresh(CONTEXT_SIZE + 1, self.ridge)).update(row, reward)

    def _cell(self, cell: tuple[str, ...]) -> _Ridge:
        return self.cells.get((cell[0], cell[1])) or _Ridge.fresh(CONTEXT_SIZE + 1, self.ridge)

    def state(self) -> dict[str, object]:
        return {
            "shared": _to_lists(self.shared),
            "cells": {"/".join(cell): _to_lists(model) for cell, model in self.cells.items()},
        }

    def restore(self, state: Mapping[str, object]) -> None:
        cells = state.get("cells")
        if "shared" not in state or not isinstance(cells, Mapping):
            raise BadInput("state of LinUCB", seen=sorted(state), expected="shared and cells")
        self.shared = _from_lists(state["shared"])
        self.cells = {
            (name.split("/", 1)[0], name.split("/", 1)[1]): _from_lists(model)
            for name, model in cells.items()
        }


def _with_bias(contexts: Floats) -> Floats:
    return np.hstack([contexts, np.ones((len(contexts), 1))])


def _to_lists(model: _Ridge) -> dict[str, object]:
    return {"inverse": model.inverse.tolist(), "moment": model.moment.tolist()}


def _from_lists(data: object) -> _Ridge:
    if not isinstance(data, Mapping):
        raise BadInput("a ridge model", seen=type(data).__name__, expected="inverse and moment")
    return _Ridge(np.array(data["inverse"], dtype=float), np.array(data["moment"], dtype=float))


POLICIES: dict[str, Callable[[], Policy]] = {"linucb": LinUcb, "random": RandomPolicy}


def policy(name: str) -> Policy:
    """A fresh policy by name; `BadInput` for an unknown one."""
    if name not in POLICIES:
        raise BadInput("policy", seen=repr(name), expected=" or ".join(sorted(POLICIES)))
    return POLICIES[name]()
