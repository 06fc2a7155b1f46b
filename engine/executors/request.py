"""A case as the worker is told it, and the worker's answer as an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from engine.executors.lowering import Lowered
from engine.executors.modes import Mode
from engine.executors.outcome import Answer, Array, CallAnswer, Failure, Outcome, Status
from engine.executors.worker.protocol import Block
from engine.ir.case import Case, Plan
from engine.ir.graph import Input
from engine.ir.types import COMPLEX, FLOATS

__all__ = ["Job", "ones_and_eighths", "outcome", "request", "settled"]


@dataclass(frozen=True)
class Job:
    """A source with the arrays of its calls, ready for a mode: what the pool hands to a worker.

    `calls`: for each call of the plan the inputs in effect, and their arrays by name.
    """

    mode: Mode
    lowered: Lowered
    plan: Plan
    calls: tuple[tuple[Sequence[Input], Mapping[str, Array]], ...]
    record: str = ""
    alone: bool = False
    deadline: float | None = None
    uses: tuple[str, ...] = field(default=())


def settled(inputs: Sequence[Input], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays as every executor sees them, layouts and alias groups applied.

    An expanded input repeats its first slice; the members of an alias group repeat the bytes of
    the largest (the first of the largest).
    """
    found = {given.name: np.asarray(arrays[given.name]) for given in inputs}
    largest: dict[str, Array] = {}
    for given in inputs:
        if given.alias:
            held = largest.setdefault(given.alias, found[given.name])
            if found[given.name].size > held.size:
                largest[given.alias] = found[given.name]
    for given in inputs:
        array = found[given.name]
        if given.alias and largest[given.alias].dtype == array.dtype:
            array = largest[given.alias].reshape(-1)[: array.size].reshape(array.shape)
        elif given.layout == "expanded" and any(extent > 1 for extent in array.shape):
            axis = next(k for k, extent in enumerate(array.shape) if extent > 1)
            array = np.broadcast_to(np.take(array, [0], axis=axis), array.shape)
        found[given.name] = array
    return found


def ones_and_eighths(shape: tuple[int, ...], dtype: str) -> Array:
    """The fixed weights of a loss: 1 + (k mod 7) / 8 with alternating sign over the position k.

    Exact in every floating dtype, so that no framework rounds them.
    """
    place = np.arange(int(np.prod(shape, dtype=np.int64)))
    values = (1 + place % 7 / 8) * np.where(place % 2, -1.0, 1.0)
    array: Array = values.reshape(shape).astype(dtype)
    return array


# ------------------------------------------------------------------------------------- request
def request(job: Job, path: str) -> tuple[dict[str, Any], list[Block]]:
    """The message for the worker and its arrays. The source lies at `path` already."""
    blocks: list[Block] = []
    calls = [
        [_given(given, arrays[given.name], job.mode, blocks) for given in inputs]
        for inputs, arrays in job.calls
    ]
    cotangents = [
        {"name": one.name, "block": _put(ones_and_eighths(one.shape, one.dtype), blocks)}
        for one in job.lowered.cotangents
    ]
    message = {
        "kind": "run",
        "path": path,
        "mode": job.mode.run,
        "calls": calls,
        "cotangents": cotangents,
        "inputs": list(job.lowered.inputs),
        "setup": list(job.lowered.setup_inputs),
        "lines": {str(line): node for line, node in job.lowered.lines.items()},
        "gradient": job.plan.gradient,
        "state": "state" in job.plan.checks,
        "record": job.record,
        "caches": not job.alone,
        "settings": dict(job.mode.settings),
    }
    return message, blocks


def _given(given: Input, array: Array, mode: Mode, blocks: list[Block]) -> dict[str, Any]:
    if mode.dtype_override is not None:
        array = widened(array, mode.dtype_override)
    return {
        "name": given.name,
        "block": _put(array, blocks),
        "layout": given.layout,
        "alias": given.alias,
        "requires_grad": given.requires_grad,
    }


def widened(array: Array, dtype: str) -> Array:
    """A floating array in another floating dtype; complex numbers in twice its width."""
    if str(array.dtype) in FLOATS:
        return array.astype(dtype)
    if str(array.dtype) in COMPLEX and dtype == "float64":
        return array.astype("complex128")
    return array


def _put(array: Array, blocks: list[Block]) -> int:
    if array.dtype == ml_dtypes.bfloat16:
        blocks.append(Block("bfloat16", array.view(np.uint16)))
    else:
        blocks.append(Block(str(array.dtype), array))
    return len(blocks) - 1


# ------------------------------------------------------------------------------------- outcome
def outcome(job: Job, message: Mapping[str, Any], blocks: Sequence[Block]) -> Outcome:
    """The worker's last message as an outcome."""
    return Outcome(
        mode=job.mode.name,
        status=Status(message["status"]),
        calls=tuple(_call(one, blocks) for one in message["calls"]),
        gradients={
            name: None if one is None else _answer(one, blocks)
            for name, one in message["gradients"].items()
        },
        failure=_failure(message.get("failure")),
        gradient_failure=_failure(message.get("gradient_failure")),
        recorded={name: _answer(one, blocks) for name, one in message["recorded"].items()},
        proof=message["proof"],
        moved=tuple(message["moved"]),
        trace=_trace(job, message),
        seconds=message["seconds"],
        memory=message["rss"],
        reason=message.get("reason", ""),
        source=job.lowered.source,
    )


def _trace(job: Job, message: Mapping[str, Any]) -> tuple[str, ...]:
    """What the worker saw; in MindSpore, which shows nothing, the public names that were called."""
    seen = message["trace"] or [f"{job.mode.name} {name}" for name in job.lowered.apis]
    failures = [message.get(key) for key in ("failure", "gradient_failure")]
    raised = [f"raised {one['type']} in {one['phase']}" for one in failures if one]
    return (*seen, *raised)


def _call(message: Mapping[str, Any], blocks: Sequence[Block]) -> CallAnswer:
    return CallAnswer(
        structure=message["structure"],
        outputs=tuple(_answer(one, blocks) for one in message["outputs"]),
        inputs_after={k: _answer(one, blocks) for k, one in message["inputs_after"].items()},
    )


def _answer(message: Mapping[str, Any], blocks: Sequence[Block]) -> Answer:
    return Answer(
        dtype=message["dtype"],
        shape=tuple(message["shape"]),
        array=_array(blocks[message["block"]]) if "block" in message else None,
        kind=message["kind"],
        strides=_tuple(message.get("strides")),
        offset=message.get("offset"),
        shares=_tuple(message.get("shares")),
        is_view=message.get("is_view"),
        is_leaf=message.get("is_leaf"),
        requires_grad=message.get("requires_grad"),
        summary=message.get("summary", {}),
    )


def _tuple(found: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if found is None else tuple(found)


def _array(block: Block) -> Array:
    if block.dtype == "bfloat16":
        bits: Array = block.bits.view(ml_dtypes.bfloat16)
        return bits
    return block.bits


def _failure(message: Mapping[str, Any] | None) -> Failure | None:
    if message is None:
        return None
    return Failure(**{**message, "entered": tuple(message["entered"])})


def of_case(case: Case) -> list[Sequence[Input]]:
    """For each call of the plan the inputs in effect: those of the graph, some replaced."""
    found: list[Sequence[Input]] = []
    for call in case.plan.calls:
        replaced = {given.name: given for given in call.inputs}
        found.append([replaced.get(given.name, given) for given in case.graph.inputs])
    return found
