"""Rules about what ran: the script, now, on the current release; its versions and figures."""

from __future__ import annotations

import math
from datetime import timedelta

from packaging.version import InvalidVersion, Version

from campaigns.models import Environment
from triage.linting.model import Check, Subject, Verdict, broken, holds, unasked
from triage.models import Rerun

__all__ = ["FRESH", "has_versions", "is_further_than_eager", "is_on_current_release", "runs_now"]

FRESH = timedelta(days=1)
"""How old the last run of the script may be."""


def runs_now(subject: Subject) -> Check:
    """The stored script is what the report shows, and its last run reproduced n of n times."""
    if not subject.script.problem and not subject.script.same_code(subject.stored):
        seen = "the script in the report is not the one of the finding, which is what workers run"
        return broken(seen, "the finding's script, word for word but for comments")
    last = _last_run(subject)
    wanted = "run again now: it fails as it says, every time"
    if last is None:
        return Check(Verdict.UNKNOWN, "it was not run again since it was found", wanted)
    ended = last.ended_at or last.asked_at
    where = _where(last, subject)
    note = f"{ended:%Y-%m-%d %H:%M} UTC"
    if last.reproduced < len(last.results) or not last.results:
        return broken(f"{last.words}{where}", wanted, note)
    if subject.now - ended > FRESH:
        return Check(Verdict.UNKNOWN, f"last {last.words}{where}, over a day ago", wanted, note)
    return holds(f"{last.words}{where}", note)


def _last_run(subject: Subject) -> Rerun | None:
    """The last one on the newest version that it ran with; what could not run says nothing."""
    ended = subject.report.finding.reruns.filter(state=Rerun.State.DONE).order_by("-ended_at")
    newest = _newest(subject.framework)
    runs = list(ended[:50])
    on_newest = [one for one in runs if _ran_with(one, subject.framework) == newest]
    return next(iter(on_newest if newest else runs), None) or next(iter(runs), None)


def _where(rerun: Rerun, subject: Subject) -> str:
    version = rerun.versions.get(subject.framework)
    return f" with {subject.framework} {version}" if version else ""


def _ran_with(rerun: Rerun, framework: str) -> Version | None:
    return _version(rerun.versions.get(framework, ""))


def _newest(framework: str) -> Version | None:
    """The newest version among the environments that start."""
    rows = Environment.objects.filter(healthy=True)
    found = [_version(row.versions.get(framework, "")) for row in rows]
    return max((one for one in found if one is not None), default=None)


def _version(text: str) -> Version | None:
    try:
        return Version(text.partition("+")[0])
    except InvalidVersion:
        return None


def is_on_current_release(subject: Subject) -> Check:
    """It was last run with the newest version that any environment here has."""
    newest = _newest(subject.framework)
    if newest is None:
        wanted = "an environment that starts, to compare with"
        return Check(
            Verdict.UNKNOWN, f"no environment says its version of {subject.framework}", wanted
        )
    last = _last_run(subject)
    said = last.versions.get(subject.framework, "") if last else ""
    said = said or subject.finding.environment.get(subject.framework, "")
    ran = _version(said)
    wanted = f"{subject.framework} {newest}, the newest that an environment here has"
    if ran is None:
        return broken("the version that it ran with is not on record", wanted)
    if ran < newest:
        return broken(f"it last ran with {subject.framework} {said}", wanted)
    return holds(f"{subject.framework} {said} is the newest that an environment here has")


def has_versions(subject: Subject) -> Check:
    """What the form asks of the machine was captured, and is in the report."""
    version = subject.finding.environment.get(subject.framework, "")
    texts = "\n".join(subject.texts.values())
    wanted = "versions captured with the interpreter that ran it, the framework's among them"
    if not subject.finding.environment.get("collect_env"):
        return broken(
            "single versions only: the finding is of an earlier version of this tool", wanted
        )
    rows = [
        line for line in subject.finding.environment["collect_env"].splitlines() if version in line
    ]
    if not version or not any(line.strip() in texts for line in rows):
        seen = f"what was captured, with {subject.framework} {version}, is not in the text"
        return broken(seen, wanted)
    return holds(f"captured, {subject.framework} {version}")


def is_further_than_eager(subject: Subject) -> Check:
    """A compiled mode is accused only where it is further from float64 than eager mode."""
    compiled = [
        mode for mode in subject.finding.accused_modes if mode.endswith(("aot", "inductor"))
    ]
    rows = [one for one in subject.finding.weighed if one.ratio > 1 or math.isnan(one.ratio)]
    worst = max((one.error for one in rows if one.mode in compiled), default=None)
    if not compiled or "torch-eager" in subject.finding.accused_modes or worst is None:
        return unasked("no compiled mode is accused of wrong numbers")
    eager = [one.error for one in subject.finding.weighed if one.mode == "torch-eager"]
    if not eager:
        return Check(Verdict.UNKNOWN, "eager mode was not weighed", "eager mode's error beside it")
    seen = f"the compiled error against float64 is {worst:.3g}, eager mode's {max(eager):.3g}"
    if worst > max(eager):
        return holds(seen)
    return broken(seen, "the compiled side is the one that is further from float64")
