"""The oracle of repetition: the same call on the same compiled function gives the same answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.executors.outcome import CallAnswer
from engine.oracles.comparison import Comparison, framework_of
from engine.oracles.numeric import tolerance_of
from engine.oracles.referee import as_float64
from engine.oracles.verdict import Divergence, Kind

__all__ = ["is_same", "repeated_calls"]


def repeated_calls(comparison: Comparison) -> Iterator[Divergence | str]:
    """A call with the inputs of the first one that answers otherwise.

    Generators are seeded before every call, and each call gets inputs of its own. Random values
    are compared on PyTorch alone, which promises a stream for a seed; MindSpore's operators keep a
    state of their own.
    """
    case = comparison.case
    same = [
        number
        for number, call in enumerate(case.plan.calls)
        if number and case.inputs_of(call) == case.inputs_of(case.plan.calls[0])
    ]
    for number in same:
        for place, name in enumerate(case.graph.outputs):
            yield from _differing(comparison, number, place, name)


def _differing(
    comparison: Comparison, number: int, place: int, name: str
) -> Iterator[Divergence | str]:
    wrong: list[str] = []
    steady: set[str] = set()
    for mode in comparison.ok:
        if name in comparison.incomparable and not (
            name in comparison.random_values and framework_of(mode) == "torch"
        ):
            continue
        calls = comparison.outcomes[mode].calls
        if number < len(calls):
            if is_same(calls[0], calls[number], place):
                steady.add(mode)
            else:
                wrong.append(mode)
    for mode in wrong:
        if comparison.witnesses(mode, steady):
            yield Divergence(
                Kind.SECOND_CALL,
                framework_of(mode),
                (mode,),
                value=name,
                call=number,
                evidence=(
                    f"{mode}: call {number + 1} is given what call 1 was and answers otherwise",
                    *(f"{one} answers alike" for one in sorted(steady)),
                ),
            )
        else:
            yield f"{name}: {mode} answers otherwise on call {number + 1}, and so does all else"


def is_same(first: CallAnswer, second: CallAnswer, place: int) -> bool:
    """Whether two calls gave the same output at a place, within the default tolerance."""
    if place >= len(first.outputs) or place >= len(second.outputs):
        return len(first.outputs) == len(second.outputs)
    one, two = first.outputs[place], second.outputs[place]
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    if one.array is None or two.array is None:
        return True
    rtol, atol = tolerance_of(one.dtype)
    with np.errstate(all="ignore"):
        return bool(
            np.allclose(
                as_float64(one.array), as_float64(two.array), 4 * rtol, 4 * atol, equal_nan=True
            )
        )
