"""Examples of rows, made by applying them: the lines of a case before and after.

The case has a little of everything; a row without a site there is shown at a call of an operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Graph, Node
from engine.ir.text import parse_case, print_case
from engine.ir.types import Tuple
from engine.mutators.apply import Mutant, apply
from engine.mutators.spec import Mutator
from engine.ops.examples import examples
from engine.ops.spec import OPS
from engine.ops.typing import ITEM, retype, retype_node

__all__ = ["MIXED", "cases_for", "of_operator", "shown"]

MIXED = parse_case("""
case 1

graph mixed
  input x: float32[2,3,8,8] = normal(seed=0, mean=0.0, std=1.0)
  input z: float32[2,3,8,8] = normal(seed=9, mean=0.0, std=1.0)
  input i: int64[4] = integers(seed=3, low=0.0, high=6.0)
  weight w0: float32[4,3,3,3] = normal(seed=1, mean=0.0, std=0.3)
  weight b0: float32[4] = normal(seed=2, mean=0.0, std=0.1)
  weight w1: float32[8,8] = normal(seed=4, mean=0.0, std=0.3)
  weight g: float32[8] = normal(seed=5, mean=1.0, std=0.1)
  constant k: float32[8] = normal(seed=6, mean=1.0, std=0.1)
  v0: float32[2,4,8,8] = conv2d(x, w0, b0; dilation=1, groups=1, padding=1, stride=1)
  v1: float32[2,4,8,8] = gelu(v0; approximate="none")
  v2: float32[2,4,8,8] = layer_norm(v1, g, none; axes=1, eps=1e-05)
  v3: float32[2,4,8,8] = linear(v2, w1, none)
  v4: float32[2,4,8,8] = add(v3, v0)
  v5: float32[2,4,8,8] = relu(v4)
  v6: float32[2,4,8,8] = matmul(v5, v2)
  v7: float32[2,4,8,8] = softmax(v6; dim=-1)
  v8: float32[2,4,8,8] = mul(v7, k)
  v9: float32[2,4,64] = reshape(v8; shape=(2, 4, 64)) views v8
  v10: float32[2,64] = mean(v9; dim=1, keepdim=false)
  v11: float32[2,64] = sigmoid(v10)
  v12: float32[2,64] = silu(v11)
  v13: float32[2,64] = log_softmax(v12; dim=-1)
  v14: int64[4] = add_scalar(i; value=1)
  v15: float32[2,3,8,8] = sub(x, z)
  v16: float32[2,3,8,8] = square(v15)
  v17: float32[2,3,8,8] = tanh(v16)
  v18: float32[2,64] = add(v12, v11)
  v19: float32[2,64] = add(v18, v10)
  v20: float32[2,64] = softmax(v19; dim=-1)
  v21: float32[2,64] = log(v20)
  v22: float32[2,4,8,8] = matmul(v1, w1)
  v23: float32[2,4,8,8] = add(v22, g)
  v24: float32[2,64] = add_scalar(v11; value=1.0)
  v25: float32[2,64] = sqrt(v24)
  v26: float32[2,64] = reciprocal(v25)
  return v13, v14, v17, v21, v23, v26

plan
  call
  check values state
""")


ATTENTION = parse_case("""
case 1

graph attention
  input q: float32[2,4,8] = normal(seed=0, mean=0.0, std=1.0)
  input k: float32[2,8,4] = normal(seed=1, mean=0.0, std=1.0)
  input v: float32[2,4,8] = normal(seed=2, mean=0.0, std=1.0)
  constant m: float32[4,4] = normal(seed=3, mean=0.0, std=1.0)
  weight w: float32[8,8] = normal(seed=4, mean=0.0, std=0.3)
  v0: float32[2,4,4] = matmul(q, k)
  v1: float32[2,4,4] = div_scalar(v0; value=2.0)
  v2: float32[2,4,4] = add(v1, m)
  v3: float32[2,4,4] = softmax(v2; dim=-1)
  v4: float32[2,4,8] = matmul(v3, v)
  v5: float32[2,4,8] = linear(v4, w, none)
  v6: float32[2,4,8] = tanh(v5)
  v7: float32[2,4,8] = abs(v6)
  return v7

plan
  call
  check values state
""")


@cache
def of_operator(name: str, *, bare: bool = False) -> Case:
    """A call of an operator between two others, so that its edges have both ends.

    `bare`: without the optional operands.
    """
    example = next(examples(OPS[name]))
    call = example.node()
    if bare:
        slots = OPS[name].operands
        given = zip(call.operands, slots, strict=False)
        call = replace(call, operands=tuple(None if slot.optional else one for one, slot in given))
    lead = next(one for one in example.operands if one is not None)
    first = Node("a0", "clone", (lead,), example.graph().types[lead])
    operands = tuple("a0" if one == lead else one for one in call.operands)
    call = retype_node(
        replace(call, operands=operands), {**example.graph().types, "a0": first.type}
    )
    nodes = [first, Node("b0", call.op, operands, call.type, call.attrs)]
    if isinstance(call.type, Tuple):
        nodes.append(Node("c0", ITEM, ("b0",), call.type.items[0], (("index", 0),)))
    else:
        nodes.append(Node("c0", "clone", ("b0",), call.type))
    return Case(retype(Graph("call", example.inputs, tuple(nodes), ("c0",))))


def cases_for(row: Mutator) -> Iterator[Case]:
    """Cases in which a row may have sites: the mixed one, attention, then calls of operators."""
    yield MIXED
    yield ATTENTION
    for name, spec in OPS.items():
        if "control" not in spec.tags:
            yield of_operator(name)
            if any(slot.optional for slot in spec.operands):
                yield of_operator(name, bare=True)


def shown(row: Mutator) -> tuple[str, str]:
    """Lines of the text form that a mutation by the row takes away, and those that it brings."""
    case, mutant = _first(row)
    before, after = (_lines(one) for one in (case, replace(mutant.case, claim="")))
    return (
        "\n".join(line for line in before if line not in after),
        "\n".join(line for line in after if line not in before),
    )


def _first(row: Mutator) -> tuple[Case, Mutant]:
    for case in cases_for(row):
        sites = tuple(row.sites(case))[:6]
        for variant in row.variants:
            for site in sites:
                try:
                    return case, apply(case, row, variant, site, np.random.default_rng(0))
                except ConstraintViolated:
                    continue
    raise ConstraintViolated(f"{row.name}: it applies to no example case")


def _lines(case: Case) -> list[str]:
    return [line.strip() for line in print_case(case).splitlines() if line.strip()]
