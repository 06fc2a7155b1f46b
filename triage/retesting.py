"""Writers of retests: a bucket on other versions, bisection over them, and what reports learn.

Everything is runs of stored scripts (`triage.reruns`). Machines raise flags and propose; what a
person decided stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone
from packaging.version import Version

from campaigns.models import Environment
from triage.bucket_selectors import best_finding
from triage.models import Bisection, Bucket, FindingRecord, Report, Rerun
from triage.proposals import propose_status, withdraw_proposal
from triage.reruns import ask_rerun, cancel_rerun
from triage.standing import next_version, version_of
from triage.versions import Row, bucket_row, finding_said, outcomes

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "MOST_ASKED",
    "Asked",
    "NothingToRunError",
    "ask_bisection",
    "cancel_bisection",
    "go_on",
    "learn",
    "retest",
    "running_bisection",
]

MOST_ASKED = 200
"""Runs that one request may queue: more is a campaign's worth of machine time by one click."""


class NothingToRunError(Exception):
    """There is no script, or no environment, to run it on; the message is for a person."""


@dataclass(frozen=True)
class Asked:
    """`reruns`: queued now; `waiting`: how many were queued before and not asked again."""

    reruns: tuple[Rerun, ...]
    waiting: int


@transaction.atomic
def retest(
    buckets: Iterable[Bucket],
    environments: Iterable[Environment],
    *,
    who: User | None,
    attempts: int = 3,
) -> Asked:
    """Queue the script of each bucket's best finding on each environment of its framework.

    What is queued already is not asked twice. `NothingToRunError` where nothing fits, or where it
    would be more than `MOST_ASKED`.
    """
    asked, waiting = [], 0
    given = list(environments)
    for bucket in buckets:
        record = best_finding(bucket)
        fitting = [one for one in given if one.framework == bucket.framework]
        if record is None or not fitting:
            continue
        queued = set(
            record.reruns.filter(state=Rerun.State.QUEUED).values_list("environment", flat=True)
        )
        waiting += sum(one.pk in queued for one in fitting)
        asked += [(record, one) for one in fitting if one.pk not in queued]
    if not asked and not waiting:
        raise NothingToRunError("No script of these buckets fits an environment that was chosen.")
    if len(asked) > MOST_ASKED:
        raise NothingToRunError(
            f"That is {len(asked)} runs; at most {MOST_ASKED} are queued at once."
        )
    return Asked(
        tuple(ask_rerun(one, who=who, environment=at, attempts=attempts) for one, at in asked),
        waiting,
    )


# --------------------------------------------------------------------------------------- bisection
def ask_bisection(bucket: Bucket, *, who: User, attempts: int = 3) -> Bisection:
    """Search the installed versions for where the bug came and went, by the best finding's script.

    `NothingToRunError` where there is no script, no version left that could tell more, or a search
    that runs.
    """
    record = best_finding(bucket)
    if record is None:
        raise NothingToRunError("No finding is left in this bucket.")
    if _next(record) is None:
        raise NothingToRunError("No installed version is left that could tell more.")
    try:
        with transaction.atomic():
            made = Bisection.objects.create(finding=record, asked_by=who, attempts=attempts)
            _step(made)
    except IntegrityError as error:
        raise NothingToRunError("A search runs already.") from error
    return made


@transaction.atomic
def cancel_bisection(bisection: Bisection, *, now: datetime | None = None) -> bool:
    """End the search and what it queued; False where it had ended."""
    running = Bisection.objects.filter(pk=bisection.pk, state=Bisection.State.RUNNING)
    ended = running.update(state=Bisection.State.CANCELLED, ended_at=now or timezone.now())
    for rerun in bisection.reruns.all():
        cancel_rerun(rerun, now=now)
    return bool(ended)


def running_bisection(bucket: Bucket) -> Bisection | None:
    running = Bisection.objects.filter(finding__bucket=bucket, state=Bisection.State.RUNNING)
    return running.first()


def go_on() -> int:
    """Take every running search a step further, where its last run has ended; how many moved."""
    running = Bisection.objects.filter(state=Bisection.State.RUNNING)
    return sum(_locked_step(pk) for pk in running.values_list("pk", flat=True))


@transaction.atomic
def _locked_step(pk: int) -> bool:
    rows = Bisection.objects.select_for_update().filter(pk=pk, state=Bisection.State.RUNNING)
    found = rows.first()
    return found is not None and _step(found)


def _step(bisection: Bisection) -> bool:
    """Ask for the next run, or end; False where a run is still open."""
    runs = list(bisection.reruns.all())
    if any(one.is_open for one in runs):
        return False
    if any(one.state == Rerun.State.CANCELLED for one in runs):
        return cancel_bisection(bisection)
    chosen = _next(bisection.finding, skip=[one.environment_id for one in runs])
    if chosen is None:
        bisection.state, bisection.ended_at = Bisection.State.DONE, timezone.now()
        bisection.save(update_fields=["state", "ended_at"])
    else:
        ask_rerun(
            bisection.finding,
            who=bisection.asked_by,
            environment=chosen,
            attempts=bisection.attempts,
            bisection=bisection,
        )
    return True


def _next(record: FindingRecord, *, skip: Sequence[int | None] = ()) -> Environment | None:
    """The environment to ask next. `skip`: those that this search has asked in vain, or not."""
    said = outcomes(finding_said(record))
    installed: dict[Version, Environment] = {}
    for one in Environment.objects.filter(framework=record.framework, healthy=True):
        version = version_of(one.version)
        if version is not None and (version in said or one.pk not in skip):
            installed.setdefault(version, one)
    chosen = next_version(list(installed), said)
    return installed[chosen] if chosen is not None else None


# ----------------------------------------------------------------------------------- what is learnt
def learn(rerun: Rerun) -> None:
    """After a run: the search goes on, and reports whose status it contradicts get a proposal.

    Call it in the transaction that records the run's end.
    """
    if rerun.bisection_id is not None:
        _locked_step(rerun.bisection_id)
    row = bucket_row(Bucket.objects.get(findings=rerun.finding_id))
    for report in row.bucket.reports.exclude(upstream_url=""):
        _tell(report, row)


def _tell(report: Report, row: Row) -> None:
    framework, by = row.bucket.framework, Report.Proposer.RETEST
    if row.regressed is not None and report.status in _MAY_REGRESS:
        bad, good = row.regressed.failing, row.regressed.verified
        why = f"{framework} {bad.version} {bad.words}, after {good.version} {good.words}."
        propose_status(report, to=Report.Status.REGRESSED, by=by, why=why)
    elif row.verified is not None and report.status == Report.Status.FIX_CLAIMED:
        good = row.verified.said
        why = (
            f"{framework} {good.version} {good.words} in fresh processes; the newest that fails is"
            f" {row.verified.newest_failing}."
        )
        propose_status(report, to=Report.Status.FIXED, by=by, why=why)
    elif row.verified is None and row.regressed is None:
        withdraw_proposal(report, by=by)


_MAY_REGRESS = (Report.Status.FIXED, Report.Status.FIX_CLAIMED)
