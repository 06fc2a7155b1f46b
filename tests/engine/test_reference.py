from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

from engine.executors.reference import Array, epsilon, evaluate
from engine.ir.graph import Graph
from engine.ir.text import parse_graph
from engine.ir.types import Dense, numpy_dtype
from engine.ir.values import materialise
from tests.sample_rows import sample_rows
from tests.strategies import operator_graphs


@pytest.fixture(autouse=True)
def rows() -> Iterator[None]:
    with sample_rows():
        yield


def graph(body: str, given_input: str = "x: float32[2,3] = formula arange()") -> Graph:
    return parse_graph(f"graph g\n  input {given_input}\n{body}")


def run(body: str, **inputs: str) -> dict[str, Array]:
    one = graph(body, **inputs)
    return evaluate(one, materialise(one))


def test_nodes_run_in_order() -> None:
    found = run("a: float32[2,3] = s_neg(x)\nb: float32[4,3] = s_join(a, x)\nreturn b")
    assert found["b"].tolist() == [[0, -1, -2], [-3, -4, -5], [0, 1, 2], [3, 4, 5]]
    assert sorted(found) == ["a", "b", "x"]


def test_values_of_a_tuple_have_names() -> None:
    found = run(
        "t: (float32[1,3], float32[1,3]) = s_halves(x)\n"
        "a: float32[1,3] = item(t; index=1)\nreturn a"
    )
    assert found["a"].tolist() == [[3, 4, 5]]
    assert found["t.0"].tolist() == [[0, 1, 2]]


def test_result_has_the_declared_dtype() -> None:
    found = run('h: bfloat16[2,3] = s_neg(x)\nc: int64[2,3] = s_cast(h; dtype="int64")\nreturn c')
    assert found["h"].dtype == ml_dtypes.bfloat16
    assert found["c"].dtype == np.int64


# ------------------------------------------------------------------------------------ storage
def test_write_to_a_view_reaches_its_base_and_its_siblings() -> None:
    found = run(
        "f: float32[6] = s_flat(x) views x\n"
        "t: (float32[1,3], float32[1,3]) = s_halves(x) views x\n"
        "a: float32[1,3] = item(t; index=0)\n"
        "b: float32[1,3] = s_add_(a, a) writes a\n"
        "n: float32[6] = s_neg(f)\n"
        "return b, n, f"
    )
    assert found["x"].tolist() == [[0, 2, 4], [3, 4, 5]]
    assert found["n"].tolist() == [0, -2, -4, -3, -4, -5]
    assert found["f"].tolist() == [0, 2, 4, 3, 4, 5]


def test_value_that_is_not_an_output_is_kept_as_it_was() -> None:
    body = "a: float32[2,3] = s_neg(x)\nb: float32[2,3] = s_add_(a, a) writes a\nreturn b"
    found = run(body)
    assert found["a"].tolist() == [[0, -1, -2], [-3, -4, -5]]
    assert found["b"].tolist() == [[0, -2, -4], [-6, -8, -10]]


def test_write_reaches_inputs_of_the_same_alias_group_only() -> None:
    body = (
        "input y: float32[3,2] = formula arange() alias=one\n"
        "input z: float32[2,3] = formula arange()\n"
        "b: float32[2,3] = s_add_(x, z) writes x\nreturn b"
    )
    one = graph(body, "x: float32[2,3] = formula arange() alias=one")
    found = evaluate(one, materialise(one))
    assert found["y"].tolist() == [[0, 2], [4, 6], [8, 10]]
    assert found["z"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_arrays_of_the_caller_are_never_changed() -> None:
    one = graph("b: float32[2,3] = s_add_(x, x) writes x\nreturn b")
    values = materialise(one)
    before = values["x"].copy()
    assert evaluate(one, values)["x"].tolist() != before.tolist()
    assert values["x"].tolist() == before.tolist()


def test_operator_that_is_no_view_never_shares_memory() -> None:
    body = (
        'a: float32[2,3] = s_cast(x; dtype="float32")\n'
        "j: float32[2,3] = s_join(a)\nb: float32[2,3] = s_add_(j, j) writes j\nreturn a, b"
    )
    found = run(body)
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]


# -------------------------------------------------------------------------------------- loops
def test_for_runs_its_body_as_often_as_it_says() -> None:
    body = (
        "v: float32[2,3] = for(x; trips={}) bound 3\n"
        "  body (c: float32[2,3]) captures (k = x)\n"
        "    n: float32[2,3] = s_neg(c)\n    yield n\nreturn v"
    )
    assert run(body.format(3))["v"][1].tolist() == [-3, -4, -5]
    assert run(body.format(0))["v"][1].tolist() == [3, 4, 5]


WHILE = """graph g
  input n: int64[] = [3]
  input one: int64[] = [-1]
  v: int64[] = while(n) bound {bound}
    body (c: int64[])
      p: bool[] = s_cast(c; dtype="bool")
      yield p
    body (d: int64[]) captures (k = one)
      e: int64[] = s_add_(d, k) writes d
      yield e
  return v"""


@pytest.mark.parametrize(("bound", "left"), [(9, 0), (2, 1), (0, 3)])
def test_while_stops_at_its_condition_or_its_bound(bound: int, left: int) -> None:
    one = parse_graph(WHILE.format(bound=bound))
    found = evaluate(one, materialise(one))
    assert found["v"].item() == left
    assert found["n"].item() == left


# ------------------------------------------------------------------- precision and noise floor
CASTS = (
    'h: float16[2,3] = s_cast(x; dtype="float16")\n'
    'c: complex64[2,3] = s_cast(h; dtype="complex64")\n'
    'i: int64[2,3] = s_cast(x; dtype="int64")\nreturn h, c, i'
)


def test_float64_promotes_inputs_results_and_casts() -> None:
    one = graph(CASTS, "x: bfloat16[2,3] = normal(seed=3)")
    values = materialise(one)
    found = evaluate(one, values, dtype="float64")
    assert {name: array.dtype.name for name, array in found.items()} == {
        "x": "float64",
        "h": "float64",
        "c": "complex128",
        "i": "int64",
    }
    assert np.array_equal(found["h"], values["x"].astype("float64"))


def test_disturbance_is_one_rounding_of_the_declared_dtype() -> None:
    one = graph(CASTS, "x: float32[2,3] = normal(seed=3)")
    values = materialise(one)
    exact = evaluate(one, values, dtype="float64")
    shifts = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = evaluate(one, values, dtype="float64", disturb=rng)
        relative = (found["h"] / exact["h"] - 1) / epsilon("float16")
        assert np.all(np.abs(relative) < 1 + 1e-2)
        shifts |= set(np.rint(relative).reshape(-1).tolist())
        assert np.array_equal(found["i"], exact["i"])
    assert shifts == {-1.0, 0.0, 1.0}


def test_disturbance_repeats_with_its_generator() -> None:
    one = graph(CASTS, "x: float32[2,3] = normal(seed=3)")
    values = materialise(one)
    first = evaluate(one, values, disturb=np.random.default_rng(1))
    again = evaluate(one, values, disturb=np.random.default_rng(1))
    assert all(first[name].tobytes() == again[name].tobytes() for name in first)


def test_disturbance_may_be_of_another_dtype() -> None:
    one = graph("v: float64[2,3] = s_neg(x)\nreturn v", "x: float64[2,3] = formula full(value=1.0)")
    found = evaluate(one, materialise(one), disturb=np.random.default_rng(0), working="bfloat16")
    assert 0 < np.abs(found["v"] + 1).max() < 3 * epsilon("bfloat16")


@pytest.mark.parametrize(
    ("dtype", "eps"),
    [("float64", 2.0**-52), ("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)],
)
def test_epsilon_is_the_distance_to_the_next_number(dtype: str, eps: float) -> None:
    assert epsilon(dtype) == eps


@given(operator_graphs())
@settings(max_examples=80)
def test_inferred_types_are_those_of_the_values(one: Graph) -> None:
    values = materialise(one)
    found = evaluate(one, values)
    for name, of in one.types.items():
        assert isinstance(of, Dense)
        assert found[name].shape == of.shape
        assert found[name].dtype == numpy_dtype(of.dtype)
    wide = evaluate(one, values, dtype="float64")
    assert {name: array.shape for name, array in wide.items()} == {
        name: array.shape for name, array in found.items()
    }


def test_a_value_without_axes_can_be_written_while_disturbed() -> None:
    graph = parse_graph(
        """graph scalar
  input x: float32[3] = [1.0, 2.0, 3.0]
  a: float32[] = sum(x; dim=none, keepdim=false)
  b: float32[] = mul_scalar(a; value=2)
  c: float32[] = copy_(a, b) writes a
  return c
"""
    )
    values = evaluate(
        graph,
        materialise(graph, {}),
        dtype="float64",
        disturb=np.random.default_rng(0),
    )
    assert all(isinstance(array, np.ndarray) for array in values.values())
    np.testing.assert_allclose(values["c"], 12.0, rtol=1e-5)
