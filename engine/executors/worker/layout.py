"""Which memory layouts apply to which shapes: the same rule for both frameworks."""

from __future__ import annotations

from collections.abc import Sequence

from .session import Unable

__all__ = ["OFFSET", "check_layout", "expanded_axis", "moved_channels"]

OFFSET = 3  # elements in front of a tensor with layout "offset"
_LEAST_RANK = {"transposed": 2, "strided": 1, "channels_last": 3}


def check_layout(layout: str, shape: Sequence[int]) -> None:
    """Raises `Unable` where a layout has no meaning for a shape."""
    if len(shape) < _LEAST_RANK.get(layout, 0):
        raise Unable(
            f"layout {layout} needs rank {_LEAST_RANK[layout]}, the shape is {list(shape)}"
        )
    if layout == "expanded":
        expanded_axis(shape)


def expanded_axis(shape: Sequence[int]) -> int:
    """The first axis of extent over 1, which gets stride 0."""
    for axis, extent in enumerate(shape):
        if extent > 1:
            return axis
    raise Unable(f"layout expanded needs an extent over 1, the shape is {list(shape)}")


def moved_channels(rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axis orders from channels-first to channels-last and back."""
    there = (0, *range(2, rank), 1)
    back = (0, rank - 1, *range(1, rank - 1))
    return there, back
