"""The mode `numpy`: the engine's own reference as one more implementation, in this process."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.errors import ConstraintViolated
from engine.executors.outcome import Answer, Array, CallAnswer, Failure, Outcome, Status
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.graph import Graph, Input
from engine.ir.types import Tuple, Type
from engine.ops.typing import retype

__all__ = ["run_on_numpy"]

MODE = "numpy"


def run_on_numpy(
    case: Case, calls: Sequence[tuple[Sequence[Input], Mapping[str, Array]]], *, record: str
) -> Outcome:
    """Evaluate every call of the plan. What NumPy raises is data, as with a framework."""
    began = time.perf_counter()
    answers: list[CallAnswer] = []
    recorded: dict[str, Answer] = {}
    failure, reason = None, ""
    for number, (inputs, arrays) in enumerate(calls):
        try:
            graph = _of_call(case.graph, inputs)
            values = evaluate(graph, arrays)
        except ConstraintViolated as refused:
            reason = f"call {number}: {refused}"
            break
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            failure = _failure(error, f"call {number}")
            break
        answers.append(_answer(graph, values))
        if record and not recorded:
            recorded = {name: _plain(array) for name, array in values.items()}
    return Outcome(
        MODE,
        Status.RAISED if failure else Status.UNSUPPORTED if reason else Status.OK,
        calls=tuple(answers),
        recorded=recorded,
        failure=failure,
        reason=reason,
        seconds=time.perf_counter() - began,
    )


def _of_call(graph: Graph, inputs: Sequence[Input]) -> Graph:
    """The graph with the inputs of a call; types inferred anew where those are others."""
    changed = {one.name for one in inputs if one.type != graph.types[one.name]}
    called = replace(graph, inputs=tuple(inputs))
    return retype(called, changed) if changed else called


def _answer(graph: Graph, values: Mapping[str, Array]) -> CallAnswer:
    parts = [_output(name, graph.types[name], values) for name in graph.outputs]
    texts = [text for text, _ in parts]
    structure = texts[0] if len(texts) == 1 else f"tuple({', '.join(texts)})"
    return CallAnswer(structure, tuple(one for _, leaves in parts for one in leaves))


def _output(name: str, of: Type, values: Mapping[str, Array]) -> tuple[str, list[Answer]]:
    if not isinstance(of, Tuple):
        return "tensor", [_plain(values[name])]
    parts = [_output(f"{name}.{place}", item, values) for place, item in enumerate(of.items)]
    inside = ", ".join(text for text, _ in parts)
    return f"tuple({inside})", [one for _, leaves in parts for one in leaves]


def _plain(array: Array) -> Answer:
    return Answer(str(array.dtype), array.shape, array)


def _failure(error: Exception, phase: str) -> Failure:
    text = "".join(traceback.format_exception(error))
    return Failure(type(error).__name__, str(error), text, phase)
