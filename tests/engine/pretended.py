"""Frameworks that are not there: a pool whose every mode is NumPy with faults of its own.

The pool is the boundary to other processes; what is behind it is pretended, all else is real.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.executors.environment import Environment
from engine.executors.modes import base_of, mode_named
from engine.executors.numpy_mode import run_on_numpy
from engine.executors.outcome import Answer, Array, CallAnswer, Failure, Outcome, Status
from engine.executors.pool import Document
from engine.executors.reference import evaluate
from engine.executors.request import of_case, settled
from engine.ir.case import Case
from engine.ir.values import materialise
from engine.ops import OPS

Fault = Callable[..., object]


@dataclass
class PretendedPool:
    """`faults`: mode -> operator -> what it computes there. `cures`: names of options under which
    a mode has no faults. `only_alone`: compiled modes have them only while they return one value.
    `dtypes`: mode -> output -> the dtype it comes in. `raising`: modes that raise. `asked`: what
    was run, in order.
    """

    faults: Mapping[str, Mapping[str, Fault]] = field(default_factory=dict)
    cures: tuple[str, ...] = ()
    raising: tuple[str, ...] = ()
    only_alone: bool = False
    dtypes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def run_modes(
        self,
        case: Case,
        modes: Sequence[str],
        *,
        blobs: Mapping[str, Array] | None = None,
        record: str = "",
        alone: bool = False,
        deadline: float | None = None,
    ) -> dict[str, Outcome]:
        return {mode: self.run(case, mode, blobs=blobs, record=record) for mode in modes}

    def run(
        self,
        case: Case,
        mode: str,
        *,
        blobs: Mapping[str, Array] | None = None,
        record: str = "",
        alone: bool = False,
        deadline: float | None = None,
    ) -> Outcome:
        self.asked.append(mode)
        row, base = mode_named(mode), base_of(mode)
        if base in self.raising:
            failure = Failure("RuntimeError", "no kernel", "", "call 0", case.graph.nodes[-1].name)
            return Outcome(mode, Status.RAISED, failure=failure)
        faults = {} if set(mode.split("+")[1:]) & set(self.cures) else self.faults.get(base, {})
        hides = self.only_alone and row.is_compiled and len(case.graph.outputs) > 1
        kept = {name: OPS[name] for name in faults}
        if not hides:
            OPS.update({name: replace(OPS[name], reference=one) for name, one in faults.items()})
        try:
            calls = []
            for inputs in of_case(case):
                calls.append((inputs, settled(inputs, materialise(inputs, blobs or {}))))
            if row.dtype_override:
                return _in_float64(case, mode, [arrays for _, arrays in calls])
            outcome = run_on_numpy(case, calls, record=record if row.records else "")
        finally:
            OPS.update(kept)
        if base in self.dtypes:
            outcome = _retyped(outcome, case.graph.outputs, self.dtypes[base])
        proof = {f"{name} in force": str(value) for name, value in row.settings}
        return replace(outcome, mode=mode, proof=proof)

    def document(self, framework: str, names: Sequence[str]) -> dict[str, Document]:
        return {name: Document(True, ("CPU",), "", "") for name in names}

    def versions(self, framework: str) -> Mapping[str, str]:
        return {framework: "2.0"}

    def deadline(self, mode: str) -> float:
        return 1.0

    def limit(self, address_space: int) -> None:
        """Nothing is started, so there is nothing to limit."""

    def environment(self, framework: str) -> Environment:
        return Environment(framework, framework)


def _retyped(outcome: Outcome, names: Sequence[str], dtypes: Mapping[str, str]) -> Outcome:
    calls = []
    for call in outcome.calls:
        given = dict(zip(names, call.outputs, strict=True))
        for name in dtypes.keys() & given.keys():
            array = np.asarray(given[name].array).astype(dtypes[name])
            given[name] = Answer(dtypes[name], array.shape, array)
        calls.append(replace(call, outputs=tuple(given.values())))
    return replace(outcome, calls=tuple(calls))


def _in_float64(case: Case, mode: str, calls: Sequence[Mapping[str, Array]]) -> Outcome:
    answers = []
    for arrays in calls:
        values = evaluate(case.graph, arrays, dtype="float64")
        outputs = [values[name] for name in case.graph.outputs]
        given = tuple(Answer(str(one.dtype), one.shape, one) for one in outputs)
        answers.append(CallAnswer("tensor", given))
    return Outcome(mode, Status.OK, tuple(answers))
