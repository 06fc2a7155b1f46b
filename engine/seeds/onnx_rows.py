"""The ONNX table: for each operator of a model, the operators of the vocabulary that stand for it.

Rows are those of `engine.seeds.aten`, but arguments come by the names that ONNX's schemas give
them. What is an input there and an attribute here (shapes, axes) must be constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from engine.errors import BadInput
from engine.ir.graph import Attr
from engine.ir.values import Array, materialise
from engine.seeds.aten import Row, items
from engine.seeds.building import AtenCall, Builder, Named

__all__ = ["ONNX"]

_ENDLESS = 2**31
"""ONNX writes an absent end as a huge number."""


# ------------------------------------------------------------------------------------ arguments
def _one(call: AtenCall, name: str) -> str:
    return call.value(99, name)


def _refuse(call: AtenCall, *, seen: object, expected: str) -> BadInput:
    return BadInput(f"{call.target} {call.name.removeprefix('@')}", seen=seen, expected=expected)


def _constant(graph: Builder, call: AtenCall, name: str) -> Array | None:
    """The values of an argument that must be known; None where it is left out."""
    value = call.maybe(99, name)
    if value is None:
        return None
    given = next(
        (one for one in graph.inputs if one.name == value and one.role == "constant"), None
    )
    if given is None:
        raise _refuse(call, seen=f"{name} that is computed", expected=f"a constant {name}")
    return np.asarray(materialise([given], graph.blobs)[value])


def _integers(graph: Builder, call: AtenCall, name: str) -> tuple[int, ...] | None:
    """Whole numbers that are an attribute in older models and an input in newer ones."""
    found = call.at(99, name)
    if isinstance(found, list):
        return tuple(int(one) for one in found)
    if isinstance(found, int):
        return (found,)
    array = _constant(graph, call, name)
    return None if array is None else tuple(int(one) for one in array.ravel())


def _number(graph: Builder, call: AtenCall, name: str) -> float | None:
    array = _constant(graph, call, name)
    return None if array is None else float(array.ravel()[0])


def _plain(values: Sequence[int]) -> Attr:
    """As the rows of operators write it: one integer where all are equal."""
    return values[0] if len(set(values)) == 1 else tuple(values)


def _axis(graph: Builder, call: AtenCall, x: str, default: int) -> int:
    axis = int(call.at(99, "axis", default))
    return axis % len(graph.shape(x)) if axis < 0 else axis


# ------------------------------------------------------------------------------------ elementwise
def _unary(op: str, operand: str = "X", **attrs: Attr) -> Row:
    return lambda graph, call: graph.emit(op, [_one(call, operand)], **attrs)


def _scaled(op: str, attribute: str, key: str, default: float) -> Row:
    """One tensor and one number that is an attribute here and there."""

    def row(graph: Builder, call: AtenCall) -> Named:
        return graph.emit(op, [_one(call, "X")], **{key: float(call.at(99, attribute, default))})

    return row


def _binary(op: str) -> Row:
    """Two tensors; arithmetic with a constant number is written with the number."""

    def row(graph: Builder, call: AtenCall) -> Named:
        x, y = _one(call, "A"), _one(call, "B")
        number = _literal(graph, y) if op in ("add", "sub", "mul", "div") else None
        if number is not None and len(graph.shape(x)) and graph.dense(x).dtype.startswith("float"):
            return graph.emit(f"{op}_scalar", [x], value=number)
        return graph.emit(op, [x, y])

    return row


def _literal(graph: Builder, value: str) -> float | None:
    """The number that a constant without axes holds."""
    given = next((one for one in graph.inputs if one.name == value), None)
    if given is None or given.role != "constant" or graph.shape(value):
        return None
    return float(materialise([given], graph.blobs)[value])


def _power(graph: Builder, call: AtenCall) -> Named:
    x, y = _one(call, "X"), _one(call, "Y")
    number = _literal(graph, y)
    if number is None:
        return graph.emit("pow", [x, y])
    exponent = int(number) if number.is_integer() else number
    return graph.emit("pow_scalar", [x], value=exponent)


def _folded(op: str) -> Row:
    """An operator of two that ONNX gives any number."""

    def row(graph: Builder, call: AtenCall) -> Named:
        first, *others = call.values(99, "data_0")
        for one in others:
            first = graph.emit(op, [first, one])
        return first

    return row


def _where(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("where", [_one(call, "X"), _one(call, "Y"), _one(call, "condition")])


def _clip(graph: Builder, call: AtenCall) -> Named:
    low, high = (_number(graph, call, name) for name in ("min", "max"))
    return graph.emit("clamp", [_one(call, "input")], min=low, max=high)


def _gelu(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "gelu", [_one(call, "X")], approximate=str(call.at(99, "approximate", "none"))
    )


def _hard_sigmoid(graph: Builder, call: AtenCall) -> Named:
    alpha, beta = (float(call.at(99, name, default)) for name, default in _HARD)
    x = _one(call, "X")
    if math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return graph.emit("hardsigmoid", [x])
    line = graph.emit("add_scalar", [graph.emit("mul_scalar", [x], value=alpha)], value=beta)
    return graph.emit("clamp", [line], min=0.0, max=1.0)


_HARD = (("alpha", 0.2), ("beta", 0.5))


def _cast(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("cast", [_one(call, "input")], dtype=call.dtype(99, "to"))


def _same(operand: str) -> Row:
    return lambda graph, call: _one(call, operand)


def _dropout(graph: Builder, call: AtenCall) -> Named:
    training = _constant(graph, call, "training_mode")
    if training is not None and training.any():
        raise _refuse(call, seen="training", expected="evaluation")
    return _one(call, "data")


# --------------------------------------------------------------------------------------- products
def _gemm(graph: Builder, call: AtenCall) -> Named:
    """A linear layer where it is one, else written out."""
    a, b, c = _one(call, "A"), _one(call, "B"), call.maybe(99, "C")
    alpha, beta = (float(call.at(99, name, 1.0)) for name in ("alpha", "beta"))
    turned = [bool(call.at(99, name, 0)) for name in ("transA", "transB")]
    if turned == [False, True] and (alpha, beta) == (1, 1) and (c is None or _is_row(graph, c)):
        return graph.emit("linear", [a, b, c])
    a, b = (
        graph.emit("transpose", [one], dim0=0, dim1=1) if turn else one
        for one, turn in zip((a, b), turned, strict=True)
    )
    product = _times(graph, graph.emit("matmul", [a, b]), alpha)
    return product if c is None else graph.emit("add", [product, _times(graph, c, beta)])


def _is_row(graph: Builder, value: str) -> bool:
    return len(graph.shape(value)) == 1


def _times(graph: Builder, value: str, factor: float) -> str:
    return value if factor == 1 else graph.emit("mul_scalar", [value], value=factor)


def _conv(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "X")
    spatial = len(graph.shape(x)) - 2
    before, after = _pads(call, spatial)
    if before != after:
        x = graph.emit("pad", [x], pad=_pairs(before, after), value=0.0)
        before = (0,) * spatial
    return graph.emit(
        f"conv{spatial}d",
        [x, _one(call, "W"), call.maybe(99, "B")],
        stride=_plain(call.integers(99, "strides", (1,) * spatial)),
        padding=_plain(before),
        dilation=_plain(call.integers(99, "dilations", (1,) * spatial)),
        groups=int(call.at(99, "group", 1)),
    )


def _conv_transposed(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "X")
    spatial = len(graph.shape(x)) - 2
    before, after = _pads(call, spatial)
    if before != after or call.at(99, "output_shape") is not None:
        raise _refuse(call, seen="pads that differ, or an output_shape", expected="equal pads")
    return graph.emit(
        f"conv_transpose{spatial}d",
        [x, _one(call, "W"), call.maybe(99, "B")],
        stride=_plain(call.integers(99, "strides", (1,) * spatial)),
        padding=_plain(before),
        output_padding=_plain(call.integers(99, "output_padding", (0,) * spatial)),
        groups=int(call.at(99, "group", 1)),
        dilation=_plain(call.integers(99, "dilations", (1,) * spatial)),
    )


def _pads(call: AtenCall, spatial: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What is added before and after each axis."""
    automatic = str(call.at(99, "auto_pad", "NOTSET"))
    if automatic not in ("NOTSET", "VALID"):
        raise _refuse(call, seen=f"auto_pad {automatic}", expected="pads that are written out")
    pads = call.integers(99, "pads", (0,) * 2 * spatial)
    return pads[:spatial], pads[spatial:]


def _pairs(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """As the operator `pad` takes them: before and after, the last axis first."""
    pairs = reversed(list(zip(before, after, strict=True)))
    return tuple(extent for pair in pairs for extent in pair)


def _einsum(graph: Builder, call: AtenCall) -> Named:
    given = call.values(99, "Inputs")
    if len(given) != 2:
        raise _refuse(call, seen=f"{len(given)} operands", expected="two")
    equation = str(call.at(99, "equation")).replace(" ", "")
    return graph.emit("einsum", given, equation=equation)


# ------------------------------------------------------------------------------------------ norms
def _batch_norm(graph: Builder, call: AtenCall) -> Named:
    if call.at(99, "training_mode", 0):
        raise _refuse(call, seen="training", expected="evaluation")
    operands = [_one(call, name) for name in ("X", "input_mean", "input_var", "scale", "B")]
    return graph.emit("batch_norm", operands, eps=_epsilon(call))


def _layer_norm(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "X")
    axes = len(graph.shape(x)) - _axis(graph, call, x, -1)
    operands = [x, call.maybe(99, "Scale"), call.maybe(99, "B")]
    return graph.emit("layer_norm", operands, axes=axes, eps=_epsilon(call))


def _instance_norm(graph: Builder, call: AtenCall) -> Named:
    operands = [_one(call, name) for name in ("input", "scale", "B")]
    return graph.emit("instance_norm", operands, eps=_epsilon(call))


def _epsilon(call: AtenCall) -> float:
    return float(f"{float(call.at(99, 'epsilon', 1e-5)):.6g}")


def _prelu(graph: Builder, call: AtenCall) -> Named:
    x, slope = _one(call, "X"), _one(call, "slope")
    extents = graph.shape(slope)
    size = math.prod(extents)
    channels = graph.shape(x)[1:2] or (1,)
    along = extents[: len(extents) - len(graph.shape(x)) + 2]
    if size != 1 and (size != channels[0] or math.prod(along) != size):
        raise _refuse(call, seen=f"slopes {extents}", expected="one for each channel")
    return graph.emit("prelu", [x, _reshaped(graph, slope, (size,))])


def _softmax(op: str) -> Row:
    return lambda graph, call: graph.emit(
        op, [_one(call, "input")], dim=int(call.at(99, "axis", -1))
    )


# ---------------------------------------------------------------------------------------- shapes
def _reshape(graph: Builder, call: AtenCall) -> Named:
    x, shape = _one(call, "data"), _integers(graph, call, "shape") or ()
    if not call.at(99, "allowzero", 0):
        old = graph.shape(x)
        shape = tuple(old[at] if extent == 0 else extent for at, extent in enumerate(shape))
    return graph.emit("reshape", [x], shape=shape)


def _reshaped(graph: Builder, value: str, shape: tuple[int, ...]) -> str:
    return value if graph.shape(value) == shape else graph.emit("reshape", [value], shape=shape)


def _flatten(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "input")
    axis = _axis(graph, call, x, 1)
    return graph.emit("reshape", [x], shape=(math.prod(graph.shape(x)[:axis]), -1))


def _transpose(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "data")
    turned = tuple(reversed(range(len(graph.shape(x)))))
    return graph.emit("permute", [x], dims=call.integers(99, "perm", turned))


def _squeeze(graph: Builder, call: AtenCall) -> Named:
    found = _one(call, "data")
    shape = graph.shape(found)
    axes = _integers(graph, call, "axes")
    ones = [at for at, extent in enumerate(shape) if extent == 1] if axes is None else axes
    for axis in sorted((one % len(shape) for one in ones), reverse=True):
        found = graph.emit("squeeze", [found], dim=axis)
    return found


def _unsqueeze(graph: Builder, call: AtenCall) -> Named:
    found = _one(call, "data")
    axes = _integers(graph, call, "axes") or ()
    rank = len(graph.shape(found)) + len(axes)
    for axis in sorted(one % rank for one in axes):
        found = graph.emit("unsqueeze", [found], dim=axis)
    return found


def _concat(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("cat", call.values(99, "inputs"), dim=int(call.at(99, "axis")))


def _split(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "input")
    axis = _axis(graph, call, x, 0)
    sizes = _integers(graph, call, "split")
    if sizes is None:
        extent, parts = graph.shape(x)[axis], int(call.at(99, "results"))
        size = -(-extent // parts)
        sizes = tuple(min(size, extent - start) for start in range(0, extent, size))
    whole = graph.emit("split", [x], sizes=sizes, dim=axis)
    return items(graph, whole) if len(sizes) > 1 else graph.emit("item", [whole], index=0)


def _slice(graph: Builder, call: AtenCall) -> Named:
    found = _one(call, "data")
    starts, ends = (_integers(graph, call, name) or () for name in ("starts", "ends"))
    axes = _integers(graph, call, "axes") or tuple(range(len(starts)))
    steps = _integers(graph, call, "steps") or (1,) * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise _refuse(call, seen=f"a step of {step}", expected="at least 1")
        extent = graph.shape(found)[axis]
        stop = None if end >= min(extent, _ENDLESS) else end
        if start or stop is not None or step > 1:
            attrs = {"dim": axis, "start": start, "stop": stop, "step": step}
            found = graph.emit("slice", [found], **attrs)
    return found


def _gather(graph: Builder, call: AtenCall) -> Named:
    """A place, a list of places, rows of a table, or places of any shape."""
    x, index = _one(call, "data"), _one(call, "indices")
    axis = _axis(graph, call, x, 0)
    if not graph.shape(index):
        place = _constant(graph, call, "indices")
        assert place is not None
        return graph.emit("select", [x], dim=axis, index=int(place))
    weights = {one.name for one in graph.inputs if one.role == "weight"}
    if x in weights and axis == 0 and len(graph.shape(x)) == 2:
        return graph.emit("embedding", [x, index])
    shape, places = graph.shape(x), graph.shape(index)
    found = graph.emit("index_select", [x, _reshaped(graph, index, (-1,))], dim=axis)
    return _reshaped(graph, found, (*shape[:axis], *places, *shape[axis + 1 :]))


def _gather_elements(graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "data")
    return graph.emit("gather", [x, _one(call, "indices")], dim=_axis(graph, call, x, 0))


def _expand(graph: Builder, call: AtenCall) -> Named:
    x, wanted = _one(call, "input"), _integers(graph, call, "shape") or ()
    shape = tuple(int(one) for one in np.broadcast_shapes(graph.shape(x), wanted))
    return x if shape == graph.shape(x) else graph.emit("expand", [x], shape=shape)


def _tile(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("tile", [_one(call, "input")], dims=_integers(graph, call, "repeats"))


def _pad(graph: Builder, call: AtenCall) -> Named:
    x, pads = _one(call, "data"), _integers(graph, call, "pads") or ()
    rank = len(graph.shape(x))
    axes = _integers(graph, call, "axes") or tuple(range(rank))
    before, after = [0] * rank, [0] * rank
    for at, axis in enumerate(axes):
        before[axis], after[axis] = pads[at], pads[at + len(axes)]
    mode = str(call.at(99, "mode", "constant"))
    first = next((at for at in range(rank) if before[at] or after[at]), rank)
    if first == rank:
        return x
    pairs = _pairs(before[first:], after[first:])
    if mode == "constant":
        return graph.emit(
            "pad", [x], pad=pairs, value=_number(graph, call, "constant_value") or 0.0
        )
    known = {"reflect": "pad_reflect", "edge": "pad_replicate"}
    if mode not in known:
        raise _refuse(call, seen=f"mode {mode}", expected=f"constant or one of {list(known)}")
    return graph.emit(known[mode], [x], pad=pairs)


def _depth_to_space(graph: Builder, call: AtenCall) -> Named:
    x, block = _one(call, "input"), int(call.at(99, "blocksize"))
    if str(call.at(99, "mode", "DCR")) == "CRD":
        return graph.emit("pixel_shuffle", [x], factor=block)
    batch, depth, height, width = graph.shape(x)
    deep = depth // block**2
    apart = graph.emit("reshape", [x], shape=(batch, block, block, deep, height, width))
    turned = graph.emit("permute", [apart], dims=(0, 3, 4, 1, 5, 2))
    return graph.emit("reshape", [turned], shape=(batch, deep, height * block, width * block))


def _space_to_depth(graph: Builder, call: AtenCall) -> Named:
    x, block = _one(call, "input"), int(call.at(99, "blocksize"))
    batch, depth, height, width = graph.shape(x)
    high, wide = height // block, width // block
    apart = graph.emit("reshape", [x], shape=(batch, depth, high, block, wide, block))
    turned = graph.emit("permute", [apart], dims=(0, 3, 5, 1, 2, 4))
    return graph.emit("reshape", [turned], shape=(batch, depth * block**2, high, wide))


def _trilu(graph: Builder, call: AtenCall) -> Named:
    op = "triu" if call.at(99, "upper", 1) else "tril"
    return graph.emit(op, [_one(call, "input")], diagonal=int(_number(graph, call, "k") or 0))


# ------------------------------------------------------------------------------------- reductions
def _reduction(op: str, **attrs: Attr) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        x, axes = _one(call, "data"), _integers(graph, call, "axes")
        if not axes and call.at(99, "noop_with_empty_axes", 0):
            return x
        every = tuple(range(len(graph.shape(x))))
        keepdim = bool(call.at(99, "keepdims", 1))
        return graph.emit(op, [x], dim=_plain(axes or every), keepdim=keepdim, **attrs)

    return row


def _extreme_place(op: str) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        if call.at(99, "select_last_index", 0):
            raise _refuse(call, seen="the last of equals", expected="the first")
        x = _one(call, "data")
        keepdim = bool(call.at(99, "keepdims", 1))
        return graph.emit(op, [x], dim=_axis(graph, call, x, 0), keepdim=keepdim)

    return row


def _topk(graph: Builder, call: AtenCall) -> Named:
    x, k = _one(call, "X"), _integers(graph, call, "K") or (1,)
    largest = bool(call.at(99, "largest", 1))
    dim = int(call.at(99, "axis", -1))
    return items(graph, graph.emit("topk", [x], dim=dim, k=k[0], largest=largest))


def _cumsum(graph: Builder, call: AtenCall) -> Named:
    if call.at(99, "exclusive", 0) or call.at(99, "reverse", 0):
        raise _refuse(call, seen="exclusive or reverse", expected="neither")
    axis = _integers(graph, call, "axis") or (0,)
    return graph.emit("cumsum", [_one(call, "x")], dim=axis[0])


# -------------------------------------------------------------------------------------- windows
def _pool(op: str, graph: Builder, call: AtenCall) -> Named:
    x = _one(call, "X")
    spatial = len(graph.shape(x)) - 2
    before, after = _pads(call, spatial)
    if before != after:
        raise _refuse(call, seen=f"pads {before} and {after}", expected="equal pads")
    attrs: dict[str, Attr] = {
        "kernel": _plain(call.integers(99, "kernel_shape")),
        "stride": _plain(call.integers(99, "strides", (1,) * spatial)),
        "padding": _plain(before),
        "ceil_mode": bool(call.at(99, "ceil_mode", 0)),
    }
    dilation = _plain(call.integers(99, "dilations", (1,) * spatial))
    if op == "max":
        attrs["dilation"] = dilation
    elif dilation != 1:
        raise _refuse(call, seen=f"dilations {dilation}", expected="1")
    else:
        attrs["include"] = bool(call.at(99, "count_include_pad", 0))
    return graph.emit(f"{op}_pool{spatial}d", [x], **attrs)


def _whole(op: str) -> Row:
    """A pooling over all axes but batch and channels."""

    def row(graph: Builder, call: AtenCall) -> Named:
        x = _one(call, "X")
        axes = tuple(range(2, len(graph.shape(x))))
        return graph.emit(op, [x], dim=_plain(axes), keepdim=True)

    return row


def _resize(graph: Builder, call: AtenCall) -> Named:
    """To a size, of the last two axes: nearest as PyTorch's, or linear."""
    x = _one(call, "X")
    shape = graph.shape(x)
    sizes, scales = _integers(graph, call, "sizes"), _constant(graph, call, "scales")
    if sizes is None and scales is not None:
        sizes = tuple(int(one * by) for one, by in zip(shape, scales.ravel(), strict=True))
    mode = str(call.at(99, "mode", "nearest"))
    way = str(call.at(99, "coordinate_transformation_mode", "half_pixel"))
    if sizes is None or len(shape) != 4 or sizes[:2] != shape[:2] or call.at(99, "antialias", 0):
        raise _refuse(call, seen=f"{shape} to {sizes}", expected="an image to a size")
    rounding = str(call.at(99, "nearest_mode", "round_prefer_floor"))
    if (mode, way, rounding) == ("nearest", "asymmetric", "floor"):
        return graph.emit("interpolate_nearest", [x], size=sizes[2:])
    if mode == "linear" and way in _LINEAR:
        corners = way == "align_corners"
        return graph.emit("interpolate_bilinear", [x], size=sizes[2:], align_corners=corners)
    expected = f"linear by {' or '.join(_LINEAR)}, or nearest by asymmetric and floor"
    raise _refuse(call, seen=f"{mode} by {way}, {rounding}", expected=expected)


_LINEAR = ("half_pixel", "pytorch_half_pixel", "align_corners")


# ------------------------------------------------------------------------------------- the table
_ROWS: dict[str, Row] = {
    # Elementwise.
    **{
        name: _unary(name.lower(), operand)
        for operand, names in {
            "X": (
                "Relu",
                "Sigmoid",
                "Abs",
                "Neg",
                "Floor",
                "Ceil",
                "Sqrt",
                "Reciprocal",
                "Mish",
            ),
            "input": (
                *("Erf", "Exp", "Log", "Sign", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
                *("Tanh", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
            ),
        }.items()
        for name in names
    },
    "Not": _unary("logical_not"),
    "Softplus": _unary("softplus", beta=1.0, threshold=20.0),
    "Softsign": _unary("softsign", "input"),
    "Selu": _unary("selu"),
    "HardSwish": _unary("hardswish"),
    "IsNaN": _unary("isnan"),
    "IsInf": _unary("isinf"),
    "Round": _unary("round", decimals=0),
    "LeakyRelu": _scaled("leaky_relu", "alpha", "slope", 0.01),
    "Elu": _scaled("elu", "alpha", "alpha", 1.0),
    "Celu": _scaled("celu", "alpha", "alpha", 1.0),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "PRelu": _prelu,
    "Clip": _clip,
    "Cast": _cast,
    "Identity": _same("input"),
    "Dropout": _dropout,
    "Add": _binary("add"),
    "Sub": _binary("sub"),
    "Mul": _binary("mul"),
    "Div": _binary("div"),
    "Equal": _binary("eq"),
    "Greater": _binary("gt"),
    "GreaterOrEqual": _binary("ge"),
    "Less": _binary("lt"),
    "LessOrEqual": _binary("le"),
    "And": _binary("logical_and"),
    "Or": _binary("logical_or"),
    "Xor": _binary("logical_xor"),
    "Pow": _power,
    "Max": _folded("maximum"),
    "Min": _folded("minimum"),
    "Sum": _folded("add"),
    "Where": _where,
    # Products.
    "MatMul": _binary("matmul"),
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transposed,
    "Einsum": _einsum,
    # Norms.
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm,
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    # Shapes.
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Trilu": _trilu,
    # Reductions.
    "ReduceMean": _reduction("mean"),
    "ReduceSum": _reduction("sum"),
    "ReduceMax": _reduction("amax"),
    "ReduceMin": _reduction("amin"),
    "ReduceProd": _reduction("prod"),
    "ReduceL1": _reduction("vector_norm", ord=1),
    "ReduceL2": _reduction("vector_norm", ord=2),
    "ArgMax": _extreme_place("argmax"),
    "ArgMin": _extreme_place("argmin"),
    "TopK": _topk,
    "CumSum": _cumsum,
    # Windows.
    "MaxPool": partial(_pool, "max"),
    "AveragePool": partial(_pool, "avg"),
    "GlobalAveragePool": _whole("mean"),
    "GlobalMaxPool": _whole("amax"),
    "Resize": _resize,
}
ONNX: Mapping[str, Row] = {f"onnx.{name}": row for name, row in _ROWS.items()}
"""Rows by target. What has none is listed with its number of calls, and nothing is imported."""
