"""What was seen of each cell, one line each; a line once written is never written again.

A record holds for the framework version and the program that it names: where either is another by
now, the cell is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from engine.errors import BadInput
from engine.finding import Finding

__all__ = ["Record", "State", "Store"]


class State(StrEnum):
    """What a mode makes of a cell."""

    WORKS = "works"
    LIMIT = "documented limit"
    RAISES = "raises"
    WRONG = "wrong"
    DIFFERS = "differs between modes"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Record:
    """One cell in one mode.

    `backward`: whether its gradient is right too, None where it was not asked for. `text`: why it
    does not work. `keys`: failure keys with the call that is blamed. `finding`: name of the
    finding's file, "" where there is none.
    """

    framework: str
    op: str
    form: str
    dtype: str
    mode: str
    state: State
    digest: str
    version: str
    backward: bool | None = None
    text: str = ""
    keys: tuple[str, ...] = ()
    finding: str = ""

    @property
    def name(self) -> tuple[str, str, str, str]:
        return self.framework, self.op, self.form, self.dtype


@dataclass(frozen=True)
class Store:
    """A folder: `cells-*.jsonl`, one file for each process that writes, and `findings/`."""

    path: Path
    writer: str = "all"

    def __post_init__(self) -> None:
        try:
            (self.path / "findings").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"support folder {self.path}", seen=error, expected="a writable folder"
            ) from error

    def records(self) -> dict[tuple[str, str, str, str, str], Record]:
        """The newest record of every cell and mode."""
        return {(*one.name, one.mode): one for one in self._lines()}

    def add(self, records: Iterable[Record]) -> None:
        """Append; on the disk when this returns."""
        lines = [json.dumps(asdict(one)) for one in records]
        with self._file.open("a") as stream:
            stream.write("".join(f"{line}\n" for line in lines))
            stream.flush()
            os.fsync(stream.fileno())

    def keep(self, finding: Finding, name: str) -> str:
        """Write a finding and its script; its name in the folder."""
        stem = self.path / "findings" / name
        stem.with_suffix(".py").write_text(finding.script)
        temporary = stem.with_suffix(".tmp")
        temporary.write_text(json.dumps(finding.to_json(), indent=1))
        temporary.replace(stem.with_suffix(".json"))
        return name

    def findings(self) -> Iterator[tuple[Path, Finding]]:
        """Findings on record, by name."""
        for path in sorted((self.path / "findings").glob("*.json")):
            yield path, Finding.from_json(json.loads(path.read_text()))

    @cached_property
    def _file(self) -> Path:
        """Our own file; a line that a killed process left half written is cut off."""
        path = self.path / f"cells-{self.writer}.jsonl"
        if path.exists():
            whole = path.read_bytes()
            end = whole.rfind(b"\n") + 1
            if end < len(whole):
                os.truncate(path, end)
        return path

    def _lines(self) -> Iterator[Record]:
        for path in sorted(self.path.glob("cells-*.jsonl"), key=lambda one: one.stat().st_mtime):
            for line in path.read_text().splitlines():
                try:
                    data = json.loads(line)
                except json.JSONDecodeError:
                    break  # the line that was being written when a process died
                given = {**data, "state": State(data["state"]), "keys": tuple(data["keys"])}
                yield Record(**given)
