"""The comment for a tracker after a retest, drafted; a person reads, changes and sends it."""

from __future__ import annotations

from collections.abc import Iterator

from triage.models import Framework, Report, Tracker
from triage.standing import Outcome
from triage.summary import script_name
from triage.versions import Cell, Row

__all__ = ["follow_up"]


def follow_up(report: Report, row: Row) -> str:
    """Markdown: what was run where, what it says, and for MindSpore the regression block.

    What could not run is listed as that and never counted as a pass.
    """
    parts = [_verdict(row), "\n".join(_table(row))]
    if row.standing.changes:
        parts.append(row.standing.words)
    if report.tracker == Tracker.MINDSPORE:
        parts.append("\n".join(_regression_block(report, row)))
    return "\n\n".join(parts) + "\n"


def _verdict(row: Row) -> str:
    name = Framework(row.bucket.framework).label
    if row.regressed is not None:
        bad, good = row.regressed.failing, row.regressed.verified
        return (
            f"This is back in {name} {bad.version}: the script above {bad.words}. It had"
            f" {good.words} on {good.version}."
        )
    if row.verified is not None:
        good = row.verified.said
        return (
            f"The fix holds: on {name} {good.version} the script above {good.words}, each time in"
            " a fresh process. Thank you."
        )
    newest = next((one for one in reversed(row.cells) if _is_known(one)), None)
    if newest is None or newest.said is None:
        return f"Not run again yet on any version of {name}."
    if newest.said.outcome.has_bug:
        return f"This still happens on {name} {newest.column.version}: it {newest.said.words}."
    return (
        f"On {name} {newest.column.version} the script above {newest.said.words}; that is too"
        " little to call it fixed."
    )


def _is_known(cell: Cell) -> bool:
    return cell.said is not None and cell.said.outcome.is_known


def _table(row: Row) -> Iterator[str]:
    name = Framework(row.bucket.framework).label
    yield f"| {name} | result |"
    yield "|---|---|"
    for cell in row.cells:
        if cell.said is not None:
            words = " ".join(cell.said.words.split()).replace("|", "\\|")
            yield f"| {cell.column.version} | {words[:160]} |"


def _regression_block(report: Report, row: Row) -> Iterator[str]:
    """What MindSpore's process asks for when a fix is validated."""
    said = row.regressed.failing if row.regressed else row.verified.said if row.verified else None
    if said is None:
        known = [one.said for one in row.cells if _is_known(one)]
        said = known[-1] if known else None
    if said is None:
        return
    # 通过: passed; 不通过: did not pass.
    passes = said.outcome is Outcome.PASSES and row.verified is not None
    commit = said.rerun.versions.get("commit", "") if said.rerun else ""
    version = f"{said.version}, commit {commit}" if commit else said.version
    yield f"Regression Version: MindSpore {version} (CPU)"
    yield f"Regression Step: python {script_name(report.finding)}"
    yield f"Regression Result: {said.words}, each attempt in a fresh process"
    yield f"Conclusion: {'通过' if passes else '不通过'}"
