"""How far the answers of two runs are apart, and which ranked rows changed places."""

from __future__ import annotations

import numpy as np

from engine.seeds import load_seed
from engine.seeds.agreement import difference, has_ranked_rows, reordered


def answers(members: int = 2, rows: int = 6) -> list[np.ndarray]:
    """Scores and boxes of some rows."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=(members, rows, 5)), rng.uniform(size=(members, rows, 4))]


def test_a_difference_is_in_parts_of_the_greatest_value() -> None:
    referee = [np.array([[1.0, -4.0]]), np.array([[0.0]])]
    assert difference([np.array([[1.0, -3.0]]), np.array([[0.0]])], referee) == 0.25


def test_rows_that_changed_places_are_counted_and_the_rest_is_told() -> None:
    referee = answers()
    swapped = [one.copy() for one in referee]
    for one in swapped:
        one[1, [2, 4]] = one[1, [4, 2]] + 1e-6
    assert difference(swapped, referee) > 0.1
    moved, rest = reordered(swapped, referee)
    assert moved == 2
    assert 0 < rest < 2e-6


def test_a_wrong_row_stays_wrong_in_whatever_place() -> None:
    referee = answers()
    wrong = [one.copy() for one in referee]
    wrong[1][0, 3] += 0.5
    _, rest = reordered(wrong, referee)
    assert rest >= 0.4


def test_an_output_whose_rows_changed_places_alone_is_no_matter_of_rank() -> None:
    referee = answers()
    torn = [referee[0], referee[1][:, ::-1].copy()]
    assert reordered(torn, referee)[1] > 0.1


def test_a_graph_says_whether_its_rows_are_ranked() -> None:
    assert has_ranked_rows(load_seed("rtdetrv2_s_compact").graph)
    assert not has_ranked_rows(load_seed("yolov10_s_compact").graph)
