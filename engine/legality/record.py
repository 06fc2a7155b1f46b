"""What is kept of every candidate of the experiment: one line of JSON each, as it comes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from engine.errors import BadInput

__all__ = ["Broken", "Ran", "Row", "Rows"]


@dataclass(frozen=True)
class Broken:
    """A constraint that a candidate breaks. `kind`: one of `engine.constraints.KINDS`, or
    "structure"."""

    kind: str
    node: str
    message: str


@dataclass(frozen=True)
class Ran:
    """What one mode did. `status`: an `executors.outcome.Status`; `said`: why, where it is not OK;
    `node`: the node that raised, "" where the framework does not say; `phase`: when it raised."""

    mode: str
    status: str
    said: str = ""
    node: str = ""
    phase: str = ""


@dataclass(frozen=True)
class Row:
    """One candidate: what the filter says of it, and what the frameworks did.

    `digest`: of the window that ran. `redrawn`: draws before this one that gave no mutant, by
    reason. `findings`: ids of recorded findings that explain what was raised. `legal`: None where
    no framework supports the mutant.
    """

    number: int
    seed: str
    mutation: str
    effect: str
    site: str
    nodes: int
    digest: str
    broken: tuple[Broken, ...]
    ran: tuple[Ran, ...]
    redrawn: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(one.kind for one in self.broken)

    @property
    def is_raised(self) -> bool:
        return any(one.status not in ("ok", "unsupported") for one in self.ran)

    @property
    def legal(self) -> bool | None:
        """Runs wherever it is supported, or raises what a recorded finding is about."""
        if all(one.status == "unsupported" for one in self.ran):
            return None
        return not self.is_raised or bool(self.findings)

    def rejected(self, off: frozenset[str]) -> bool:
        """Whether the filter refuses it with the kinds in `off` switched off."""
        return bool(self.kinds - off)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Row:
        known: dict[str, object] = dict(data)
        known["broken"] = tuple(Broken(**one) for one in _dicts(data["broken"]))
        known["ran"] = tuple(Ran(**one) for one in _dicts(data["ran"]))
        known["findings"] = tuple(str(one) for one in _list(data["findings"]))
        return cls(**known)  # type: ignore[arg-type]


def _list(found: object) -> Sequence[object]:
    assert isinstance(found, list), found
    return found


def _dicts(found: object) -> list[dict[str, str]]:
    return [dict(one) for one in _list(found) if isinstance(one, dict)]


@dataclass
class Rows:
    """The file of rows; a line that a killed process left unfinished is dropped on opening."""

    path: Path
    settings: Mapping[str, object]
    known: dict[int, Row] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, settings: Mapping[str, object]) -> Rows:
        """`BadInput` where the file is of an experiment with other settings."""
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = cls(path, settings)
        if not path.exists():
            path.write_text(json.dumps({"settings": settings}) + "\n")
            return rows
        whole, _, _ = path.read_text().rpartition("\n")
        lines = whole.splitlines()
        seen = json.loads(lines[0])["settings"] if lines else settings
        if seen != settings:
            raise BadInput(f"experiment {path}", seen=seen, expected=f"{settings} (as asked for)")
        rows.known = {row.number: row for row in map(_row, lines[1:])}
        path.write_text(whole + "\n")
        return rows

    def add(self, row: Row) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.known[row.number] = row


def _row(line: str) -> Row:
    return Row.from_json(json.loads(line))
