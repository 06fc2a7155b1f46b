"""Findings that the engine's command line left in a folder become rows like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.errors import BadInput
from engine.finding import Finding
from triage.models import FindingRecord
from triage.recording import record_finding

__all__ = ["adopt_findings"]

_LENGTH = FindingRecord._meta.get_field("adopted").max_length


def adopt_findings(folder: Path) -> tuple[int, int]:
    """Record the findings of a run folder or a support folder: how many are new, and how many were
    adopted before. `BadInput` for a folder that is neither, or a file that is no finding."""
    new = known = 0
    for path, finding in _findings(folder):
        name = f"{folder.resolve().name}: {path.stem}-{finding.signature[:12]}"
        _, is_new = record_finding(finding, adopted=name[:_LENGTH])
        new += is_new
        known += not is_new
    return new, known


def _findings(folder: Path) -> Iterator[tuple[Path, Finding]]:
    place = folder / "findings"
    if not place.is_dir():
        expected = "a folder that `flowmut run` or `flowmut support` wrote"
        raise BadInput(f"folder {folder}", seen="no findings in it", expected=expected)
    for path in sorted(place.glob("*.json")):
        try:
            yield path, Finding.from_json(json.loads(path.read_text()))
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"finding {path}", seen=error, expected="a finding") from error
