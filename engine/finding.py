"""A finding: one failure, reproduced and minimised, with all that a person needs to judge it.

Plain data, JSON-able through `to_json` and `from_json`: what the engine gives to its recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

__all__ = [
    "SIGNATURE_VERSION",
    "Ablation",
    "Finding",
    "Localised",
    "ModeAnswer",
    "Reproduction",
    "Step",
    "Symptom",
    "Weighed",
]

SIGNATURE_VERSION = 3
"""Raised when the rule that makes signatures changes; old ones keep the version that made them."""


class Symptom(StrEnum):
    """The three symptoms of the method, and efficiency apart."""

    CRASH = "crash"
    NUMERICAL = "numerical"
    STATE = "state"
    EFFICIENCY = "efficiency"


@dataclass(frozen=True)
class ModeAnswer:
    """What one mode answered on the minimised case, for people.

    `status`: an `executors.outcome.Status`. `summary`: one line ("raised RuntimeError: ...", or the
    output's dtype, shape and first values). `detail`: traceback or more values, may be long.
    `error`: greatest error against the float64 referee in units of what is allowed there, None
    where it does not apply.
    """

    mode: str
    status: str
    summary: str
    detail: str = ""
    error: float | None = None
    seconds: float = 0.0
    proof: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reproduction:
    """`reproduced` of `attempts` runs, each alone in a fresh process."""

    reproduced: int
    attempts: int


@dataclass(frozen=True)
class Weighed:
    """One output or gradient of one call in one mode, weighed against float64.

    `quantity`: "value" or "gradient". `error`: greatest absolute error, at index `at`, where the
    mode has `got` and float64 has `exact`. `tolerance` and `floor`: what the dtype's default
    tolerance and the noise floor allow there. `ratio`: error over what is allowed; more than 1
    counts.
    """

    mode: str
    call: int
    name: str
    quantity: str
    error: float
    tolerance: float
    floor: float
    ratio: float
    at: tuple[int, ...]
    got: str
    exact: str


@dataclass(frozen=True)
class Ablation:
    """The minimised program run again with one thing changed.

    `axis`: "mode", "option", "dtype" or "form". `setting`: its value there ("torch-aot",
    "emulate_precision_casts", "float64", "Tensor.add"). `result`: "fails" with the same key,
    "passes", "differs" (fails in another way) or "could not run". `detail`: one line for people.
    """

    axis: str
    setting: str
    result: str
    detail: str = ""


@dataclass(frozen=True)
class Localised:
    """The first tensor of a program that a mode has wrong beyond the noise floor.

    `direction`: "forward" or "backward". `value`: its name; `op`: what made it.
    """

    direction: str
    mode: str
    value: str
    op: str
    detail: str


@dataclass(frozen=True)
class Step:
    """One mutation on the way from the seed: graph texts of the window round it.

    `changed`: names of the nodes in `after` that the mutation touched.
    """

    mutator: str
    before: str
    after: str
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One failure. Texts of cases are in the text form of `engine.ir.text`.

    `key`: the failure key (symptom, accused, failing modes, divergence). `signature`: key plus
    operators, forms and dtype classes of the minimised program; equal signatures share a bucket.
    `parts`: the parts the signature is made of, by name. `verdict`: one sentence for a person.
    `lineage`: names of the mutators from the seed to the mutant, oldest first. `parent_text` and
    `mutant_text`: the graph round the change before and after it (a window of the whole model).
    `changed`: names of the mutant's nodes that the last mutation touched. `divergence`: name of the
    first value that differs, "" where it does not apply. `script`: standalone program that asserts
    the difference; `script_output`: what it printed when it was run before being stored.
    `weighed`: figures of the referee; `ablations`: what makes the failure go away; `localised`:
    where it begins; all on the minimised program. `window_localised`: where it begins in the window
    as it was found, by the names of `mutant_text`. `coarse`: failure key and the call found there,
    in the window and in the minimised program, by which duplicates are known before they are
    minimised. `steps`: the mutations of `lineage`, as
    far as they are at hand. `parent_facts` and `mutant_facts`: profiled facts of the values of
    `parent_text` and `mutant_text`, as words, by value and fact (dtype, shape, strides, layout,
    alias, gradient, values). All of these are empty in findings of earlier versions.
    """

    symptom: Symptom
    accused_framework: str
    accused_modes: tuple[str, ...]
    accused_op: str
    title: str
    verdict: str
    key: str
    signature: str
    parts: Mapping[str, str]
    seed: str
    round: int
    mutator: str
    lineage: tuple[str, ...]
    parent_text: str
    mutant_text: str
    changed: tuple[str, ...]
    minimised_text: str
    minimised_nodes: int
    original_nodes: int
    divergence: str
    answers: tuple[ModeAnswer, ...]
    reproduction: Reproduction
    script: str
    script_output: str
    environment: Mapping[str, str]
    seconds: float = 0.0
    weighed: tuple[Weighed, ...] = ()
    ablations: tuple[Ablation, ...] = ()
    localised: tuple[Localised, ...] = ()
    steps: tuple[Step, ...] = ()
    parent_facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    mutant_facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    window_localised: tuple[Localised, ...] = ()
    coarse: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Finding:
        """Read what `to_json` wrote; `KeyError` or `TypeError` name what is missing or unknown."""
        given = dict(data)
        given["symptom"] = Symptom(str(given["symptom"]))
        for name in ("accused_modes", "lineage", "changed", "coarse"):
            given[name] = tuple(given.get(name, ()))  # type: ignore[arg-type]
        given["answers"] = tuple(
            ModeAnswer(**_with_floats(one, "error")) for one in _rows(given, "answers")
        )
        given["weighed"] = tuple(
            Weighed(
                **_with_floats(one, "error", "tolerance", "floor", "ratio")
                | {"at": tuple(one["at"])}
            )
            for one in _rows(given, "weighed")
        )
        given["ablations"] = tuple(Ablation(**one) for one in _rows(given, "ablations"))
        for name in ("localised", "window_localised"):
            given[name] = tuple(Localised(**one) for one in _rows(given, name))
        given["steps"] = tuple(
            Step(**one | {"changed": tuple(one["changed"])}) for one in _rows(given, "steps")
        )
        given["reproduction"] = Reproduction(**given["reproduction"])  # type: ignore[arg-type]
        return cls(**given)  # type: ignore[arg-type]


def _rows(given: Mapping[str, object], name: str) -> list[dict[str, Any]]:
    """The list of objects under a name; empty where an earlier version did not write it."""
    rows = given.get(name, [])
    if not isinstance(rows, list | tuple) or not all(isinstance(one, dict) for one in rows):
        raise TypeError(f"{name}: a list of objects is expected, not {rows!r}")
    return list(rows)


def _with_floats(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Strict JSON has no NaN and no infinity; they travel as words."""
    return row | {name: float(row[name]) for name in names if row[name] is not None}
