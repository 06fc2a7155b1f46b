"""Several tensors as the elements of a tuple: the first of them, the sum of all."""

from __future__ import annotations

from functools import reduce

import numpy as np

from engine.ops.joining import alike, others
from engine.ops.numeric import widened
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MINDSPORE_NUMBERS,
    MOVING,
    NUMBERS,
    limited,
    mindspore_primitive,
    same_as_first,
)
from engine.ops.spec import Form, Tolerance, op

_TUPLE = "({x}, {ys})"
_FIRST: dict[str, str | Form] = {
    "builtin": f"next(iter({_TUPLE}))",
    "builtin_list": Form(
        f"[one for one in {_TUPLE}][0]", source="Python: a list comprehension keeps the order"
    ),
    "builtin_unpacked": Form(
        f"list({_TUPLE})[0]", source="Python: list(xs) holds the elements in their order"
    ),
}
op(
    "next",
    "x ys*",
    dtypes=MOVING,
    infer=same_as_first,
    requires=alike,
    reference=lambda x, ys: x[...],
    torch=_FIRST,
    mindspore=limited(MINDSPORE_MOVING, _FIRST),
    tolerance=Tolerance.EXACT,
    companions=others(1),
    shapes=((2, 3), (4,)),
    tags={"joining", "view", "shape-preserving"},
    views="x",
    doc="The first element that an iterator over a tuple gives.",
)

op(
    "add_n",
    "x ys*",
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=alike,
    reference=widened(lambda x, ys: reduce(np.add, ys, x) if ys else x.copy()),
    torch={
        "builtin": f"sum({_TUPLE})",
        "composed": Form(
            f"torch.stack({_TUPLE}).sum(0, dtype={{x}}.dtype)",
            source="torch.sum: the sum over a dimension, here the stacked one",
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": f"ops.addn({_TUPLE})",
            "function_list": Form(
                "ops.addn([{x}, {ys}])", source="mindspore.ops.addn: a list or tuple of tensors"
            ),
            "primitive": Form(
                f"{{self}}({_TUPLE})",
                setup=("{self} = ops.AddN()",),
                source=mindspore_primitive("AddN", "addn"),
            ),
            "builtin": Form(f"sum({_TUPLE})", source="Python: sum(xs) adds from left to right"),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=others(2),
    shapes=((2, 3), (4,), (1, 1)),
    tags={"arithmetic", "shape-preserving"},
)
