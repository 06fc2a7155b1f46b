"""The ATen table: for each target of an exported program, the operators that stand for it.

A row is a function of the graph in the making and the call; it answers the name of the result (a
tuple of names for several results). What computes nothing in evaluation mode answers its operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from engine.errors import BadInput
from engine.ir.graph import Attr
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
        return graph.emit(op, [x, call.value(1, "other")])

    return row


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
    place = 1 if call.target == "aten.to.dtype" else 99
    return _as_dtype(graph, call.value(0, "self"), call.dtype(place, "dtype"))


def _as_dtype(graph: Builder, x: str, dtype: str | None) -> str:
    """A cast where the dtype changes; the exporter also writes those that change nothing."""
    if dtype is None or graph.dense(x).dtype == dtype:
        return x
    return graph.emit("cast", [x], dtype=dtype)


def reshape(op: str) -> Row:
    def row(graph: Builder, call: AtenCall) -> Named:
        x = call.value(0, "self")
        return graph.emit(op, [x], shape=_open_batch(graph, x, call.integers(1, "shape")))

    return row


def _open_batch(graph: Builder, x: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The target shape with the batch left open, where the batch leads before and after."""
    before = graph.shape(x)
    known = 1
    for extent in shape:
        known *= extent if extent != -1 else 1
    whole = tuple(graph.dense(x).elements // max(known, 1) if one == -1 else one for one in shape)
    leads = len(whole) > 1 and before and before[0] == whole[0] == graph.batch
    return (-1, *whole[1:]) if leads else shape


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
    # products
    "aten.linear.default": linear,
    "aten.conv2d.default": conv2d,
    "aten.conv2d.padding": conv2d,
    "aten.matmul.default": matmul,
    "aten.embedding.default": embedding,
    # reductions and norms
    "aten.mean.dim": reduction("mean"),
    "aten.sum.dim_IntList": reduction("sum"),
    "aten.linalg_vector_norm.default": vector_norm,
    "aten.layer_norm.default": layer_norm,
    "aten.softmax.int": softmax,
    # activations
    "aten.gelu.default": gelu,
    "aten.silu.default": unary("silu"),
    "aten.relu.default": unary("relu"),
    "aten.sigmoid.default": unary("sigmoid"),
    "aten.tanh.default": unary("tanh"),
    # dtype and views
    "aten.to.dtype": cast,
    "aten.to.dtype_layout": cast,
    "aten.view.default": reshape("view"),
    "aten.reshape.default": reshape("reshape"),
    "aten.contiguous.default": unary("contiguous"),
    "aten.clone.default": unary("clone"),
    "aten.expand.default": expand,
    "aten.permute.default": permute,
    "aten.transpose.int": transpose,
    "aten.unsqueeze.default": unsqueeze,
    "aten.flatten.using_ints": flatten,
    "aten.slice.Tensor": sliced,
    "aten.select.int": select,
    "aten.cat.default": cat,
    # nothing in evaluation mode
    "aten.dropout.default": same,
    "aten.alias.default": same,
    "aten.detach.default": same,
    "aten.lift_fresh_copy.default": same,
}
