"""What one run of a case in one mode answered: raw data, interpreted by oracles only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Answer", "Array", "CallAnswer", "Failure", "Outcome", "Status"]

Array: TypeAlias = "npt.NDArray[np.generic]"


class Status(StrEnum):
    """How a run ended."""

    OK = "ok"
    RAISED = "raised"
    DIED = "died"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Answer:
    """One value as the framework gave it.

    `array`: host copy (bfloat16 as `ml_dtypes.bfloat16`), None when only facts were asked for.
    `strides` in elements, None where the framework cannot tell. `shares`: names of the inputs (or,
    in a recording, the earliest value) with the same storage; None where unknown. `offset`:
    elements from the start of the storage, None where unknown.
    """

    dtype: str
    shape: tuple[int, ...]
    array: Array | None = field(default=None, compare=False)
    kind: str = "tensor"
    strides: tuple[int, ...] | None = None
    offset: int | None = None
    shares: tuple[str, ...] | None = None
    is_view: bool | None = None
    is_leaf: bool | None = None
    requires_grad: bool | None = None
    summary: Mapping[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class CallAnswer:
    """One call of the plan. `structure`: "tensor", "tuple", "list", "none", nested as
    "tuple(tensor, tensor)".

    `inputs_after`: inputs and weights whose bytes changed during the call, with their new values.
    """

    structure: str
    outputs: tuple[Answer, ...]
    inputs_after: Mapping[str, Answer] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """An exception of the framework. `phase`: "setup", "compile", "call 0", "gradient", ...

    `node`: the graph node whose line raised, "" where the traceback does not say. `entered`: names
    of the framework's functions that its line had entered, outermost first, as far as they are
    written in Python.
    """

    type: str
    message: str
    traceback: str
    phase: str
    node: str = ""
    entered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One run of a case in one mode.

    `gradients`: by input name, None for an input that got no gradient. `gradient_failure`: the
    gradient may fail while the calls succeeded. `recorded`: every value's facts, when a recording
    was asked for. `proof`: how the framework says it ran (counters of compiled frames, graph
    breaks, kernels). `moved`: global flags and generators that changed. `signal`: what killed the
    worker. `trace`: event labels for novelty. `events` never influence a verdict. `memory`: bytes
    that the worker held when it had answered.
    """

    mode: str
    status: Status
    calls: tuple[CallAnswer, ...] = ()
    gradients: Mapping[str, Answer | None] = field(default_factory=dict)
    failure: Failure | None = None
    gradient_failure: Failure | None = None
    recorded: Mapping[str, Answer] = field(default_factory=dict)
    proof: Mapping[str, int | str] = field(default_factory=dict)
    moved: tuple[str, ...] = ()
    signal: str = ""
    stderr: str = ""
    trace: tuple[str, ...] = ()
    seconds: float = 0.0
    memory: int = 0
    reason: str = ""
    source: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it answered, with its gradient where one was asked for."""
        return self.status is Status.OK and self.gradient_failure is None
