"""Normalisations with groups and running estimates, and masked attention, by their definitions."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import ConstraintViolated
from engine.ir.graph import Graph, Node
from engine.ir.types import Dense
from engine.mutators.edits import Draft
from engine.mutators.sites import is_floating, nodes
from engine.mutators.spec import ALGEBRA, Effect, mutator
from engine.mutators.subgraphs import rebuilt

__all__: list[str] = []


def _operand(node: Node, slot: int) -> str:
    found = node.operands[slot] if slot < len(node.operands) else None
    if found is None:
        raise ConstraintViolated(f"{node.name}: operand {slot} is absent")
    return found


def _over_channels(draft: Draft, value: str, rank: int) -> str:
    """A value for each channel in the shape that is broadcast over axis 1."""
    count = draft.shape(value)[0]
    return draft.reshape(value, (1, count, *(1 for _ in range(rank - 2))))


def _scaled(draft: Draft, value: str, node: Node, first: int) -> str:
    """Weight and bias of the channels, where the node has them, from an operand on."""
    rank = len(draft.shape(value))
    for slot, op in ((first, "mul"), (first + 1, "add")):
        name = node.operands[slot] if slot < len(node.operands) else None
        if name is not None:
            value = draft.emit(op, value, _over_channels(draft, name, rank))
    return value


def _batch_norm_by_parts(draft: Draft, node: Node) -> str:
    """(x - mean) / sqrt(var + eps), of the estimates that are given."""
    x = _operand(node, 0)
    rank = len(draft.shape(x))
    mean = _over_channels(draft, _operand(node, 1), rank)
    spread = draft.emit("add_scalar", _operand(node, 2), value=node.attr("eps"))
    scale = _over_channels(draft, draft.emit("rsqrt", spread), rank)
    made = draft.emit("mul", draft.emit("sub", x, mean), scale)
    return _scaled(draft, made, node, 3)


def _group_norm_by_parts(draft: Draft, node: Node) -> str:
    """Each group of channels to mean nought and variance one."""
    x, groups = _operand(node, 0), int(str(node.attr("groups")))
    shape = draft.shape(x)
    rows = draft.reshape(x, (shape[0], groups, draft.dense(x).elements // (shape[0] * groups)))
    centred = draft.emit("sub", rows, draft.emit("mean", rows, dim=-1, keepdim=True))
    spread = draft.emit("mean", draft.emit("square", centred), dim=-1, keepdim=True)
    scale = draft.emit("rsqrt", draft.emit("add_scalar", spread, value=node.attr("eps")))
    return _scaled(draft, draft.reshape(draft.emit("mul", centred, scale), shape), node, 1)


def _attention_with_mask(draft: Draft, node: Node) -> str:
    """softmax(q kT / sqrt(d) + mask) v; a mask of bool takes scores away."""
    q, k, v, mask = (_operand(node, slot) for slot in range(4))
    if node.attr("is_causal") or node.attr("gqa"):
        raise ConstraintViolated(f"{node.name}: causal or grouped attention has no mask to add")
    turned = draft.emit("transpose", k, dim0=-2, dim1=-1)
    scores = draft.scaled(draft.emit("matmul", q, turned), draft.shape(q)[-1] ** -0.5)
    if draft.dense(mask).dtype == "bool":
        hidden = draft.emit("logical_not", mask)
        scores = draft.emit("masked_fill", scores, hidden, value=float("-inf"))
    else:
        scores = draft.emit("add", scores, mask)
    return draft.emit("matmul", draft.emit("softmax", scores, dim=-1), v)


def _plain(graph: Graph, node: Node) -> bool:
    return node.writes is None and isinstance(node.type, Dense) and is_floating(node.type)


_WAYS: dict[str, tuple[str, str, Callable[[Draft, Node], str]]] = {
    "batch_norm": ("batch_norm", "estimates", _batch_norm_by_parts),
    "group_norm": ("group_norm", "groups", _group_norm_by_parts),
    "masked_attention": ("scaled_dot_product_attention", "mask", _attention_with_mask),
}
for _name, (_op, _variant, _make) in _WAYS.items():
    mutator(
        f"subgraph.update.decomposition.{_name}",
        effect=Effect.PRESERVING,
        sites=nodes(_plain, ops={_op}),
        edit={_variant: rebuilt(_make)},
        provenance=ALGEBRA(f"definition of {_op}"),
        example=(f"y = {_op}(x)", f"y = the same by its {_variant}"),
        doc=f"`{_op}` by other operators, as its definition allows.",
    )
