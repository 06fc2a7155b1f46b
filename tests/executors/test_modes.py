"""A whole case, from its text to the outcomes of the modes."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.modes import MODES
from engine.executors.outcome import Outcome, Status
from engine.executors.pool import Pool
from engine.ir.case import Case
from engine.ir.text import parse_case

pytestmark = pytest.mark.framework

CASE = """case 1

graph small
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0) layout=transposed requires_grad
  weight w: float32[2,3] = normal(seed=1, std=0.5) requires_grad
  v0: float32[2,3] = exp(x)
  v1: float32[2,3] = add(v0, w)
  v2: float32[2,3] = relu(v1)
  return v2, v0

plan
  call
  call x: float32[4,2,3] = normal(seed=7)
  gradient reverse
  check values gradients state
"""
CHEAP = [name for name in MODES if name != "torch-inductor"]


def first(outcome: Outcome) -> np.ndarray:
    assert outcome.status is Status.OK, (outcome.mode, outcome.failure, outcome.reason)
    array = outcome.calls[0].outputs[0].array
    assert array is not None
    return np.asarray(array, np.float64)


@pytest.fixture(scope="module")
def case() -> Case:
    return parse_case(CASE)


def test_modes_agree_on_calls_and_gradients(pool: Pool, case: Case) -> None:
    found = pool.run_modes(case, CHEAP, record="facts")
    assert list(found) == CHEAP
    for outcome in found.values():
        np.testing.assert_allclose(first(outcome), first(found["numpy"]), rtol=1e-5)
        assert outcome.calls[0].structure == "tuple(tensor, tensor)"
        assert outcome.calls[1].outputs[0].shape == (4, 2, 3)
        assert not outcome.moved
    for name in ("x", "w"):
        gradients = [one.gradients[name] for mode, one in found.items() if mode != "numpy"]
        arrays = [np.asarray(one.array, np.float64) for one in gradients if one is not None]
        assert len(arrays) == len(CHEAP) - 1
        for array in arrays:
            np.testing.assert_allclose(array, arrays[0], rtol=1e-5)


def test_eager_modes_record_every_value_of_the_graph(pool: Pool, case: Case) -> None:
    found = pool.run_modes(case, ["torch-eager", "mindspore-pynative"], record="facts")
    for outcome in found.values():
        assert set(outcome.recorded) == {"x", "w", "v0", "v1", "v2"}
        assert outcome.recorded["v0"].summary["min"] > 0


def test_source_is_the_one_that_is_shown(pool: Pool, case: Case) -> None:
    source = pool.run(case, "torch-eager").source
    assert source.startswith("import torch\n")
    assert "def forward(x, w):" in source
    assert "def loss(x, w, c0, c1):" in source


def test_bfloat16_outputs_keep_their_dtype(pool: Pool) -> None:
    case = parse_case(
        "case 1\n\ngraph g\n  input x: bfloat16[3] = [1.0, 2.0, nan]\n"
        "  v0: bfloat16[3] = relu(x)\n  return v0\n"
    )
    array = pool.run(case, "torch-eager").calls[0].outputs[0].array
    assert array is not None
    assert array.dtype == ml_dtypes.bfloat16


def test_a_case_alone_answers_the_same(pool: Pool, case: Case) -> None:
    shared, alone = (pool.run(case, "torch-eager", alone=flag) for flag in (False, True))
    assert first(shared).tobytes() == first(alone).tobytes()


def test_missing_blob_and_unknown_record_are_bad_input(pool: Pool, case: Case) -> None:
    missing = replace(
        case, graph=parse_case(CASE.replace("normal(seed=1, std=0.5)", f"blob {'0' * 64}")).graph
    )
    with pytest.raises(BadInput, match="no such blob"):
        pool.run(missing, "torch-eager")
    with pytest.raises(BadInput, match="record: saw 'all'"):
        pool.run(case, "torch-eager", record="all")
