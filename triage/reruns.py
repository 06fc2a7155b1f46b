"""Running the stored script of a finding again: asked for, claimed, run, judged, swept.

How a job is held is in `triage.leases`. Of one finding at most one rerun runs at a time; a
constraint sees to that, and the others wait.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from campaigns.models import Environment
from engine.script_run import Ending, ScriptRun, run_script
from triage import leases
from triage.counting import weigh_again
from triage.events import raise_flag, write_event
from triage.leases import Claim, Hint, LostJobError, StoppingError, Watch
from triage.models import Bisection, Bucket, BucketEvent, FindingRecord, Rerun
from triage.regressions import ran_on_older

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "ATTEMPTS",
    "TASK",
    "ask_rerun",
    "cancel_rerun",
    "claim_rerun",
    "is_waited_for",
    "run_rerun",
    "sweep_reruns",
]

logger = logging.getLogger(__name__)
TASK = "flowmut.run_rerun"  # the task's name in `flowmut_web.tasks`
ATTEMPTS = (1, 3, 5, 10)
_DEADLINE = 180.0  # seconds for each attempt
_ADDRESS_SPACE = 16 * 2**30
_ENOUGH = 2  # attempts that could not run: the next would not either
_OUTPUT_KEPT = 6000
# People take these for bugs that are there: that the script passes is news.
_BELIEVED = {
    Bucket.Status.NEW,
    Bucket.Status.NEEDS_WORK,
    Bucket.Status.CONFIRMED,
    Bucket.Status.REPORTED,
}


# -------------------------------------------------------------------------------------- by people
@transaction.atomic
def ask_rerun(
    record: FindingRecord,
    *,
    who: User | None,
    environment: Environment | None = None,
    attempts: int = 3,
    bisection: Bisection | None = None,
) -> Rerun:
    """Queue a run of the script in `attempts` fresh processes; `environment` None for our own.

    `bisection`: the search that it is a step of.
    """
    rerun = Rerun.objects.create(
        finding=record,
        asked_by=who,
        environment=environment,
        attempts=attempts,
        bisection=bisection,
    )
    transaction.on_commit(partial(leases.send, TASK, rerun))
    return rerun


def cancel_rerun(rerun: Rerun, *, now: datetime | None = None) -> bool:
    """End it without a result, within a second where it runs; False where it had ended."""
    return leases.cancel(rerun, now=now)


# ------------------------------------------------------------------------------------ by a worker
def _claimable() -> QuerySet[Rerun]:
    sibling = Rerun.objects.filter(finding=OuterRef("finding"), state=Rerun.State.RUNNING)
    return Rerun.objects.filter(~Exists(sibling), state=Rerun.State.QUEUED)


def is_waited_for() -> bool:
    """Whether a person waits for a worker to run a script. One query."""
    return _claimable().exists()


def claim_rerun(
    rerun: int, *, owner: str, epoch: int | None = None, now: datetime | None = None
) -> Claim[Rerun] | None:
    """Take a queued rerun whose finding has none running; None where it is not to be had."""
    claimable = _claimable().select_related("finding__bucket", "environment")
    return leases.claim(claimable, rerun, owner=owner, epoch=epoch, now=now, results=[])


def run_rerun(
    rerun: int,
    *,
    owner: str,
    scratch: Path,
    epoch: int | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    on_end: Callable[[Rerun], None] = lambda rerun: None,
    deadline: float = _DEADLINE,
) -> bool:
    """Claim a rerun and run its attempts, each recorded as it ends; whether it was to be had.

    No transaction is open meanwhile. Where the worker must stop, it goes back to the queue.
    `on_end` is called in the transaction that records its end.
    """
    claim = claim_rerun(rerun, owner=owner, epoch=epoch)
    if claim is None:
        return False
    try:
        _attempt_all(claim, scratch, deadline, Watch(claim, is_stopping), on_end)
    except LostJobError:
        logger.info("rerun %s is no longer ours", rerun)
    except BaseException as error:
        claim.release()
        if not isinstance(error, StoppingError):
            raise
    return True


def _attempt_all(
    claim: Claim[Rerun],
    scratch: Path,
    deadline: float,
    watch: Watch,
    on_end: Callable[[Rerun], None],
) -> None:
    rerun = claim.job
    script = str(rerun.finding.data.get("script", ""))
    rerun.interpreter, rerun.versions = _where(rerun)
    claim.write(interpreter=rerun.interpreter, versions=rerun.versions)
    if not script:
        _end(claim, on_end, problem="the finding holds no script")
        return
    for _ in range(rerun.attempts):
        run = run_script(
            script,
            interpreter=rerun.interpreter,
            deadline=deadline,
            address_space=_ADDRESS_SPACE,
            scratch=scratch,
            watch=watch,
            offline=True,
        )
        rerun.results.append(_result(run))
        rerun.versions |= _printed_version(run.output, rerun.finding.framework)
        claim.write(results=rerun.results, versions=rerun.versions)
        lacking = [one for one in rerun.results if one["ending"] == Ending.NOT_RUN]
        if len(lacking) >= _ENOUGH:
            break
    _end(claim, on_end)


def _where(rerun: Rerun) -> tuple[str, dict[str, str]]:
    """The interpreter, and the versions that it said it has when it was last asked."""
    framework = rerun.finding.framework
    chosen = rerun.environment or Environment.objects.filter(name=framework).first()
    if chosen is None:
        return settings.WORKER_INTERPRETERS[framework], {}
    return chosen.interpreter, dict(chosen.versions)


def _result(run: ScriptRun) -> dict[str, object]:
    return asdict(run) | {"ending": run.ending.value, "output": run.output[-_OUTPUT_KEPT:]}


def _printed_version(output: str, framework: str) -> dict[str, str]:
    """The version that scripts print first: the truth, whatever was on record."""
    found = re.search(rf"^{framework} (\d\S*)$", output, re.MULTILINE)
    return {framework: found[1]} if found else {}


@transaction.atomic
def _end(
    claim: Claim[Rerun],
    on_end: Callable[[Rerun], None],
    *,
    problem: str = "",
    now: datetime | None = None,
) -> None:
    """What it says becomes a line of the bucket's history, and a flag where it is news."""
    now = now or timezone.now()
    rerun = claim.job
    has_run = rerun.reproduced + rerun.passed > 0
    if not has_run:
        problem = problem or str(rerun.results[-1]["reason"])
    rerun.state = Rerun.State.DONE if has_run else Rerun.State.FAILED
    rerun.problem, rerun.ended_at = problem, now
    claim.end(rerun.state, problem=problem, now=now)
    # As it is now: a merge may have moved the finding meanwhile.
    buckets = Bucket.objects.select_for_update(of=("self",))
    bucket = rerun.finding.bucket = buckets.get(findings=rerun.finding_id)
    where = ", ".join(f"{name} {version}" for name, version in rerun.versions.items())
    write_event(
        bucket,
        BucketEvent.Kind.RERUN,
        after=rerun.words,
        why=f"With {where or rerun.interpreter}.",
        who=rerun.asked_by,
        now=now,
    )
    weigh_again(rerun.finding)
    _raise_news(bucket, rerun, where, now)
    on_end(rerun)


def _raise_news(bucket: Bucket, rerun: Rerun, where: str, now: datetime) -> None:
    """A run that contradicts what the bucket says asks a person to look; the status stays.

    That a script passes on an older version contradicts nothing: the bug is a regression.
    """
    said = f"{rerun.words[:1].upper()}{rerun.words[1:]}{f', with {where}' if where else ''}."
    if rerun.reproduced and bucket.status == Bucket.Status.FIXED:
        raise_flag(bucket, flag=Bucket.Flag.SEEN_AGAIN, why=said, now=now)
    is_gone = rerun.passed == rerun.attempts and not ran_on_older(rerun)
    if is_gone and bucket.status in _BELIEVED:
        raise_flag(bucket, flag=Bucket.Flag.NOT_REPRODUCED, why=said, now=now)


# ---------------------------------------------------------------------------------------- by sweep
def sweep_reruns(
    *, is_gone: Callable[[str], bool] = lambda owner: False, now: datetime | None = None
) -> list[Hint]:
    """Hints for those that wait, and for those whose worker died."""
    return leases.sweep(_claimable(), is_gone=is_gone, now=now)
