"""Whether a finding is a regression: its script passes on an older version of the framework."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from triage.models import FindingRecord, Rerun
from triage.standing import version_of

__all__ = ["passes_on", "ran_on_older"]


def passes_on(record: FindingRecord) -> str:
    """The newest older version on which every attempt of a rerun passed, as "torch 2.12.0".

    Empty where no rerun says so, or another one failed there. What could not run says nothing. One
    query.
    """
    framework = record.framework
    found_with = version_of(_environment(record).get(framework, ""))
    if found_with is None:
        return ""
    passed, failed = set[Version](), set[Version]()
    for rerun in record.reruns.filter(state=Rerun.State.DONE):
        ran_with = version_of(rerun.versions.get(framework, ""))
        if ran_with is not None and ran_with < found_with:
            failed |= {ran_with} if rerun.reproduced else set()
            passed |= {ran_with} if rerun.passed == rerun.attempts else set()
    older = max(passed - failed, default=None)
    return f"{framework} {older}" if older else ""


def ran_on_older(rerun: Rerun) -> bool:
    """Whether it ran on a version from before the one that the finding was found with."""
    framework = rerun.finding.framework
    here = version_of(rerun.versions.get(framework, ""))
    found_with = version_of(_environment(rerun.finding).get(framework, ""))
    return here is not None and found_with is not None and here < found_with


def _environment(record: FindingRecord) -> Mapping[str, str]:
    """Versions as the finding states them; none where another version of the engine wrote it."""
    found: Mapping[str, str] = record.data.get("environment", {})
    return found
