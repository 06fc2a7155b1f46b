"""A finding: one failure, reproduced and minimised, with all that a person needs to judge it.

Plain data, JSON-able through `to_json` and `from_json`: what the engine gives to its recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

__all__ = ["Finding", "ModeAnswer", "Reproduction", "Symptom"]


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

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Finding:
        """Read what `to_json` wrote; `KeyError` or `TypeError` name what is missing or unknown."""
        given = dict(data)
        given["symptom"] = Symptom(str(given["symptom"]))
        for name in ("accused_modes", "lineage", "changed"):
            given[name] = tuple(given[name])  # type: ignore[arg-type]
        given["answers"] = tuple(ModeAnswer(**one) for one in given["answers"])  # type: ignore[attr-defined]
        given["reproduction"] = Reproduction(**given["reproduction"])  # type: ignore[arg-type]
        return cls(**given)  # type: ignore[arg-type]
