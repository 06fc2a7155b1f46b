"""Jobs from sources written by hand, so that the processes are tested without lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.executors.lowering import Cotangent, Lowered
from engine.executors.modes import mode_named
from engine.executors.outcome import Array
from engine.executors.request import Job, settled
from engine.ir.case import Call, Plan
from engine.ir.graph import Input
from engine.ir.types import dense

X = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}


def inputs_of(arrays: Mapping[str, Array], **fields: Mapping[str, Any]) -> tuple[Input, ...]:
    """Inputs for the arrays; `fields` by input name, such as `x={"layout": "strided"}`."""
    return tuple(
        Input(name, dense(str(array.dtype), *array.shape), **fields.get(name, {}))
        for name, array in arrays.items()
    )


def job(
    mode: str,
    source: str,
    arrays: Mapping[str, Array] = X,
    *,
    inputs: Sequence[Input] = (),
    plan: Plan | None = None,
    later: Sequence[Mapping[str, Array]] = (),
    cotangents: Sequence[Cotangent] = (),
    setup: Sequence[str] = (),
    **rest: Any,
) -> Job:
    """A job whose every line belongs to a node named after it: "L3" is the third line.

    `later`: the arrays of further calls.
    """
    row = mode_named(mode)
    lowered = Lowered(
        framework=row.framework,
        source=source,
        inputs=tuple(arrays),
        setup_inputs=tuple(setup),
        outputs=(),
        cotangents=tuple(cotangents),
        module_names=(),
        lines={number: f"L{number}" for number in range(1, source.count("\n") + 1)},
        forms={},
        apis=(),
    )
    plan = plan or Plan(calls=(Call(),) * (1 + len(later)))
    given = tuple(inputs) or inputs_of(arrays)
    calls = [(given, settled(given, arrays))]
    calls += [(inputs_of(more), dict(more)) for more in later]
    return Job(row, lowered, plan, tuple(calls), **rest)
