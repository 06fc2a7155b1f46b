"""Which formula gives the values of a constant."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import BadInput
from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import Dense
from engine.ir.values import materialise
from engine.seeds.constants import recognised, shape_of

IMAGE = (96, 64)
PLACES = 12 * 8 + 6 * 4 + 3 * 2
SCALES = {"height": 96, "width": 64, "strides": (8, 16, 32)}

TABLES: list[tuple[str, str, tuple[int, ...], dict[str, Attr]]] = [
    ("relative_position_index", "int64", (81,), {"window": 3}),
    ("window_coordinates", "float32", (1, 7, 7, 2), {"window": 4}),
    (
        "shift_mask",
        "float32",
        (1, 24, 1, 16, 16),
        {"height": 24, "width": 16, "window": 4, "shift": 2},
    ),
    ("band_mask", "float32", (1, 1, 24, 24), {"reach": 4, "masked": -1e9, "visible": 0.0}),
    ("start_mask", "float32", (9, 9), {"masked": -1e9, "visible": 0.0}),
    ("cloze_mask", "float32", (9, 9), {"masked": -1e9, "visible": 0.0}),
    ("frequencies", "float32", (1, 128), {}),
    ("plane_waves", "float32", (1, 6, 32), {"height": 3, "width": 2, "by_columns": True}),
    ("plane_waves", "float32", (1, 96, 32), {"height": 12, "width": 8, "by_columns": False}),
    ("plane_sine", "float32", (1, 32, 12, 8), {"height": 12, "width": 8}),
    ("plane_sine", "float32", (1, 24, 32), {"height": 6, "width": 4, "layout": "places"}),
    ("plane_sine", "float32", (24, 2, 32), {"height": 6, "width": 4, "layout": "places_first"}),
    ("grid_centres", "float32", (1, 2, PLACES), SCALES),
    ("grid_strides", "float32", (1, 1, PLACES), SCALES),
    ("anchors", "float32", (1, PLACES, 4), SCALES),
    ("anchor_mask", "float32", (1, PLACES, 1), SCALES),
    ("reference_points", "float32", (2, PLACES, 1, 3, 1, 2), SCALES),
]


def values(name: str, dtype: str, shape: tuple[int, ...], given: dict[str, Attr]) -> np.ndarray:
    init = Formula(name, tuple(given.items()))
    return np.array(materialise([Input("x", Dense(dtype, shape), init=init)])["x"])


@pytest.mark.parametrize(("name", "dtype", "shape", "given"), TABLES)
def test_a_table_is_told_by_its_values(
    name: str, dtype: str, shape: tuple[int, ...], given: dict[str, Attr]
) -> None:
    table = values(name, dtype, shape, given)
    found = recognised(table, dtype, IMAGE)
    assert found is not None
    assert found.name == name
    np.testing.assert_array_equal(values(name, dtype, shape, dict(found.parameters)), table)


@pytest.mark.parametrize(("name", "dtype", "shape", "given"), TABLES)
def test_a_table_with_one_other_value_is_none(
    name: str, dtype: str, shape: tuple[int, ...], given: dict[str, Attr]
) -> None:
    table = values(name, dtype, shape, given)
    table.flat[table.size // 2] = 7
    assert recognised(table, dtype, IMAGE) is None


def test_a_shift_mask_parts_what_a_shift_brought_together() -> None:
    """A plane of 4 x 4 in windows of 2, shifted by 1: only the first window is whole."""
    given: dict[str, Attr] = {"height": 4, "width": 4, "window": 2, "shift": 1}
    mask = values("shift_mask", "float32", (4, 4, 4), given)
    assert (mask[0] == 0).all()
    assert (mask[3] == np.where(np.eye(4), 0, -100)).all()
    assert (mask[1] == np.where(np.arange(4)[:, None] % 2 == np.arange(4) % 2, 0, -100)).all()


def test_anchors_are_logits_of_boxes_and_those_at_the_border_the_greatest_float() -> None:
    given: dict[str, Attr] = {"height": 640, "width": 640, "strides": (8,)}
    anchors = values("anchors", "float32", (1, 6400, 4), given)
    mask = values("anchor_mask", "float32", (1, 6400, 1), given)
    assert (anchors[0, 0] == np.finfo("float32").max).all()
    assert mask[0, 0, 0] == 0
    assert mask.sum() == 78 * 78
    middle = 1 / (1 + np.exp(-anchors[0, 40 * 80 + 20].astype("float64")))
    np.testing.assert_allclose(middle, [20.5 / 80, 40.5 / 80, 0.05, 0.05], rtol=1e-6)


def test_a_layout_that_is_none_is_named() -> None:
    with pytest.raises(BadInput, match="sideways"):
        values(
            "plane_sine", "float32", (1, 24, 32), {"height": 6, "width": 4, "layout": "sideways"}
        )


def test_only_what_has_planes_is_an_image() -> None:
    assert shape_of([2, 3, 96, 64]) == (96, 64)
    assert shape_of([2, 24]) is None


def test_an_infinite_mask_is_told_by_where_its_infinities_stand() -> None:
    causal = np.triu(np.full((32, 32), -np.inf, dtype="float32"), 1)
    assert recognised(causal, "float32", None) is None
    cloze = np.zeros((9, 9), dtype="float32")
    cloze[np.eye(9, k=1, dtype=bool)] = -np.inf
    found = recognised(cloze, "float32", None)
    assert found == Formula("cloze_mask", (("masked", -np.inf), ("visible", 0.0)))
