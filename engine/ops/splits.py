"""One tensor cut at places, or into a number of sections of which the first may be longer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from engine.ops.rules import (
    MOVING,
    Requirement,
    axis,
    default,
    limited,
    mindspore_method,
    static,
    torch_method,
)
from engine.ops.shape import EXACT, MS
from engine.ops.slicing import pieces
from engine.ops.spec import Form, OpCall, op


def extents(call: OpCall) -> tuple[int, ...]:
    """How long the pieces are: an index counts as in a slice, so that a piece may be empty."""
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    sections = call.attr("sections")
    if isinstance(sections, int):
        longer, size = extent % sections, extent // sections
        return tuple(size + (at < longer) for at in range(sections))
    bounds = (None, *call.integers("sections"), None)
    return tuple(len(range(extent)[start:stop]) for start, stop in pairwise(bounds))


def cuts_fit(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to split"
    sections = call.attr("sections")
    yield not isinstance(sections, int) or sections > 0, "the number of sections is not positive"


def is_divided(call: OpCall) -> bool:
    """PyTorch's hsplit, vsplit and dsplit want sections of one size."""
    return not isinstance(call.attr("sections"), int) or len(set(extents(call))) == 1


def cuts(place: int, *, rank: int, divided: bool = False) -> Callable[[OpCall], bool]:
    """A form's condition: it cuts along this axis of a tensor of at least this rank."""
    return lambda call: (
        call["x"].rank >= rank
        and axis(call.integer("dim"), call["x"].rank) == place
        and (not divided or is_divided(call))
    )


def torch_split(word: str, place: int) -> dict[str, str | Form]:
    when = cuts(place, rank=max(place + 1, 2), divided=True)
    equal = f"torch.{word}: the same as torch.tensor_split with dim={place}"
    return {
        f"function_{word}": Form(f"torch.{word}({{x}}, {{sections}})", when=when, source=equal),
        f"method_{word}": Form(
            f"{{x}}.{word}({{sections}})", when=when, source=f"{torch_method(word)}; {equal}"
        ),
    }


def mindspore_split(word: str, place: int) -> dict[str, str | Form]:
    when = cuts(place, rank=max(place + 1, 2))
    equal = f"mindspore.ops.{word}: equivalent to ops.tensor_split with axis={place}"
    return {
        f"function_{word}": Form(f"ops.{word}({{x}}, {{sections}})", when=when, source=equal),
        f"keyword_{word}": Form(
            f"ops.{word}(input={{x}}, indices_or_sections={{sections}})", when=when, source=equal
        ),
        f"method_{word}": Form(
            f"{{x}}.{word}({{sections}})", when=when, source=f"{mindspore_method(word)}; {equal}"
        ),
    }


op(
    "tensor_split",
    "x",
    attrs={"sections": (2, 3, (1,), (1, 2), (-1,), (1, 5), (0, 1)), "dim": (1, 0, 2, -1)},
    dtypes=MOVING,
    infer=lambda call: pieces(call["x"], call.integer("dim"), extents(call)),
    requires=cuts_fit,
    reference=lambda x, sections, dim: tuple(
        np.array_split(x, sections if isinstance(sections, int) else list(sections), axis=dim)
    ),
    torch={
        "function": "torch.tensor_split({x}, {sections}, {dim})",
        "method": Form("{x}.tensor_split({sections}, {dim})", source=torch_method("tensor_split")),
        "keyword": Form(
            "torch.tensor_split({x}, indices_or_sections={sections}, dim={dim})",
            source="torch.tensor_split: indices_or_sections",
        ),
        "keyword_sections": Form(
            "torch.tensor_split(input={x}, sections={sections}, dim={dim})",
            when=lambda call: isinstance(call.attr("sections"), int),
            source="torch.tensor_split: an integer is the number of sections",
        ),
        "keyword_indices": Form(
            "torch.tensor_split(input={x}, indices={sections}, dim={dim})",
            when=lambda call: not isinstance(call.attr("sections"), int),
            source="torch.tensor_split: a tuple of ints are the indices",
        ),
        "tensor": Form(
            "torch.tensor_split({x}, {self}, {dim})",
            setup=("{self} = torch.tensor({sections})",),
            when=lambda call: not isinstance(call.attr("sections"), int),
            source="torch.tensor_split: indices can be a one-dimensional long tensor on the CPU",
        ),
        "default": Form(
            "torch.tensor_split({x}, {sections})",
            when={"dim": 0},
            source=default("torch.tensor_split", "dim=0"),
        ),
        **torch_split("hsplit", 1),
        **torch_split("vsplit", 0),
        **torch_split("dsplit", 2),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.tensor_split({x}, {sections}, {dim})",
            "method": Form(
                "{x}.tensor_split({sections}, {dim})", source=mindspore_method("tensor_split")
            ),
            "keyword": Form(
                "ops.tensor_split(input={x}, indices_or_sections={sections}, axis={dim})",
                source="mindspore.ops.tensor_split(input, indices_or_sections, axis=0)",
            ),
            "default": Form(
                "ops.tensor_split({x}, {sections})",
                when={"dim": 0},
                source=default("mindspore.ops.tensor_split", "axis=0"),
            ),
            **mindspore_split("hsplit", 1),
            **mindspore_split("vsplit", 0),
            **mindspore_split("dsplit", 2),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (4,), (5, 2)),
    tags={"view", "several"},
    views="x",
)
