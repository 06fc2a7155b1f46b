"""What judging says: divergences, each with the accused and the evidence, and one verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from engine.finding import Symptom

__all__ = ["Divergence", "Doubt", "Kind", "Ruling", "Verdict"]


class Ruling(StrEnum):
    """The outcome of judging one case."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ILLEGAL = "illegal"


class Kind(StrEnum):
    """How an answer differs from what it had to be."""

    DIED = "died"
    HANG = "hang"
    INTERNAL = "internal error"
    RAISES = "raises in one mode"
    DOCUMENTED = "raises though documented"
    IN_FORM = "raises in one form"
    STRUCTURE = "return structure"
    DTYPE = "dtype"
    SHAPE = "shape"
    NONFINITE = "NaN or Inf pattern"
    VALUES = "values"
    GRADIENT = "gradient values"
    GRADIENT_NONFINITE = "gradient NaN or Inf pattern"
    GRADIENT_RAISES = "gradient raises"
    INPUT_CHANGED = "input changed"
    WRITE_LOST = "in-place result lost"
    SECOND_CALL = "second call differs"
    MOVED = "global state moved"
    LAYOUT = "promised layout"

    @property
    def symptom(self) -> Symptom:
        """Which of the three symptoms of the method this kind belongs to."""
        if self in (
            Kind.DIED,
            Kind.HANG,
            Kind.INTERNAL,
            Kind.RAISES,
            Kind.DOCUMENTED,
            Kind.IN_FORM,
            Kind.GRADIENT_RAISES,
        ):
            return Symptom.CRASH
        if self in (Kind.INPUT_CHANGED, Kind.WRITE_LOST, Kind.SECOND_CALL, Kind.MOVED, Kind.LAYOUT):
            return Symptom.STATE
        return Symptom.NUMERICAL


@dataclass(frozen=True)
class Divergence:
    """One difference that counts.

    `value`: the output or input concerned ("" for a raise). `message`: normalised text of an error.
    `evidence`: sentences, most telling first. `errors`: greatest error of each mode against the
    float64 referee, in units of the tolerance. `worst`: index of the worst element. `call`: which
    of the plan's calls. `entered`: functions of the framework in which it was raised, as `Failure`
    has them.
    """

    kind: Kind
    framework: str
    modes: tuple[str, ...]
    value: str = ""
    node: str = ""
    message: str = ""
    evidence: tuple[str, ...] = ()
    errors: tuple[tuple[str, float], ...] = ()
    worst: tuple[int, ...] = ()
    call: int = 0
    entered: tuple[str, ...] = ()

    @property
    def symptom(self) -> Symptom:
        return self.kind.symptom

    @property
    def key(self) -> str:
        """The failure key: what must stay the same while a case is minimised."""
        return "|".join(
            (self.symptom, self.framework, ",".join(self.modes), self.kind, self.message)
        )


class Doubt(str):
    """A sentence about an answer that is wrong by one referee's word alone.

    `framework`: whose answer it is; a program that must answer the same may testify.
    """

    __slots__ = ("framework",)
    framework: str

    def __new__(cls, text: str, *, framework: str) -> Doubt:
        made = super().__new__(cls, text)
        made.framework = framework
        return made


@dataclass(frozen=True)
class Verdict:
    """The ruling over one case, with what every oracle had to say.

    `doubted`: frameworks with an answer that nobody could testify about. `limits`: names of the
    known limits that covered a divergence.
    """

    ruling: Ruling
    reason: str
    divergences: tuple[Divergence, ...] = ()
    notes: tuple[str, ...] = field(default=())
    doubted: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.ruling is Ruling.FAIL
