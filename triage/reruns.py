"""Running the stored script of a finding again: asked for, claimed, run, judged, swept.

The database is the queue, as for shards: a message is a hint, a claim is one conditional update,
and every write of a worker is conditional on the epoch that it claimed. Of one finding at most one
rerun runs at a time; a constraint sees to that, and the others wait.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from celery import current_app
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from campaigns.models import Environment
from engine.script_run import Ending, ScriptRun, run_script
from triage.counting import weigh_again
from triage.events import raise_flag, write_event
from triage.models import Bucket, BucketEvent, FindingRecord, Rerun
from triage.regressions import ran_on_older

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "ATTEMPTS",
    "LEASE",
    "TASK",
    "Claim",
    "Hint",
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
LEASE = timedelta(seconds=30)
_RENEW = timedelta(seconds=10)
_DEADLINE = 180.0  # seconds for each attempt
_ADDRESS_SPACE = 16 * 2**30
_MOST_CLAIMS = 3
_ENOUGH = 2  # attempts that could not run: the next would not either
_OUTPUT_KEPT = 6000
# People take these for bugs that are there: that the script passes is news.
_BELIEVED = {
    Bucket.Status.NEW,
    Bucket.Status.NEEDS_WORK,
    Bucket.Status.CONFIRMED,
    Bucket.Status.REPORTED,
}


class LostRerunError(Exception):
    """It was cancelled, or somebody else holds it: nothing was written."""


class StoppingError(Exception):
    """The worker is asked to stop."""


@dataclass(frozen=True)
class Hint:
    """What a message says: this rerun can be claimed, unless its epoch has moved on."""

    rerun: int
    epoch: int


@dataclass(frozen=True)
class Claim:
    """A rerun held by us, as it was when we claimed it."""

    rerun: Rerun
    epoch: int

    @property
    def held(self) -> QuerySet[Rerun]:
        """Its row as long as it is ours, else nothing."""
        return Rerun.objects.filter(pk=self.rerun.pk, epoch=self.epoch, state=Rerun.State.RUNNING)


# -------------------------------------------------------------------------------------- by people
@transaction.atomic
def ask_rerun(
    record: FindingRecord,
    *,
    who: User,
    environment: Environment | None = None,
    attempts: int = 3,
) -> Rerun:
    """Queue a run of the script in `attempts` fresh processes; `environment` None for our own."""
    rerun = Rerun.objects.create(
        finding=record, asked_by=who, environment=environment, attempts=attempts
    )
    transaction.on_commit(partial(_send, Hint(rerun.pk, rerun.epoch)))
    return rerun


def cancel_rerun(rerun: Rerun, *, now: datetime | None = None) -> bool:
    """End it without a result, within a second where it runs; False where it had ended."""
    is_open = Rerun.objects.filter(pk=rerun.pk, state__in=[Rerun.State.QUEUED, Rerun.State.RUNNING])
    return bool(
        is_open.update(
            state=Rerun.State.CANCELLED, owner="", lease_until=None, ended_at=now or timezone.now()
        )
    )


def _send(hint: Hint) -> None:
    """Tell a worker at once; where the broker does not take it, the next sweep does."""
    try:
        current_app.send_task(TASK, (hint.rerun, hint.epoch), retry=False)
    except (OperationalError, OSError):
        logger.warning("The broker did not take a rerun.", exc_info=True)


# ------------------------------------------------------------------------------------ by a worker
def _claimable() -> QuerySet[Rerun]:
    sibling = Rerun.objects.filter(finding=OuterRef("finding"), state=Rerun.State.RUNNING)
    return Rerun.objects.filter(~Exists(sibling), state=Rerun.State.QUEUED)


def is_waited_for() -> bool:
    """Whether a person waits for a worker to run a script. One query."""
    return _claimable().exists()


def claim_rerun(
    rerun: int, *, owner: str, epoch: int | None = None, now: datetime | None = None
) -> Claim | None:
    """Take a queued rerun whose finding has none running; None where it is not to be had."""
    now = now or timezone.now()
    found = Rerun.objects.select_related("finding__bucket", "environment").filter(pk=rerun).first()
    if found is None or epoch not in (None, found.epoch):
        return None
    try:
        with transaction.atomic():
            taken = _claimable().filter(pk=rerun, epoch=found.epoch)
            changes = {"state": Rerun.State.RUNNING, "owner": owner, "lease_until": now + LEASE}
            if taken.update(**changes, epoch=F("epoch") + 1, started_at=now, results=[]) != 1:
                return None
    except IntegrityError:  # another rerun of the finding was claimed at the same moment
        return None
    found.refresh_from_db(
        fields=["state", "owner", "lease_until", "epoch", "started_at", "results"]
    )
    return Claim(found, found.epoch)


def run_rerun(
    rerun: int,
    *,
    owner: str,
    scratch: Path,
    epoch: int | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    deadline: float = _DEADLINE,
) -> bool:
    """Claim a rerun and run its attempts, each recorded as it ends; whether it was to be had.

    No transaction is open meanwhile. Where the worker must stop, it goes back to the queue.
    """
    claim = claim_rerun(rerun, owner=owner, epoch=epoch)
    if claim is None:
        return False
    try:
        _attempt_all(claim, scratch, deadline, _Watch(claim, is_stopping))
    except LostRerunError:
        logger.info("rerun %s is no longer ours", rerun)
    except BaseException as error:
        _release(claim)
        if not isinstance(error, StoppingError):
            raise
    return True


def _attempt_all(claim: Claim, scratch: Path, deadline: float, watch: _Watch) -> None:
    rerun = claim.rerun
    script = str(rerun.finding.data.get("script", ""))
    rerun.interpreter, rerun.versions = _where(rerun)
    _write(claim, interpreter=rerun.interpreter, versions=rerun.versions)
    if not script:
        _end(claim, problem="the finding holds no script")
        return
    for _ in range(rerun.attempts):
        run = run_script(
            script,
            interpreter=rerun.interpreter,
            deadline=deadline,
            address_space=_ADDRESS_SPACE,
            scratch=scratch,
            watch=watch,
        )
        rerun.results.append(_result(run))
        rerun.versions |= _printed_version(run.output, rerun.finding.framework)
        _write(claim, results=rerun.results, versions=rerun.versions)
        lacking = [one for one in rerun.results if one["ending"] == Ending.NOT_RUN]
        if len(lacking) >= _ENOUGH:
            break
    _end(claim)


class _Watch:
    """Called about every second while a script runs: keeps the lease, notices that it must end."""

    def __init__(self, claim: Claim, is_stopping: Callable[[], bool]) -> None:
        self.claim = claim
        self.is_stopping = is_stopping
        self.renewed = timezone.now()

    def __call__(self) -> None:
        if self.is_stopping():
            raise StoppingError
        now = timezone.now()
        if now - self.renewed >= _RENEW:
            _write(self.claim, lease_until=now + LEASE)
            self.renewed = now
        elif not self.claim.held.exists():
            raise LostRerunError


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


def _write(claim: Claim, **changes: object) -> None:
    if claim.held.update(**changes) != 1:
        raise LostRerunError


def _release(claim: Claim) -> None:
    claim.held.update(state=Rerun.State.QUEUED, owner="", lease_until=None)


@transaction.atomic
def _end(claim: Claim, *, problem: str = "", now: datetime | None = None) -> None:
    """What it says becomes a line of the bucket's history, and a flag where it is news."""
    now = now or timezone.now()
    rerun = claim.rerun
    has_run = rerun.reproduced + rerun.passed > 0
    if not has_run:
        problem = problem or str(rerun.results[-1]["reason"])
    rerun.state = Rerun.State.DONE if has_run else Rerun.State.FAILED
    rerun.problem, rerun.ended_at = problem, now
    _write(
        claim,
        state=rerun.state,
        problem=problem,
        ended_at=now,
        owner="",
        lease_until=None,
    )
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
    """Queue again what dead workers held, give up what no worker survives; hints for the rest.

    A worker is dead when its lease ran out, or when `is_gone` knows that it is.
    """
    now = now or timezone.now()
    held = Rerun.objects.filter(state=Rerun.State.RUNNING)
    for rerun in held.only("epoch", "owner", "lease_until"):
        assert rerun.lease_until is not None, "a constraint says so"
        if rerun.lease_until > now and not is_gone(rerun.owner):
            continue
        orphan = held.filter(pk=rerun.pk, epoch=rerun.epoch, lease_until=rerun.lease_until)
        if rerun.epoch < _MOST_CLAIMS:
            orphan.update(state=Rerun.State.QUEUED, owner="", lease_until=None)
        else:
            orphan.update(
                state=Rerun.State.FAILED,
                owner="",
                lease_until=None,
                ended_at=now,
                problem=f"the worker that ran it was lost {_MOST_CLAIMS} times",
            )
    waiting = _claimable().order_by("asked_at", "pk").values_list("pk", "epoch")
    return [Hint(rerun, epoch) for rerun, epoch in waiting]
