"""Jobs that a person waits for: claimed by one worker, held by a lease, swept when it dies.

The database is the queue, as for shards: a message is a hint, a claim is one conditional update,
and every write of a worker is conditional on the epoch that it claimed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from campaigns.models import Job

__all__ = [
    "LEASE",
    "Claim",
    "Hint",
    "LostJobError",
    "StoppingError",
    "Watch",
    "cancel",
    "claim",
    "send",
    "sweep",
]

logger = logging.getLogger(__name__)
LEASE = timedelta(seconds=30)
_RENEW = timedelta(seconds=10)
_MOST_CLAIMS = 3
JobT = TypeVar("JobT", bound=Job)


class LostJobError(Exception):
    """It was cancelled, or somebody else holds it: nothing was written."""


class StoppingError(Exception):
    """The worker is asked to stop."""


@dataclass(frozen=True)
class Hint:
    """What a message says: this job can be claimed, unless its epoch has moved on."""

    job: int
    epoch: int


@dataclass(frozen=True)
class Claim(Generic[JobT]):
    """A job held by us, as it was when we claimed it."""

    job: JobT
    epoch: int

    @property
    def held(self) -> QuerySet[JobT]:
        """Its row as long as it is ours, else nothing."""
        rows = type(self.job)._default_manager
        return rows.filter(pk=self.job.pk, epoch=self.epoch, state=Job.State.RUNNING)

    def write(self, **changes: object) -> None:
        """`LostJobError` where it is ours no longer."""
        if self.held.update(**changes) != 1:
            raise LostJobError

    def release(self) -> None:
        """Back to the queue."""
        self.held.update(state=Job.State.QUEUED, owner="", lease_until=None)

    def end(self, state: str, *, problem: str, now: datetime, **changes: object) -> None:
        """The last write."""
        changes |= {"state": state, "problem": problem, "ended_at": now}
        self.write(**changes, owner="", lease_until=None)


class Watch:
    """Called about every second while a job runs: keeps the lease, notices that it must end."""

    def __init__(self, claim: Claim[Any], is_stopping: Callable[[], bool]) -> None:
        self.claim = claim
        self.is_stopping = is_stopping
        self.renewed = timezone.now()

    def __call__(self) -> None:
        if self.is_stopping():
            raise StoppingError
        now = timezone.now()
        if now - self.renewed >= _RENEW:
            self.claim.write(lease_until=now + LEASE)
            self.renewed = now
        elif not self.claim.held.exists():
            raise LostJobError


def claim(
    claimable: QuerySet[JobT],
    pk: int,
    *,
    owner: str,
    epoch: int | None = None,
    now: datetime | None = None,
    **changes: object,
) -> Claim[JobT] | None:
    """Take a job of the queue; None where it is not to be had. `changes` are made with it."""
    now = now or timezone.now()
    found = claimable.filter(pk=pk).first()
    if found is None or epoch not in (None, found.epoch):
        return None
    changes |= {"state": Job.State.RUNNING, "owner": owner, "lease_until": now + LEASE}
    try:
        with transaction.atomic():
            taken = claimable.filter(pk=pk, epoch=found.epoch)
            if taken.update(**changes, epoch=F("epoch") + 1, started_at=now) != 1:
                return None
    except IntegrityError:  # one that excludes it was claimed at the same moment
        return None
    found.refresh_from_db(fields=[*changes, "epoch", "started_at"])
    return Claim(found, found.epoch)


def cancel(job: Job, *, now: datetime | None = None) -> bool:
    """End it without a result, within a second where it runs; False where it had ended."""
    is_open = type(job)._default_manager.filter(
        pk=job.pk, state__in=[Job.State.QUEUED, Job.State.RUNNING]
    )
    return bool(
        is_open.update(
            state=Job.State.CANCELLED, owner="", lease_until=None, ended_at=now or timezone.now()
        )
    )


def send(task: str, job: Job) -> None:
    """Tell a worker at once; where the broker does not take it, the next sweep does."""
    try:
        current_app.send_task(task, (job.pk, job.epoch), retry=False)
    except (OperationalError, OSError):
        logger.warning("The broker did not take %s.", task, exc_info=True)


def sweep(
    claimable: QuerySet[JobT], *, is_gone: Callable[[str], bool], now: datetime | None = None
) -> list[Hint]:
    """Queue again what dead workers held, give up what no worker survives; hints for the rest.

    A worker is dead when its lease ran out, or when `is_gone` knows that it is.
    """
    now = now or timezone.now()
    held = claimable.model._default_manager.filter(state=Job.State.RUNNING)
    for job in held.only("epoch", "owner", "lease_until"):
        assert job.lease_until is not None, "a constraint says so"
        if job.lease_until > now and not is_gone(job.owner):
            continue
        orphan = held.filter(pk=job.pk, epoch=job.epoch, lease_until=job.lease_until)
        if job.epoch < _MOST_CLAIMS:
            orphan.update(state=Job.State.QUEUED, owner="", lease_until=None)
        else:
            orphan.update(
                state=Job.State.FAILED,
                owner="",
                lease_until=None,
                ended_at=now,
                problem=f"the worker that ran it was lost {_MOST_CLAIMS} times",
            )
    waiting = claimable.order_by("asked_at", "pk").values_list("pk", "epoch")
    return [Hint(pk, epoch) for pk, epoch in waiting]
