"""Scaled dot-product attention, with masks and grouped queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.numeric import Array, widened
from engine.ops.operands import beside
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    Requirement,
    default,
    limited,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


def attention_type(call: OpCall) -> Dense:
    q, v = static(call["q"]), static(call["v"])
    return resized(call["q"], (*q[:-1], v[-1]))


def attention_fits(call: OpCall) -> Requirement:
    yield call["q"].rank >= 3, "the query has fewer than three axes"
    q, k, v = (static(call[name]) for name in ("q", "k", "v"))
    if not len(q) == len(k) == len(v) >= 3:
        yield False, "query, key and value have different ranks"
        return
    yield 0 not in (*q, *k, *v), "an operand is empty"
    yield q[-1] == k[-1], f"the query has {q[-1]} features, the key {k[-1]}"
    yield k[:-1] == v[:-1], "key and value have different lengths"
    if call.attr("gqa"):
        yield len(q) == 4, "grouped queries want (batch, heads, length, features)"
        yield q[0] == k[0] and q[-3] % k[-3] == 0, f"{k[-3]} key heads do not divide {q[-3]}"
    else:
        yield q[:-2] == k[:-2], "query and key have different heads"
    yield not (call.has("mask") and call.attr("is_causal")), "a mask and is_causal exclude another"
    if call.has("mask"):
        mask, dtype = static(call["mask"]), call["mask"].dtype
        yield (
            dtype in ("bool", call["q"].dtype),
            "the mask is neither bool nor of the query's dtype",
        )
        yield mask == (q[-2], k[-2]), f"the mask is {mask}, expected {(q[-2], k[-2])}"


def attend(
    q: Array, k: Array, v: Array, mask: Array | None, *, is_causal: bool, gqa: bool
) -> Array:
    if gqa:
        k, v = (np.repeat(one, q.shape[-3] // one.shape[-3], axis=-3) for one in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    if is_causal:
        mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    found: Array = scores / scores.sum(-1, keepdims=True) @ v
    return found.astype(q.dtype)


def companions(q: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    if q.rank < 2:
        raise ConstraintViolated(f"attention needs two axes or more, saw {q.rank}")
    *lead, length, features = static(q)
    if attrs["gqa"]:
        shape_of(q, 4)
        if lead[-1] % 2:
            raise ConstraintViolated(f"two query heads share a key head: {lead[-1]} is odd")
        lead[-1] //= 2
    kv = resized(q, (*lead, length, features))
    found = {"k": beside("k", kv, 41), "v": beside("v", kv, 43)}
    if not attrs["is_causal"]:
        found["mask"] = mask_of(q, length)
    return found


def mask_of(q: Dense, length: int) -> Input:
    """For one sequence the causal mask, for a batch a bias added to the scores."""
    if static(q)[0] > 1:
        return beside("mask", resized(q, (length, length)), 47)
    kind = Dense("bool", (length, length))
    seen = Formula("causal_mask", (("masked", 0.0), ("visible", 1.0)))
    return Input("mask", kind, role="constant", init=seen)


def case(*, mask: str, causal: bool = False, gqa: bool = False) -> Callable[[OpCall], bool]:
    """A form's condition: the kind of mask ("", "bool" or "float"), causal, grouped."""

    def holds(call: OpCall) -> bool:
        seen = ""
        if call.has("mask"):
            seen = "bool" if call["mask"].dtype == "bool" else "float"
        return seen == mask and call.attr("is_causal") == causal and call.attr("gqa") == gqa

    return holds


SCORES = "ops.matmul({q}, {k}.swapaxes(-1, -2)) * {q}.shape[-1] ** -0.5"
KEYS = "ops.repeat_interleave({k}, {q}.shape[1] // {k}.shape[1], 1)"
VALUES = "ops.repeat_interleave({v}, {q}.shape[1] // {v}.shape[1], 1)"
GROUPED = f"ops.matmul({{q}}, {KEYS}.swapaxes(-1, -2)) * {{q}}.shape[-1] ** -0.5"
FUTURE = 'ops.triu(ops.full(({q}.shape[-2], {k}.shape[-2]), float("-inf"), dtype={q}.dtype), 1)'


def softmax_of(scores: str, values: str = "{v}") -> str:
    return f"ops.matmul(ops.softmax({scores}, -1), {values})"


def masked(scores: str) -> str:
    return f'ops.where({{mask}}, {scores}, float("-inf"))'


MATH = "torch.nn.functional.scaled_dot_product_attention: softmax(q k^T * scale + bias) v"

op(
    "scaled_dot_product_attention",
    "q k v mask?:free",
    attrs={"is_causal": (False, True), "gqa": (False, True)},
    dtypes=FLOATS,
    infer=attention_type,
    requires=attention_fits,
    reference=widened(attend),
    torch={
        "function": "F.scaled_dot_product_attention({q}, {k}, {v}, {mask},"
        " is_causal={is_causal}, enable_gqa={gqa})",
        "keyword": Form(
            "F.scaled_dot_product_attention(query={q}, key={k}, value={v}, attn_mask={mask},"
            " dropout_p=0.0, is_causal={is_causal}, scale=None, enable_gqa={gqa})",
            source=default("F.scaled_dot_product_attention", "dropout_p=0.0, scale=None"),
        ),
        "default": Form(
            "F.scaled_dot_product_attention({q}, {k}, {v})",
            when=case(mask=""),
            source=default("F.scaled_dot_product_attention", "attn_mask=None, is_causal=False"),
        ),
        "composed": Form(
            "torch.softmax({q} @ {k}.transpose(-2, -1) * {q}.shape[-1] ** -0.5, -1) @ {v}",
            when=case(mask=""),
            dtypes=("float32", "float64"),
            source=MATH,
        ),
        "composed_mask": Form(
            "torch.softmax(({q} @ {k}.transpose(-2, -1) * {q}.shape[-1] ** -0.5)"
            '.masked_fill(~{mask}, float("-inf")), -1) @ {v}',
            when=case(mask="bool"),
            dtypes=("float32", "float64"),
            source=MATH,
        ),
        "composed_causal": Form(
            "F.scaled_dot_product_attention({q}, {k}, {v}, torch.ones({q}.shape[-2],"
            " {k}.shape[-2], dtype=torch.bool).tril())",
            when=case(mask="", causal=True),
            source="F.scaled_dot_product_attention: is_causal uses a lower triangular mask",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "composed": Form(softmax_of(SCORES), when=case(mask="")),
            "composed_mask": Form(softmax_of(masked(SCORES)), when=case(mask="bool")),
            "composed_bias": Form(softmax_of(SCORES + " + {mask}"), when=case(mask="float")),
            "composed_causal": Form(
                softmax_of(f"{SCORES} + {FUTURE}"), when=case(mask="", causal=True)
            ),
            "composed_gqa": Form(softmax_of(GROUPED, VALUES), when=case(mask="", gqa=True)),
            "composed_gqa_mask": Form(
                softmax_of(masked(GROUPED), VALUES), when=case(mask="bool", gqa=True)
            ),
            "composed_gqa_bias": Form(
                softmax_of(GROUPED + " + {mask}", VALUES), when=case(mask="float", gqa=True)
            ),
            "composed_gqa_causal": Form(
                softmax_of(f"{GROUPED} + {FUTURE}", VALUES),
                when=case(mask="", causal=True, gqa=True),
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=companions,
    shapes=((1, 2, 4, 4), (2, 4, 3, 8), (1, 3, 4), (2, 1, 2)),
    tags={"attention"},
)
