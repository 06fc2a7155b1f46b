"""Operands of two dtypes: both frameworks promote as our table says."""

from __future__ import annotations

from itertools import product

import pytest

from engine.errors import ConstraintViolated
from engine.executors.outcome import Status
from engine.executors.pool import Pool
from engine.ir.text import parse_case
from engine.ops.promotion import promoted_dtype
from engine.ops.typing import retype

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")
MODES = {"torch": "torch-eager", "mindspore": "mindspore-pynative", "numpy": "numpy"}


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch),
        pytest.param("mindspore", marks=pytest.mark.mindspore),
        "numpy",
    ],
)
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_a_result_has_the_promoted_dtype(op: str, framework: str, pool: Pool) -> None:
    pairs = [one for one in product(DTYPES, DTYPES) if one[0] != one[1]]
    lines = ["case 1", "", "graph pairs"]
    for name in DTYPES:
        lines.append(f"  input {name}_x: {name}[2,3] = formula full(value=2)")
    for at, (x, y) in enumerate(pairs):
        lines.append(f"  v{at}: {promoted_dtype(x, y)}[2,3] = {op}({x}_x, {y}_x)")
    lines += [f"  return {', '.join(f'v{at}' for at in range(len(pairs)))}", "", "plan", "  call"]
    case = parse_case("\n".join(lines))
    assert retype(case.graph) == case.graph
    outcome = pool.run(case, MODES[framework])
    assert outcome.status is Status.OK, outcome.failure
    dtypes = {
        pair: answer.dtype for pair, answer in zip(pairs, outcome.calls[0].outputs, strict=True)
    }
    assert dtypes == {pair: promoted_dtype(*pair) for pair in pairs}


QUOTIENT = """
case 1

graph quotient
  input x: int32[2] = formula full(value=1)
  input y: uint8[2] = formula full(value=4)
  v: float32[2] = div(x, y)
  return v

plan
  call
"""


@pytest.mark.torch
@pytest.mark.mindspore
@pytest.mark.parametrize("mode", MODES.values())
def test_the_quotient_of_whole_numbers_is_float32(mode: str, pool: Pool) -> None:
    case = parse_case(QUOTIENT)
    assert retype(case.graph) == case.graph
    answer = pool.run(case, mode).calls[0].outputs[0]
    assert answer.dtype == "float32"
    assert answer.array is not None
    assert answer.array.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("op", "y", "words"),
    [
        ("sub", "y: bool[2]", "a mask is no number"),
        ("add", "y: complex64[2]", "do not mix"),
        ("mul", "y: float64[]", "without axes"),
    ],
)
def test_what_frameworks_promote_otherwise_is_refused(op: str, y: str, words: str) -> None:
    lines = QUOTIENT.replace("x: int32", "x: float32").replace("y: uint8[2]", y)
    case = parse_case(lines.replace("div(", f"{op}("))
    with pytest.raises(ConstraintViolated, match=words):
        retype(case.graph)
