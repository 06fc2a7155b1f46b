"""What can be asked of a tensor, answered as a tensor: elements, extents, kinds of dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.ir.types import COMPLEX, FLOATS, INTEGERS, Dense
from engine.ops.families import Array
from engine.ops.rules import MINDSPORE_MOVING, limited, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

DTYPES = (*FLOATS, "int32", "int64", "bool")
MINDSPORE = tuple(one for one in DTYPES if one in MINDSPORE_MOVING)
SHAPES = ((2, 3, 4), (5,), (), (0, 3))


def _query(
    name: str,
    reference: Callable[[Array], object],
    torch: Mapping[str, str | Form],
    mindspore: Mapping[str, str | Form],
    *,
    dtype: str = "int64",
    shape: Callable[[OpCall], tuple[int, ...]] = lambda call: (),
    dtypes: tuple[str, ...] = DTYPES,
    shapes: tuple[tuple[int, ...], ...] = SHAPES,
) -> None:
    def infer(call: OpCall) -> Dense:
        return resized(call["x"], shape(call), dtype)

    op(
        name,
        "x",
        dtypes=dtypes,
        infer=infer,
        reference=reference,
        torch=torch,
        mindspore=limited(tuple(one for one in dtypes if one != "bfloat16"), mindspore),
        tolerance=Tolerance.EXACT,
        shapes=shapes,
        tags={"query"},
        differentiable=False,
    )


_query(
    "numel",
    lambda x: np.asarray(x.size, np.int64),
    {
        "function": Form("torch.tensor(torch.numel({x}))", api="torch.numel"),
        "method": Form("torch.tensor({x}.numel())", source="torch.Tensor.numel: see torch.numel()"),
        "method_nelement": Form(
            "torch.tensor({x}.nelement())", source="torch.Tensor.nelement: alias for numel()"
        ),
        "builtin": Form(
            "torch.tensor(math.prod({x}.shape))", source="torch.numel: the number of elements"
        ),
    },
    {
        "function": Form("Tensor(ops.numel({x}), ms.int64)", api="ops.numel"),
        "method": Form(
            "Tensor({x}.numel(), ms.int64)",
            api="operand_x.numel",
            source="mindspore.Tensor.numel: for details refer to mindspore.ops.numel",
        ),
        "function_size": Form(
            "Tensor(ops.size({x}), ms.int64)", source="mindspore.ops.size: the number of elements"
        ),
        "builtin": Form(
            "Tensor({x}.size, ms.int64)", source="mindspore.Tensor.size: the number of elements"
        ),
    },
)
_query(
    "shape_tensor",
    lambda x: np.asarray(x.shape, np.int64),
    {
        "builtin": "torch.tensor({x}.shape, dtype=torch.int64)",
        "method": Form(
            "torch.tensor({x}.size(), dtype=torch.int64)",
            source="torch.Tensor.shape: alias for size()",
        ),
        "builtin_list": Form(
            "torch.tensor([{x}.size(at) for at in range({x}.dim())], dtype=torch.int64)",
            source="torch.Tensor.size: with dim, the size of that dimension",
        ),
    },
    {
        "function": "ops.dyn_shape({x})",
        "primitive": Form(
            "{self}({x})",
            setup=("{self} = ops.TensorShape()",),
            source="mindspore.ops.TensorShape: the shape of the input tensor, as a tensor",
        ),
        "builtin": Form(
            "Tensor({x}.shape, ms.int64)", source="mindspore.Tensor.shape: the shape as a tuple"
        ),
        "function_shape": Form(
            "Tensor(ops.shape({x}), ms.int64)", source="mindspore.ops.shape: the shape as a tuple"
        ),
    },
    shape=lambda call: (call["x"].rank,),
    shapes=((2, 3, 4), (5,), (0, 3)),
)
_query(
    "rank",
    lambda x: np.asarray(x.ndim, np.int64),
    {
        "method": "torch.tensor({x}.dim())",
        "builtin": Form("torch.tensor({x}.ndim)", source="torch.Tensor.ndim: alias for dim()"),
        "builtin_len": Form(
            "torch.tensor(len({x}.shape))", source="torch.Tensor.dim: the number of dimensions"
        ),
    },
    {
        "function": Form("Tensor(ops.rank({x}), ms.int64)", api="ops.rank"),
        "builtin": Form(
            "Tensor({x}.ndim, ms.int64)", source="mindspore.Tensor.ndim: the number of dimensions"
        ),
        "method": Form(
            "Tensor({x}.dim(), ms.int64)", source="mindspore.Tensor.dim: alias for Tensor.ndim"
        ),
    },
)


def _kind(name: str, kinds: tuple[str, ...]) -> None:
    """Whether the dtype is of a kind."""
    _query(
        name,
        lambda x: np.asarray(x.dtype.name in kinds),
        {
            "function": Form(f"torch.tensor(torch.{name}({{x}}))", api=f"torch.{name}"),
            "method": Form(
                f"torch.tensor({{x}}.{name}())", source=f"torch.Tensor.{name}: see torch.{name}()"
            ),
            "builtin": Form(
                f"torch.tensor({{x}}.dtype.{name})",
                source=f"torch.dtype.{name}: the property of the dtype",
            ),
        },
        {
            "function": Form(f"Tensor(ops.{name}({{x}}), ms.bool_)", api=f"ops.{name}"),
            "method": Form(
                f"Tensor({{x}}.{name}(), ms.bool_)",
                api=f"operand_x.{name}",
                source=f"mindspore.Tensor.{name}: for details refer to mindspore.ops.{name}",
            ),
        },
        dtype="bool",
        dtypes=(*FLOATS, *INTEGERS, *COMPLEX),
        shapes=((2, 3), ()),
    )


_kind("is_floating_point", FLOATS)
_kind("is_complex", (*COMPLEX, "complex128"))


# ------------------------------------------------------------------------------------ at least
def _at_least(n: int, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> None:
    name = f"atleast_{n}d"
    dtypes = (*FLOATS, "int32", "int64")
    op(
        name,
        "x",
        dtypes=dtypes,
        infer=lambda call: resized(call["x"], shape(static(call["x"]))),
        reference=lambda x: x.reshape(shape(x.shape)),
        torch={
            "function": f"torch.{name}({{x}})",
            "function_list": Form(
                f"torch.{name}([{{x}}])[0]",
                source=f"torch.{name}: input, a tensor or a tuple or list of tensors",
            ),
        },
        mindspore=limited(
            tuple(one for one in dtypes if one != "bfloat16"),
            {
                "function": f"ops.{name}({{x}})",
                "function_list": Form(
                    f"ops.{name}([{{x}}])[0]",
                    source=f"mindspore.ops.{name}: Union[Tensor, list[Tensor]]",
                ),
            },
        ),
        tolerance=Tolerance.EXACT,
        shapes=((3,), (), (2, 3), (2, 3, 4)),
        tags={"view", "reshape"},
        views="x",
    )


_at_least(1, lambda shape: shape or (1,))
_at_least(2, lambda shape: shape if len(shape) > 1 else (1, *(shape or (1,))))


def _three(shape: tuple[int, ...]) -> tuple[int, ...]:
    match len(shape):
        case 0:
            return (1, 1, 1)
        case 1:
            return (1, *shape, 1)
        case 2:
            return (*shape, 1)
        case _:
            return shape


_at_least(3, _three)
