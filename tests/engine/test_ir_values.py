import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.ir.text import parse_input
from engine.ir.types import DTYPES, numpy_dtype
from engine.ir.values import FORMULAS, RANDOM, Array, materialise


def made(text: str) -> Array:
    given_input = parse_input(text)
    return materialise([given_input])[given_input.name]


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_values_repeat_in_the_declared_dtype(kind: str, dtype: str) -> None:
    one, other = (
        made(f"x: {dtype}[3,4] = {kind}(seed=5)"),
        made(f"y: {dtype}[3,4] = {kind}(seed=5)"),
    )
    assert one.dtype == numpy_dtype(dtype)
    assert one.shape == (3, 4)
    assert one.flags.c_contiguous
    assert one.tobytes() == other.tobytes()


def test_random_values_are_those_of_pcg64() -> None:
    expected = np.random.Generator(np.random.PCG64(3)).standard_normal((2, 2))
    assert np.array_equal(made("x: float64[2,2] = normal(seed=3)"), expected)
    assert np.array_equal(
        made("x: float32[2,2] = normal(seed=3, mean=1.0, std=2.0)"),
        (1 + 2 * expected).astype("float32"),
    )


def test_narrower_dtype_gets_the_same_numbers_rounded() -> None:
    wide, narrow = made("x: float64[9] = normal(seed=1)"), made("x: bfloat16[9] = normal(seed=1)")
    assert np.array_equal(narrow, wide.astype(ml_dtypes.bfloat16))


@settings(deadline=None)
@given(st.integers(0, 2**40), st.integers(-5, 5), st.integers(1, 9))
def test_integers_keep_their_limits(seed: int, low: int, span: int) -> None:
    found = made(f"x: int64[50] = integers(seed={seed}, low={low}, high={low + span})")
    assert low <= found.min() <= found.max() < low + span


def test_permutation_holds_each_place_once_per_row() -> None:
    found = made("x: int64[3,5] = permutation(seed=2)")
    assert (np.sort(found, axis=-1) == np.arange(5)).all()
    assert made("x: int64[] = permutation(seed=2)").shape == ()


def test_formulas_compute_what_they_say() -> None:
    assert made("x: int64[2,3] = formula arange(start=1, step=2)").tolist() == [
        [1, 3, 5],
        [7, 9, 11],
    ]
    assert made("x: int64[2,3] = formula positions()").tolist() == [[0, 1, 2], [0, 1, 2]]
    assert made("x: bool[2,2] = formula eye()").tolist() == [[True, False], [False, True]]
    assert made("x: float32[3] = formula cycle(values=(1.0, nan))")[2] == 1.0
    assert made("x: float32[3] = formula linspace(start=0, stop=1)").tolist() == [0.0, 0.5, 1.0]
    assert made("x: float32[2] = formula full(value=inf)").tolist() == [np.inf, np.inf]


def test_causal_mask_hides_later_keys_and_those_outside_the_window() -> None:
    inf = float("-inf")
    assert made("m: float32[2,3] = formula causal_mask()").tolist() == [[0, 0, inf], [0, 0, 0]]
    windowed = made("m: float32[3,3] = formula causal_mask(masked=-1.0, window=2)")
    assert windowed.tolist() == [[0, -1, -1], [0, 0, -1], [-1, 0, 0]]
    assert made("m: bool[2,2] = formula causal_mask(visible=1.0, masked=0.0)").tolist() == [
        [True, False],
        [True, True],
    ]


def test_rotary_tables_are_cosines_and_sines_of_one_angle() -> None:
    cos = made("c: float64[2,5,8] = formula rope_cos(base=100.0)")
    sin = made("s: float64[2,5,8] = formula rope_sin(base=100.0)")
    assert np.allclose(cos**2 + sin**2, 1)
    assert np.allclose(cos[1, 3, 1], np.cos(3 * 100 ** (-2 / 8)))
    assert np.array_equal(cos[..., :4], cos[..., 4:])
    paired = made("c: float64[5,8] = formula rope_cos(base=100.0, interleaved=true)")
    assert np.array_equal(paired[:, 0::2], paired[:, 1::2])


def test_relative_positions_are_rows_of_the_bias_table() -> None:
    found = made("i: int64[16] = formula relative_position_index(window=2)").reshape(4, 4)
    assert found[0].tolist() == [4, 3, 1, 0]
    assert (np.diag(found) == 4).all()


NEEDS = {
    "cycle": ("4,4", "values=(1.0, 2.0)"),
    "relative_position_index": ("4,4", "window=2"),
    "window_coordinates": ("3,3,2", "window=2"),
    "shift_mask": ("4,4,4", "height=4, width=4, window=2, shift=1"),
    "band_mask": ("4,4", "reach=1"),
    "plane_waves": ("4,8", "height=2, width=2"),
    "plane_sine": ("8,2,2", "height=2, width=2"),
    "grid_centres": ("2,4", "height=16, width=16, strides=(8,)"),
    "grid_strides": ("1,4", "height=16, width=16, strides=(8,)"),
    "anchors": ("4,4", "height=16, width=16, strides=(8,)"),
    "anchor_mask": ("4,1", "height=16, width=16, strides=(8,)"),
    "reference_points": ("1,4,2", "height=16, width=16, strides=(8,)"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_fills_its_shape(name: str) -> None:
    shape, parameters = NEEDS.get(name, ("4,4", ""))
    found = made(f"x: float32[{shape}] = formula {name}({parameters})")
    assert found.shape == tuple(map(int, shape.split(",")))
    assert not np.isnan(found).any()


def test_inputs_of_one_alias_group_share_their_bytes() -> None:
    one = parse_input("x: float32[2,3] = normal(seed=0) alias=a")
    other = parse_input("y: float32[3,2] = normal(seed=9) alias=a")
    found = materialise([one, other])
    assert np.shares_memory(found["x"], found["y"])
    assert found["y"].shape == (3, 2)


def test_sparse_input_has_as_many_values_as_it_stores() -> None:
    found = made("x: csr float32[4,5] nnz 7 int32 = normal(seed=0)")
    assert np.count_nonzero(found) == 7


def test_literal_is_row_major_in_the_declared_dtype() -> None:
    found = made("x: float16[2,2] = [1, -0.0, nan, 1e9]")
    assert found.dtype == np.float16
    assert np.signbit(found[0, 1])
    assert np.isinf(found[1, 1])
    assert made("x: complex64[1] = [complex(1.0, -2.0)]")[0] == 1 - 2j
    assert made("x: bool[2] = [true, false]").tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: float32[2] = cauchy(seed=0)", "saw cauchy, expected one of normal"),
        ("x: float32[2] = normal(seed=0, sigma=1)", "saw sigma, expected parameters mean, std"),
        ("x: float32[2] = formula spiral()", "saw spiral, expected one of arange"),
        ("x: float32[2] = formula eye(value=1)", r"saw value, expected parameters \(none\)"),
        ("x: float32[2] = formula causal_mask()", "a shape that fit"),
        ("x: float32[2] = normal(seed=-1)", "seed"),
        (f"x: float32[2] = blob {'0' * 64}", "expected a blob 000"),
        ("x: float32[2] = [1.0]", "saw 1 values"),
    ],
)
def test_unknown_initialiser_is_bad_input(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        made(text)


def test_blob_of_another_size_is_bad_input() -> None:
    given_input = parse_input(f"x: float32[2] = blob {'0' * 64}")
    with pytest.raises(BadInput, match="a blob of 24 bytes"):
        materialise([given_input], {"0" * 64: np.zeros(3)})
