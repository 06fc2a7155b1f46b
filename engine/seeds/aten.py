"""The ATen table: for each target of an exported program, the operators that stand for it.

A row is a function of the graph in the making and the call; it answers the name of the result (a
tuple of names for several results). What computes nothing in evaluation mode answers its operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from engine.errors import BadInput
from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import Dense, Tuple
from engine.ops.shape import only_splits, resolved
from engine.seeds.building import AtenCall, Builder, Named

__all__ = ["ATEN", "Row"]

Row: TypeAlias = Callable[[Builder, AtenCall], Named]
_ENDLESS = 2**62
"""PyTorch writes an absent stop as the greatest int64."""


# -------------------------------------------------------------------------- makers of plain rows
def unary(op: str, operand: str = "self", **attrs: Attr) -> Row:
    """One tensor in, fixed attributes."""
    return lambda graph, call: graph.emit(op, [call.value(0, operand)], **attrs)


def same(graph: Builder, call: AtenCall) -> Named:
    """The operand itself: dropout in evaluation, alias, detach."""
    return call.value(0, "self" if "input" not in call.kwargs else "input")


def arithmetic(op: str) -> Row:
    """Two tensors, or a tensor and a number."""

    def row(graph: Builder, call: AtenCall) -> Named:
        if call.at(2, "alpha", 1) != 1:
            raise BadInput(f"{call.target} {call.name}", seen="an alpha", expected="alpha=1")
        x, other = call.value(0, "self"), call.at(1, "other")
        if isinstance(other, int | float):
            return graph.emit(f"{op}_scalar", [x], value=other)
        y = call.value(1, "other")
        dtypes = graph.dense(x).dtype, graph.dense(y).dtype
        if op == "mul" and dtypes == ("bool", "bool"):
            return graph.emit("logical_and", [x, y])
        if dtypes[0] != dtypes[1]:
            # Written out, since the frameworks promote by rules of their own.
            x, y = (_as_dtype(graph, one, _joined(dtypes)) for one in (x, y))
        return graph.emit(op, [x, y])

    return row


def _joined(dtypes: tuple[str, str]) -> str:
    """The dtype that PyTorch computes two tensors in, where one of them is an integer or bool."""
    floats = [one for one in dtypes if one.startswith(("float", "bfloat"))]
    if len(floats) == 1:
        return floats[0]
    raise BadInput("operands", seen=dtypes, expected="equal dtypes, or one of integers")


def reduction(op: str) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        keepdim = bool(call.at(2, "keepdim", False))
        return graph.emit(op, [call.value(0, "self")], dim=_axes(call, 1), keepdim=keepdim)

    return row


def _axes(call: AtenCall, place: int) -> Attr:
    """`dim` as the rows write it: one axis as an integer, all of them as None."""
    found = call.integers(place, "dim") if call.at(place, "dim") is not None else ()
    return found[0] if len(found) == 1 else (found or None)


# ------------------------------------------------------------------------------------ products
def linear(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(0, "input"), call.value(1, "weight"), call.maybe(2, "bias")]
    return graph.emit("linear", operands)


def conv2d(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(0, "input"), call.value(1, "weight"), call.maybe(2, "bias")]
    padding = call.at(4, "padding", 0)
    return graph.emit(
        "conv2d",
        operands,
        stride=_pair(call, 3, "stride", 1),
        padding=padding if isinstance(padding, str) else _pair(call, 4, "padding", 0),
        dilation=_pair(call, 5, "dilation", 1),
        groups=int(call.at(6, "groups", 1)),
    )


def _pair(call: AtenCall, place: int, name: str, default: int) -> Attr:
    """An attribute of two axes as the rows write it: one integer where both are equal."""
    found = call.integers(place, name, (default,))
    return found[0] if len(set(found)) == 1 else found


def matmul(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("matmul", [call.value(0, "self"), call.value(1, "other")])


def addmm(graph: Builder, call: AtenCall) -> Named:
    """Written out where the first operand is a vector of biases, which it is in a linear layer."""
    x, a, b = (call.value(at, name) for at, name in enumerate(("self", "mat1", "mat2")))
    scales = {name: call.at(99, name, 1) for name in ("alpha", "beta")}
    if len(graph.shape(x)) == 1 and set(scales.values()) == {1}:
        return graph.emit("add", [graph.emit("matmul", [a, b]), x])
    return graph.emit("addmm", [x, a, b], **scales)


def convolution(op: str) -> Row:
    """Of one axis, or transposed; the places of the arguments are told by their names."""
    names = _TRANSPOSED if "transpose" in op else _PLAIN

    def row(graph: Builder, call: AtenCall) -> Named:
        operands = [call.value(0, "input"), call.value(1, "weight"), call.maybe(2, "bias")]
        attrs = {
            name: int(call.at(at, name, default))
            if name == "groups"
            else _pair(call, at, name, default)
            for at, (name, default) in enumerate(names.items(), 3)
        }
        return graph.emit(op, operands, **attrs)

    return row


_PLAIN = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}


def attention(graph: Builder, call: AtenCall) -> Named:
    """Written out, since every mode of both frameworks can run that; a mutation may fuse it."""
    q, k, v = (call.value(at, name) for at, name in enumerate(("query", "key", "value")))
    if call.at(4, "dropout_p", 0.0):
        raise BadInput(f"{call.target} {call.name}", seen="dropout", expected="evaluation")
    if bool(call.at(99, "enable_gqa", False)):
        k, v = (_heads(graph, one, graph.shape(q)[-3]) for one in (k, v))
    features = graph.shape(q)[-1]
    scale = call.at(99, "scale")
    scale = features**-0.5 if scale is None else float(scale)
    turned = graph.emit("transpose", [k], dim0=-2, dim1=-1)
    scores = graph.emit("mul_scalar", [graph.emit("matmul", [q, turned])], value=scale)
    mask = call.maybe(3, "attn_mask")
    if mask is None and bool(call.at(5, "is_causal", False)):
        mask = _causal(graph, graph.shape(scores)[-2:])
    if mask is not None and graph.dense(mask).dtype == "bool":
        hidden = graph.emit("logical_not", [mask])
        scores = graph.emit("masked_fill", [scores, hidden], value=-math.inf)
    elif mask is not None:
        scores = graph.emit("add", [scores, mask])
    return graph.emit("matmul", [graph.emit("softmax", [scores], dim=-1), v])


def _heads(graph: Builder, x: str, heads: int) -> str:
    """Each head of keys or values as often as queries share it."""
    times = heads // graph.shape(x)[-3]
    return x if times == 1 else graph.emit("repeat_interleave", [x], repeats=times, dim=-3)


def _causal(graph: Builder, shape: tuple[int, ...]) -> str:
    """The table of who may see whom, one for each shape."""
    name = f"causal_mask_{shape[0]}x{shape[1]}"
    if name not in graph.types:
        table = Formula("causal_mask", (("masked", 0.0), ("visible", 1.0)))
        graph.declare(Input(name, Dense("bool", shape), role="constant", init=table))
    return name


def bmm(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("bmm", [call.value(0, "self"), call.value(1, "mat2")])


def embedding(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("embedding", [call.value(0, "weight"), call.value(1, "indices")])


# --------------------------------------------------------------------------- norms, activations
def layer_norm(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(0, "input"), call.maybe(2, "weight"), call.maybe(3, "bias")]
    shape = call.integers(1, "normalized_shape")
    return graph.emit("layer_norm", operands, axes=len(shape), eps=float(call.at(4, "eps", 1e-5)))


def gelu(graph: Builder, call: AtenCall) -> Named:
    approximate = str(call.at(1, "approximate", "none"))
    return graph.emit("gelu", [call.value(0, "self")], approximate=approximate)


def softmax(graph: Builder, call: AtenCall) -> Named:
    x = _as_dtype(graph, call.value(0, "self"), call.dtype(2, "dtype"))
    return graph.emit("softmax", [x], dim=int(call.at(1, "dim")))


def log_softmax(graph: Builder, call: AtenCall) -> Named:
    x = _as_dtype(graph, call.value(0, "self"), call.dtype(2, "dtype"))
    return graph.emit("log_softmax", [x], dim=int(call.at(1, "dim")))


def rms_norm(graph: Builder, call: AtenCall) -> Named:
    x, eps = call.value(0, "input"), call.at(3, "eps")
    if eps is None:
        raise BadInput(f"{call.target} {call.name}", seen="no eps", expected="one in the module")
    axes = len(call.integers(1, "normalized_shape"))
    return graph.emit("rms_norm", [x, call.maybe(2, "weight")], axes=axes, eps=float(eps))


def elu(graph: Builder, call: AtenCall) -> Named:
    if (call.at(2, "scale", 1), call.at(3, "input_scale", 1)) != (1, 1):
        raise BadInput(f"{call.target} {call.name}", seen="a scale", expected="none")
    return graph.emit("elu", [call.value(0, "self")], alpha=float(call.at(1, "alpha", 1.0)))


def softplus(graph: Builder, call: AtenCall) -> Named:
    attrs = {"beta": call.at(1, "beta", 1.0), "threshold": call.at(2, "threshold", 20.0)}
    return graph.emit("softplus", [call.value(0, "self")], **attrs)


def vector_norm(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "vector_norm",
        [call.value(0, "self")],
        ord=call.number(1, "ord"),
        dim=_axes(call, 2),
        keepdim=bool(call.at(3, "keepdim", False)),
    )


def power(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("pow_scalar", [call.value(0, "self")], value=call.number(1, "exponent"))


# ------------------------------------------------------------------------------ dtype and views
def cast(graph: Builder, call: AtenCall) -> Named:
    place = {"aten.to.dtype": 1, "aten.to.device": 2}.get(call.target, 99)
    return _as_dtype(graph, call.value(0, "self"), call.dtype(place, "dtype"))


def _as_dtype(graph: Builder, x: str, dtype: str | None) -> str:
    """A cast where the dtype changes; the exporter also writes those that change nothing."""
    if dtype is None or graph.dense(x).dtype == dtype:
        return x
    return graph.emit("cast", [x], dtype=dtype)


def reshape(graph: Builder, call: AtenCall) -> Named:
    x = call.value(0, "self")
    return graph.emit("reshape", [x], shape=_open_batch(graph, x, call.integers(1, "shape")))


def view(graph: Builder, call: AtenCall) -> Named:
    """A view where it only splits axes, which every layout allows, else a reshape."""
    x = call.value(0, "self")
    shape = _open_batch(graph, x, call.integers(1, "size"))
    splits = only_splits(graph.shape(x), resolved(shape, graph.dense(x).elements))
    return graph.emit("view" if splits else "reshape", [x], shape=shape)


def _open_batch(graph: Builder, x: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The target shape with the one extent left open that grows with the batch.

    Where that is not clear from the extents it is the first, if it stays what it was.
    """
    before = graph.shape(x)
    whole = resolved(shape, graph.dense(x).elements)
    grows = [at for at, extent in enumerate(whole) if graph.grows(extent)]
    if len(grows) != 1:
        leads = len(whole) > 1 and before and before[0] == whole[0] == graph.batch
        return (-1, *whole[1:]) if leads else shape
    return tuple(-1 if at == grows[0] else extent for at, extent in enumerate(whole))


def expand(graph: Builder, call: AtenCall) -> Named:
    """Extents that stay are written -1, so that another batch needs no other node."""
    x, shape = call.value(0, "self"), call.integers(1, "size")
    before = graph.shape(x)
    lead = len(shape) - len(before)
    kept = (
        -1 if at >= lead and before[at - lead] == extent else extent
        for at, extent in enumerate(shape)
    )
    return graph.emit("expand", [x], shape=tuple(kept))


def permute(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("permute", [call.value(0, "self")], dims=call.integers(1, "dims"))


def transpose(graph: Builder, call: AtenCall) -> Named:
    axes = {"dim0": int(call.at(1, "dim0")), "dim1": int(call.at(2, "dim1"))}
    return graph.emit("transpose", [call.value(0, "self")], **axes)


def unsqueeze(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("unsqueeze", [call.value(0, "self")], dim=int(call.at(1, "dim")))


def flatten(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "flatten",
        [call.value(0, "self")],
        start_dim=int(call.at(1, "start_dim", 0)),
        end_dim=int(call.at(2, "end_dim", -1)),
    )


def sliced(graph: Builder, call: AtenCall) -> Named:
    x, dim = call.value(0, "self"), int(call.at(1, "dim", 0))
    start, stop = call.at(2, "start"), call.at(3, "end")
    extent = graph.shape(x)[dim]
    open_end = stop is None or stop >= min(extent, _ENDLESS)
    step = int(call.at(4, "step", 1))
    if start in (None, 0) and open_end and step == 1:
        return x
    return graph.emit(
        "slice",
        [x],
        dim=dim - len(graph.shape(x)) if dim == len(graph.shape(x)) - 1 else dim,
        start=None if start in (None, 0) else int(start),
        stop=None if open_end else int(stop),
        step=step,
    )


def select(graph: Builder, call: AtenCall) -> Named:
    dim, index = int(call.at(1, "dim")), int(call.at(2, "index"))
    return graph.emit("select", [call.value(0, "self")], dim=dim, index=index)


def cat(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("cat", call.values(0, "tensors"), dim=int(call.at(1, "dim", 0)))


def expand_as(graph: Builder, call: AtenCall) -> Named:
    x, shape = call.value(0, "self"), graph.shape(call.value(1, "other"))
    before = (0,) * (len(shape) - len(graph.shape(x))) + graph.shape(x)
    kept = (-1 if now == extent else extent for now, extent in zip(before, shape, strict=True))
    return graph.emit("expand", [x], shape=tuple(kept))


def stack(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("stack", call.values(0, "tensors"), dim=int(call.at(1, "dim", 0)))


def repeat(graph: Builder, call: AtenCall) -> Named:
    return graph.emit("tile", [call.value(0, "self")], dims=call.integers(1, "repeats"))


def squeeze(graph: Builder, call: AtenCall) -> Named:
    """Axes of extent 1 vanish, the last one first; others stay."""
    found = call.value(0, "self")
    rank = len(graph.shape(found))
    given = call.integers(1, "dim") if call.at(1, "dim") is not None else range(rank)
    for dim in sorted((one % rank for one in given), reverse=True):
        if graph.shape(found)[dim] == 1:
            found = graph.emit("squeeze", [found], dim=dim)
    return found


def unflatten(graph: Builder, call: AtenCall) -> Named:
    x, dim = call.value(0, "self"), int(call.at(1, "dim"))
    return graph.emit("unflatten", [x], dim=dim, sizes=call.integers(2, "sizes"))


def turned(graph: Builder, call: AtenCall) -> Named:
    """`t`: a vector stays what it is."""
    x = call.value(0, "self")
    return x if len(graph.shape(x)) < 2 else graph.emit("transpose", [x], dim0=0, dim1=1)


def movedim(graph: Builder, call: AtenCall) -> Named:
    source, target = int(call.at(1, "source")), int(call.at(2, "destination"))
    return graph.emit("movedim", [call.value(0, "self")], source=source, to=target)


def roll(graph: Builder, call: AtenCall) -> Named:
    """One node for each axis."""
    found = call.value(0, "self")
    shifts, axes = call.integers(1, "shifts"), call.integers(2, "dims")
    for shift, dim in zip(shifts, axes, strict=True):
        found = graph.emit("roll", [found], shift=shift, dim=dim)
    return found


def pad(graph: Builder, call: AtenCall) -> Named:
    if call.at(2, "mode", "constant") != "constant":
        raise BadInput(f"{call.target} {call.name}", seen=call.at(2, "mode"), expected="constant")
    value = call.at(3, "value")
    extents = call.integers(1, "pad")
    x = call.value(0, "self")
    return x if not any(extents) else graph.emit("pad", [x], pad=extents, value=float(value or 0))


# ----------------------------------------------------------------------------- several results
def items(graph: Builder, whole: str) -> Named:
    """Every value of a tuple, each by a node of its own; those not used vanish in the end."""
    parts = graph.types[whole]
    count = len(parts.items) if isinstance(parts, Tuple) else 0
    return tuple(graph.emit("item", [whole], index=at) for at in range(count))


def split(graph: Builder, call: AtenCall) -> Named:
    x, dim = call.value(0, "self"), int(call.at(2, "dim", 0))
    return items(graph, graph.emit("split", [x], sizes=call.integers(1, "split_sizes"), dim=dim))


def split_evenly(graph: Builder, call: AtenCall) -> Named:
    """Parts of one size, the last of which may be smaller."""
    x, size, dim = call.value(0, "self"), int(call.at(1, "split_size")), int(call.at(2, "dim", 0))
    extent = graph.shape(x)[dim]
    sizes = tuple(min(size, extent - start) for start in range(0, extent, size))
    return items(graph, graph.emit("split", [x], sizes=sizes, dim=dim))


def chunk(graph: Builder, call: AtenCall) -> Named:
    x, dim = call.value(0, "self"), int(call.at(2, "dim", 0))
    return items(graph, graph.emit("chunk", [x], chunks=int(call.at(1, "chunks")), dim=dim))


def unbind(graph: Builder, call: AtenCall) -> Named:
    return items(
        graph, graph.emit("unbind", [call.value(0, "self")], dim=int(call.at(1, "dim", 0)))
    )


def max_along(graph: Builder, call: AtenCall) -> Named:
    keepdim = bool(call.at(2, "keepdim", False))
    x, dim = call.value(0, "self"), int(call.at(1, "dim"))
    return items(graph, graph.emit("max_dim", [x], dim=dim, keepdim=keepdim))


def topk(graph: Builder, call: AtenCall) -> Named:
    return items(
        graph,
        graph.emit(
            "topk",
            [call.value(0, "self")],
            k=int(call.at(1, "k")),
            dim=int(call.at(2, "dim", -1)),
            largest=bool(call.at(3, "largest", True)),
        ),
    )


def getitem(graph: Builder, call: AtenCall) -> Named:
    """One of several results, which have their nodes already."""
    several = call.args[0]["value"]
    found: str = several[int(call.args[1])]
    return found


# ------------------------------------------------------------------------------------- indexing
def index(graph: Builder, call: AtenCall) -> Named:
    """x[i] along the first axis, by positions of any shape, or x[i, j] by two vectors."""
    x, places = call.value(0, "self"), call.at(1, "indices")
    found = call.values(1, "indices")
    whole = [graph.dense(one).dtype.startswith(("int", "uint")) for one in found]
    if None in places or not all(whole) or len(found) > 2:
        raise BadInput(
            f"{call.target} {call.name}", seen=places, expected="one or two tensors of positions"
        )
    if len(found) == 1:
        (place,) = found
        shape = graph.shape(place)
        if len(shape) == 1:
            return graph.emit("index_select", [x, place], dim=0)
        flat = graph.emit("reshape", [place], shape=(-1,))
        rows = graph.emit("index_select", [x, flat], dim=0)
        return graph.emit("reshape", [rows], shape=(*shape, *graph.shape(x)[1:]))
    first, second = found
    if len(graph.shape(first)) != 1 or graph.shape(first) != graph.shape(second):
        raise BadInput(f"{call.target} {call.name}", seen=places, expected="two vectors")
    start = graph.emit("mul_scalar", [first], value=graph.shape(x)[1])
    rows = graph.emit("flatten", [x], start_dim=0, end_dim=1)
    return graph.emit("index_select", [rows, graph.emit("add", [start, second])], dim=0)


def gather(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(0, "self"), call.value(2, "index")]
    return graph.emit("gather", operands, dim=int(call.at(1, "dim")))


def argmax(graph: Builder, call: AtenCall) -> Named:
    dim = call.at(1, "dim")
    return graph.emit(
        "argmax",
        [call.value(0, "self")],
        dim=None if dim is None else int(dim),
        keepdim=bool(call.at(2, "keepdim", False)),
    )


# ------------------------------------------------------------------------ planes and estimates
def batch_norm(graph: Builder, call: AtenCall) -> Named:
    if call.at(5, "training", False):
        raise BadInput(f"{call.target} {call.name}", seen="training", expected="evaluation")
    operands = [
        call.value(0, "input"),
        call.value(3, "running_mean"),
        call.value(4, "running_var"),
        call.maybe(1, "weight"),
        call.maybe(2, "bias"),
    ]
    return graph.emit("batch_norm", operands, eps=float(call.at(7, "eps", 1e-5)))


def group_norm(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(0, "input"), call.maybe(2, "weight"), call.maybe(3, "bias")]
    groups, eps = int(call.at(1, "num_groups")), float(call.at(4, "eps", 1e-5))
    return graph.emit("group_norm", operands, groups=groups, eps=eps)


def max_pool2d(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "max_pool2d",
        [call.value(0, "self")],
        **_pooling(call),
        dilation=_pair(call, 4, "dilation", 1),
        ceil_mode=bool(call.at(5, "ceil_mode", False)),
    )


def avg_pool2d(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "avg_pool2d",
        [call.value(0, "self")],
        **_pooling(call),
        ceil_mode=bool(call.at(4, "ceil_mode", False)),
        include=bool(call.at(5, "count_include_pad", True)),
    )


def _pooling(call: AtenCall) -> dict[str, Attr]:
    """Kernel, stride and padding; an empty stride is the kernel."""
    kernel = _pair(call, 1, "kernel_size", 1)
    stride = _pair(call, 2, "stride", 1) if call.at(2, "stride") else kernel
    return {"kernel": kernel, "stride": stride, "padding": _pair(call, 3, "padding", 0)}


def adaptive_pool(op: str) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        return graph.emit(op, [call.value(0, "self")], size=_pair(call, 1, "output_size", 1))

    return row


def upsample_nearest(graph: Builder, call: AtenCall) -> Named:
    """By a whole factor where the caller gave one, else to a size."""
    x, scales = call.value(0, "input"), call.at(2, "scale_factors")
    if scales and len(set(scales)) == 1 and float(scales[0]).is_integer():
        return graph.emit("upsample", [x], factor=int(scales[0]))
    return graph.emit("interpolate_nearest", [x], size=_resized(graph, call, 2))


def upsample_bilinear(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "interpolate_bilinear",
        [call.value(0, "input")],
        size=_resized(graph, call, 3),
        align_corners=bool(call.at(2, "align_corners", False)),
    )


def _resized(graph: Builder, call: AtenCall, place: int) -> tuple[int, ...]:
    """The size asked for, or the one that the scales give."""
    if call.at(1, "output_size"):
        return call.integers(1, "output_size")
    before = graph.shape(call.value(0, "input"))[-2:]
    scales = call.at(place, "scale_factors")
    return tuple(int(extent * scale) for extent, scale in zip(before, scales, strict=True))


def grid_sample(graph: Builder, call: AtenCall) -> Named:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return graph.emit(
        "grid_sample",
        [call.value(0, "input"), call.value(1, "grid")],
        mode=modes[int(call.at(2, "interpolation_mode", 0))],
        padding_mode=paddings[int(call.at(3, "padding_mode", 0))],
        align_corners=bool(call.at(4, "align_corners", False)),
    )


# --------------------------------------------------------------------------------------- limits
def clamp(graph: Builder, call: AtenCall) -> Named:
    return graph.emit(
        "clamp", [call.value(0, "self")], min=call.at(1, "min"), max=call.at(2, "max")
    )


def rsub(graph: Builder, call: AtenCall) -> Named:
    if call.at(2, "alpha", 1) != 1:
        raise BadInput(f"{call.target} {call.name}", seen="an alpha", expected="alpha=1")
    return graph.emit("rsub_scalar", [call.value(0, "self")], value=call.number(1, "other"))


def leaky_relu(graph: Builder, call: AtenCall) -> Named:
    slope = float(call.at(1, "negative_slope", 0.01))
    return graph.emit("leaky_relu", [call.value(0, "self")], slope=slope)


def pixel_shuffle(graph: Builder, call: AtenCall) -> Named:
    factor = int(call.at(1, "upscale_factor"))
    return graph.emit("pixel_shuffle", [call.value(0, "self")], factor=factor)


def compare(op: str) -> Row:
    return lambda graph, call: graph.emit(
        f"{op}_scalar", [call.value(0, "self")], value=call.number(1, "other")
    )


def masked_fill(op: str) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        operands = [call.value(0, "self"), call.value(1, "mask")]
        result = graph.emit(op, operands, value=float(call.number(2, "value")))
        if op.endswith("_"):
            graph.rename(operands[0], result)
        return result

    return row


def compare_two(op: str) -> Row:
    return lambda graph, call: graph.emit(op, [call.value(0, "self"), call.value(1, "other")])


def masked_fill_tensor(graph: Builder, call: AtenCall) -> Named:
    """By a tensor without axes: what is masked takes it, all else stays."""
    x, mask, value = (call.value(at, name) for at, name in enumerate(("self", "mask", "value")))
    return graph.emit("where", [value, x, mask])


def where(graph: Builder, call: AtenCall) -> Named:
    mask = call.value(0, "condition")
    x, y = (call.value(at, name) for at, name in ((1, "self"), (2, "other")))
    dtypes = graph.dense(x).dtype, graph.dense(y).dtype
    if dtypes[0] != dtypes[1]:
        x, y = (_as_dtype(graph, one, _joined(dtypes)) for one in (x, y))
    return graph.emit("where", [x, y, mask])


def where_scalar(graph: Builder, call: AtenCall) -> Named:
    """A number where the condition does not hold."""
    operands = [call.value(1, "self"), call.value(0, "condition")]
    return graph.emit("where_scalar", operands, value=float(call.number(2, "other")))


def filled_like(op: str) -> Row:
    return lambda graph, call: graph.emit(
        op, [call.value(0, "self")], dtype=call.dtype(99, "dtype")
    )


def logical(op: str) -> Row:
    """Of truths; what `&`, `|` and `~` are on them."""

    def row(graph: Builder, call: AtenCall) -> Named:
        names = ("self", "other")[: 1 if op == "logical_not" else 2]
        operands = [call.value(at, name) for at, name in enumerate(names)]
        strange = [graph.dense(one).dtype for one in operands if graph.dense(one).dtype != "bool"]
        if strange and call.target.startswith("aten.bitwise"):
            raise BadInput(f"{call.target} {call.name}", seen=strange[0], expected="bool")
        return graph.emit(op, [_as_dtype(graph, one, "bool") for one in operands])

    return row


def cumsum(graph: Builder, call: AtenCall) -> Named:
    """Of whole numbers in int64, as PyTorch does it."""
    x = call.value(0, "self")
    dtype = call.dtype(99, "dtype")
    if dtype is None and not graph.dense(x).dtype.startswith(("float", "bfloat", "complex")):
        dtype = "int64"
    return graph.emit("cumsum", [_as_dtype(graph, x, dtype)], dim=int(call.at(1, "dim")))


def type_as(graph: Builder, call: AtenCall) -> Named:
    return _as_dtype(graph, call.value(0, "self"), graph.dense(call.value(1, "other")).dtype)


def baddbmm(graph: Builder, call: AtenCall) -> Named:
    operands = [call.value(place, name) for place, name in enumerate(("self", "batch1", "batch2"))]
    scales = {name: call.at(99, name, 1) for name in ("alpha", "beta")}
    return graph.emit("baddbmm", operands, **scales)


def einsum(graph: Builder, call: AtenCall) -> Named:
    """A product over a batch is written as a matmul, which every mode of both frameworks has."""
    equation = str(call.at(0, "equation")).replace(" ", "")
    operands, result = equation.split("->")
    first, _, second = operands.partition(",")
    values = call.values(1, "tensors")
    is_product = len(first) == 3 and second[:2] == first[0] + first[2]
    if not is_product or result != first[:2] + second[2:] or len(second) < 4:
        return graph.emit("einsum", values, equation=equation)
    left, right = values
    flat = graph.emit("flatten", [right], start_dim=2, end_dim=-1)
    product = graph.emit("matmul", [left, flat])
    shape = (-1, graph.shape(left)[1], *graph.shape(right)[2:])
    return graph.emit("reshape", [product], shape=shape)


def in_place(op: str, names: str) -> Row:
    """A statement: whoever reads the operand afterwards reads what was written."""

    def row(graph: Builder, call: AtenCall) -> Named:
        operands = [call.value(place, name) for place, name in enumerate(names.split())]
        result = graph.emit(op, operands)
        graph.rename(operands[0], result)
        return result

    return row


ATEN: Mapping[str, Row] = {
    # arithmetic
    "aten.add.Tensor": arithmetic("add"),
    "aten.sub.Tensor": arithmetic("sub"),
    "aten.mul.Tensor": arithmetic("mul"),
    "aten.div.Tensor": arithmetic("div"),
    "aten.pow.Tensor_Scalar": power,
    "aten.neg.default": unary("neg"),
    "aten.rsqrt.default": unary("rsqrt"),
    "aten.sqrt.default": unary("sqrt"),
    "aten.exp.default": unary("exp"),
    "aten.log.default": unary("log"),
    "aten.sin.default": unary("sin"),
    "aten.cos.default": unary("cos"),
    "aten.abs.default": unary("abs"),
    "aten.erf.default": unary("erf"),
    "aten.floor.default": unary("floor"),
    "aten.reciprocal.default": unary("reciprocal"),
    "aten.maximum.default": compare_two("maximum"),
    "aten.minimum.default": compare_two("minimum"),
    "aten.cumsum.default": cumsum,
    # products
    "aten.linear.default": linear,
    "aten.conv2d.default": conv2d,
    "aten.conv2d.padding": conv2d,
    "aten.matmul.default": matmul,
    "aten.conv1d.default": convolution("conv1d"),
    "aten.conv_transpose1d.default": convolution("conv_transpose1d"),
    "aten.conv_transpose2d.input": convolution("conv_transpose2d"),
    "aten.bmm.default": bmm,
    "aten.addmm.default": addmm,
    "aten.scaled_dot_product_attention.default": attention,
    "aten.embedding.default": embedding,
    # reductions and norms
    "aten.mean.dim": reduction("mean"),
    "aten.sum.dim_IntList": reduction("sum"),
    "aten.linalg_vector_norm.default": vector_norm,
    "aten.layer_norm.default": layer_norm,
    "aten.softmax.int": softmax,
    "aten.log_softmax.int": log_softmax,
    "aten.rms_norm.default": rms_norm,
    "aten.amax.default": reduction("amax"),
    # activations
    "aten.gelu.default": gelu,
    "aten.silu.default": unary("silu"),
    "aten.relu.default": unary("relu"),
    "aten.sigmoid.default": unary("sigmoid"),
    "aten.tanh.default": unary("tanh"),
    "aten.leaky_relu.default": leaky_relu,
    "aten.hardsigmoid.default": unary("hardsigmoid"),
    "aten.hardswish.default": unary("hardswish"),
    "aten.relu6.default": unary("relu6"),
    "aten.mish.default": unary("mish"),
    "aten.elu.default": elu,
    "aten.softplus.default": softplus,
    # limits
    "aten.clamp.default": clamp,
    "aten.clamp_min.default": clamp,
    "aten.rsub.Scalar": rsub,
    "aten.square.default": unary("square"),
    # planes and estimates
    "aten.batch_norm.default": batch_norm,
    "aten.group_norm.default": group_norm,
    "aten.max_pool2d.default": max_pool2d,
    "aten.avg_pool2d.default": avg_pool2d,
    "aten.adaptive_avg_pool1d.default": adaptive_pool("adaptive_avg_pool1d"),
    "aten.adaptive_avg_pool2d.default": adaptive_pool("adaptive_avg_pool2d"),
    "aten.upsample_nearest2d.vec": upsample_nearest,
    "aten.upsample_bilinear2d.vec": upsample_bilinear,
    "aten.grid_sampler.default": grid_sample,
    "aten.pixel_shuffle.default": pixel_shuffle,
    # indexing
    "aten.index.Tensor": index,
    "aten.gather.default": gather,
    "aten.argmax.default": argmax,
    # several results
    "aten.split_with_sizes.default": split,
    "aten.split.Tensor": split_evenly,
    "aten.chunk.default": chunk,
    "aten.unbind.int": unbind,
    "aten.max.dim": max_along,
    "aten.topk.default": topk,
    "getitem": getitem,
    "aten.einsum.default": einsum,
    "aten.baddbmm.default": baddbmm,
    # masks
    **{f"aten.{one}.Scalar": compare(one) for one in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"aten.{one}.Tensor": compare_two(one) for one in ("eq", "ne", "lt", "le", "gt", "ge")},
    "aten.masked_fill.Tensor": masked_fill_tensor,
    "aten.where.self": where,
    "aten.where.ScalarOther": where_scalar,
    "aten.ones_like.default": filled_like("ones_like"),
    "aten.logical_not.default": logical("logical_not"),
    "aten.bitwise_not.default": logical("logical_not"),
    "aten.logical_and.default": logical("logical_and"),
    "aten.bitwise_and.Tensor": logical("logical_and"),
    "aten.__and__.Tensor": logical("logical_and"),
    "aten.logical_or.default": logical("logical_or"),
    "aten.bitwise_or.Tensor": logical("logical_or"),
    "aten.__or__.Tensor": logical("logical_or"),
    "aten.masked_fill.Scalar": masked_fill("masked_fill"),
    "aten.masked_fill_.Scalar": masked_fill("masked_fill_"),
    "aten.zeros_like.default": filled_like("zeros_like"),
    # in place
    "aten.relu_.default": in_place("relu_", "self"),
    "aten.add_.Tensor": in_place("add_", "self other"),
    # dtype and views
    "aten.to.dtype": cast,
    "aten.to.dtype_layout": cast,
    "aten.to.device": cast,
    "aten.type_as.default": type_as,
    "aten.view.default": view,
    "aten.reshape.default": reshape,
    "aten.contiguous.default": unary("contiguous"),
    "aten.clone.default": unary("clone"),
    "aten.expand.default": expand,
    "aten.expand_as.default": expand_as,
    "aten.repeat.default": repeat,
    "aten.roll.default": roll,
    "aten.pad.default": pad,
    "aten.permute.default": permute,
    "aten.transpose.int": transpose,
    "aten.unsqueeze.default": unsqueeze,
    "aten.squeeze.default": squeeze,
    "aten.squeeze.dim": squeeze,
    "aten.squeeze.dims": squeeze,
    "aten.t.default": turned,
    "aten.movedim.int": movedim,
    "aten.unflatten.int": unflatten,
    "aten.flatten.using_ints": flatten,
    "aten.slice.Tensor": sliced,
    "aten.select.int": select,
    "aten.cat.default": cat,
    "aten.concat.default": cat,
    "aten.stack.default": stack,
    # nothing in evaluation mode
    "aten.dropout.default": same,
    "aten.alias.default": same,
    "aten.detach.default": same,
    "aten.lift_fresh_copy.default": same,
}
