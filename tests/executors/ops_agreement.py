"""Runs the forms of a row on a framework and says where its answers are not the reference's.

`python -m tests.executors.ops_agreement FRAMEWORK [OPERATOR ...]` prints what disagrees in the form
of `tests/data/support/known.json`, for a person to read and enter there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from engine.executors.outcome import Answer, Array, Outcome, Status
from engine.executors.pool import Pool
from engine.executors.reference import epsilon, evaluate
from engine.ir.case import Case
from engine.ir.graph import Graph
from engine.ir.types import COMPLEX, FLOATS
from engine.ir.values import materialise
from engine.ops import OPS, OpSpec, Tolerance
from engine.ops.examples import Example, plainest_calls

__all__ = ["MODES", "Disagreement", "disagreements", "ordinary_dtypes"]

MODES = {"torch": "torch-eager", "mindspore": "mindspore-pynative"}

_UNITS = {
    Tolerance.EXACT: 0,
    Tolerance.ELEMENTWISE: 8,
    Tolerance.ACCUMULATING: 400,
    Tolerance.TRANSCENDENTAL: 200,
}
"""Errors allowed here, in units of the dtype's epsilon times the larger of 1 and the answer."""
_NARROW = 6
"""The most units for 16-bit floats, which the frameworks compute in 32 bits."""


@dataclass(frozen=True)
class Disagreement:
    """A form whose answer is not the reference's. `kind`: raised, died, dtype, shape, value, ..."""

    op: str
    form: str
    framework: str
    dtype: str
    kind: str
    evidence: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.op, self.form, self.framework, self.dtype, self.kind


def ordinary_dtypes(spec: OpSpec) -> tuple[str, ...]:
    """float32 and one other, or the first two of a row that does not take it."""
    wanted = [one for one in ("float32", "float64", "int64", "int32", "bool") if one in spec.dtypes]
    return tuple(dict.fromkeys([*wanted, *spec.dtypes]))[:2]


def disagreements(
    pool: Pool, spec: OpSpec, framework: str, dtypes: Sequence[str]
) -> list[Disagreement]:
    """Every form of a row that holds in these dtypes, each on the plainest call it holds for."""
    found: list[Disagreement] = []
    for dtype in dtypes:
        for example, names in plainest_calls(spec, framework, dtype):
            found += _run(pool, example, framework, dtype, names)
    return found


def _run(
    pool: Pool, example: Example, framework: str, dtype: str, names: list[str]
) -> list[Disagreement]:
    """All forms in one graph; one by one where they write or where that graph does not run."""
    wanted = _expected(example)
    together = _together(example, framework, names)
    outcome = None if example.spec.writes else pool.run(Case(together), MODES[framework])
    if outcome is None or outcome.status is not Status.OK:
        alone = {name: example.graph(forms={framework: name}) for name in names}
        answers = {name: pool.run(Case(graph), MODES[framework]) for name, graph in alone.items()}
    else:
        answers = dict(zip(names, _split(outcome, len(wanted), len(names)), strict=True))
    wrong = {name for name, one in answers.items() if _compare(example, one, wanted) is not None}
    confirmed = {name: _alone(pool, example, framework, name) for name in answers if name in wrong}
    return [
        Disagreement(example.spec.name, name, framework, dtype, *why)
        for name, one in confirmed.items()
        if (why := _compare(example, one, wanted)) is not None
    ]


def _alone(pool: Pool, example: Example, framework: str, form: str) -> Outcome:
    """The form in a fresh process: what earlier calls left behind in a worker is not its fault."""
    graph = example.graph(forms={framework: form})
    return pool.run(Case(graph), MODES[framework], alone=True)


def _together(example: Example, framework: str, names: list[str]) -> Graph:
    nodes = tuple(
        replace(example.node(forms={framework: name}), name=f"v{at}")
        for at, name in enumerate(names)
    )
    return replace(example.graph(), nodes=nodes, outputs=tuple(node.name for node in nodes))


def _split(outcome: Outcome, each: int, count: int) -> list[Outcome]:
    """The answers of one graph as those of one graph for each form; wrong counts stay whole."""
    call = outcome.calls[0]
    if len(call.outputs) != each * count:
        return [outcome] * count
    parts = [call.outputs[at * each : (at + 1) * each] for at in range(count)]
    return [replace(outcome, calls=(replace(call, outputs=part),)) for part in parts]


def _expected(example: Example) -> list[Array]:
    values = evaluate(example.graph(), materialise(example.inputs))
    return [array for name, array in values.items() if name.partition(".")[0] == "v0"]


def _compare(example: Example, outcome: Outcome, wanted: Sequence[Array]) -> tuple[str, str] | None:
    if outcome.failure is not None:
        first = outcome.failure.message.strip().partition("\n")[0]
        return "raised", f"{outcome.failure.type}: {first}"[:160]
    if outcome.status is not Status.OK:
        return outcome.status.value, outcome.reason[:160]
    outputs = outcome.calls[0].outputs
    if len(outputs) != len(wanted):
        return "structure", f"{outcome.calls[0].structure}, expected {len(wanted)} tensors"
    for place, (answer, want) in enumerate(zip(outputs, wanted, strict=True)):
        wrong = _differs(example, answer, want)
        if wrong is not None:
            return wrong[0], (f"output {place}: " if len(wanted) > 1 else "") + wrong[1]
    return None


def _differs(example: Example, answer: Answer, want: Array) -> tuple[str, str] | None:
    spec, seen = example.spec, answer.array
    if answer.dtype != want.dtype.name:
        return "dtype", f"{answer.dtype}, expected {want.dtype.name}"
    if answer.shape != want.shape:
        return "shape", f"{answer.shape}, expected {want.shape}"
    assert seen is not None
    if spec.random:
        return None  # a generator promises its own stream, not the reference's
    if "ties" in spec.tags and want.dtype.kind == "i" and not _is_spread(example):
        return None  # the place of a value is undefined where values tie
    if answer.dtype not in (*FLOATS, *COMPLEX):
        wrong = seen != want
    else:
        wrong = ~_close(seen, want, spec.tolerance, answer.dtype)
    if not wrong.any():
        return None
    worst = int(np.argmax(wrong))
    return "value", f"{seen.flat[worst]} for {want.flat[worst]}"


def _is_spread(example: Example) -> bool:
    """Values of the first operand are drawn from so many that none tie."""
    return example.inputs[0].type.dtype in ("float32", "float64")  # type: ignore[union-attr]


def _close(seen: Array, want: Array, tolerance: Tolerance, dtype: str) -> Array:
    wide = "complex128" if dtype in COMPLEX else "float64"
    a, b = seen.astype(wide), want.astype(wide)
    units = _UNITS[tolerance]
    if dtype in ("float16", "bfloat16"):
        units = min(units, _NARROW)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= units * epsilon(dtype) * np.maximum(np.abs(b), 1.0)
    return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def main(framework: str, *names: str) -> None:
    with Pool() as pool:
        found = [
            asdict(one)
            for name in names or OPS
            if "control" not in OPS[name].tags
            for one in disagreements(pool, OPS[name], framework, OPS[name].dtypes)
        ]
    print("[\n" + ",\n".join(json.dumps(one) for one in found) + "\n]")


if __name__ == "__main__":
    main(*sys.argv[1:])
