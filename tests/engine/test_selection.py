"""Selection: LinUCB learns the better cell, state survives a round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from engine.errors import BadInput
from engine.selection.policies import CONTEXT_SIZE, Floats, LinUcb, RandomPolicy, policy

GOOD, POOR = ("interface", "update"), ("operator", "deletion")


@dataclass
class Candidates:
    cells: Sequence[tuple[str, str]]
    rows: Floats

    def __len__(self) -> int:
        return len(self.cells)

    def contexts(self) -> Floats:
        return self.rows

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.integers(len(self)))


def candidates(count: int = 20) -> Candidates:
    rows = np.random.default_rng(0).random((count, CONTEXT_SIZE))
    return Candidates([GOOD if at % 2 else POOR for at in range(count)], rows)


def test_linucb_prefers_the_cell_that_pays() -> None:
    bandit, rng, pool = LinUcb(), np.random.default_rng(1), candidates()
    chosen = []
    for _ in range(200):
        first = next(bandit.order(pool, rng))
        chosen.append(pool.cells[first])
        reward = 1.0 if pool.cells[first] == GOOD else 0.0
        bandit.learn(pool.rows[first], pool.cells[first], reward)
    assert chosen[100:].count(GOOD) > 90


def test_linucb_inverse_stays_the_inverse_of_the_ridge_matrix() -> None:
    bandit, rng = LinUcb(), np.random.default_rng(2)
    rows = rng.random((50, CONTEXT_SIZE))
    for row in rows:
        bandit.learn(row, GOOD, 0.5)
    design = np.hstack([rows, np.ones((50, 1))])
    direct = np.linalg.inv(np.eye(CONTEXT_SIZE + 1) + design.T @ design)
    np.testing.assert_allclose(bandit.shared.inverse, direct, atol=1e-9)


def test_state_of_linucb_survives_a_round_trip() -> None:
    bandit, other, pool = LinUcb(), LinUcb(), candidates()
    bandit.learn(pool.rows[0], GOOD, 1.0)
    bandit.learn(pool.rows[1], POOR, 0.2)
    other.restore(bandit.state())
    np.testing.assert_array_equal(
        bandit.scores(pool.rows, pool.cells), other.scores(pool.rows, pool.cells)
    )


def test_random_order_visits_every_candidate_once() -> None:
    order = list(RandomPolicy().order(candidates(8), np.random.default_rng(3)))
    assert sorted(order) == list(range(8))


def test_unknown_policy_is_named() -> None:
    with pytest.raises(BadInput, match="policy: saw 'greedy', expected linucb or random"):
        policy("greedy")
