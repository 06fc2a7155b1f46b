"""Reproducers that people submit: queued, run isolated by a worker, made into findings.

How a job is held is in `triage.leases`; what is run and how it is judged, in `engine.foreign`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from campaigns.models import Environment
from engine.errors import BadInput
from engine.executors.environment import Environment as Interpreter
from engine.executors.environment import probe
from engine.finding import Symptom
from engine.foreign.examination import Examined, Workshop, examine
from engine.foreign.reading import read
from triage import leases
from triage.leases import Claim, Hint, LostJobError, StoppingError, Watch
from triage.models import FindingRecord, Submission
from triage.recording import record_finding
from triage.retesting import NothingToRunError, retest

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "TASK",
    "cancel_submission",
    "is_submission_waiting",
    "run_submission",
    "submit",
    "sweep_submissions",
]

logger = logging.getLogger(__name__)
TASK = "flowmut.run_submission"  # the task's name in `flowmut_web.tasks`
_DEADLINE = 180.0  # seconds for each process
_ADDRESS_SPACE = 16 * 2**30


# -------------------------------------------------------------------------------------- by people
@transaction.atomic
def submit(
    text: str,
    *,
    name: str,
    who: User | None,
    framework: str = "",
    symptom: str = "",
    environment: Environment | None = None,
    attempts: int = 3,
    everywhere: bool = False,
) -> Submission:
    """Queue a reproducer. `environment`: where it is judged, None for the framework's own.

    `everywhere`: once it is a finding, it is run on all environments of the framework. `BadInput`
    where the text is neither of the two kinds, or the environment is another framework's.
    """
    found = read(text, name=name, framework=framework)
    if environment is not None and environment.framework != found.framework:
        expected = f"an environment of {found.framework}"
        raise BadInput(f"reproducer {name}", seen=environment.name, expected=expected)
    if symptom and symptom not in set(Symptom):
        raise BadInput("symptom", seen=symptom, expected=", ".join(Symptom))
    made = Submission.objects.create(
        name=name[:120],
        text=text,
        kind=found.kind,
        framework=found.framework,
        symptom=symptom,
        environment=environment,
        attempts=attempts,
        everywhere=everywhere,
        asked_by=who,
    )
    transaction.on_commit(partial(leases.send, TASK, made))
    return made


def cancel_submission(submission: Submission) -> bool:
    """End it without a result; False where it had ended."""
    return leases.cancel(submission)


# ------------------------------------------------------------------------------------ by a worker
def _claimable() -> QuerySet[Submission]:
    return Submission.objects.filter(state=Submission.State.QUEUED)


def is_submission_waiting() -> bool:
    """Whether a person waits for a reproducer to be run. One query."""
    return _claimable().exists()


def sweep_submissions(*, is_gone: Callable[[str], bool] = lambda owner: False) -> list[Hint]:
    """Hints for those that wait, and for those whose worker died."""
    return leases.sweep(_claimable(), is_gone=is_gone)


def run_submission(
    submission: int,
    *,
    owner: str,
    scratch: Path,
    epoch: int | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda text: None,
    deadline: float = _DEADLINE,
) -> bool:
    """Claim a submission, run it and record what comes of it; whether it was to be had."""
    claimable = _claimable().select_related("environment", "asked_by")
    claim = leases.claim(claimable, submission, owner=owner, epoch=epoch)
    if claim is None:
        return False
    try:
        _examine(claim, Watch(claim, is_stopping), scratch, say, deadline)
    except LostJobError:
        logger.info("submission %s is no longer ours", submission)
    except BaseException as error:
        claim.release()
        if not isinstance(error, StoppingError):
            raise
    return True


def _examine(
    claim: Claim[Submission],
    watch: Watch,
    scratch: Path,
    say: Callable[[str], None],
    deadline: float,
) -> None:
    job = claim.job
    try:
        interpreter, versions = _where(job)
        workshop = Workshop(
            interpreter=interpreter,
            versions=versions,
            attempts=job.attempts,
            deadline=deadline,
            address_space=_ADDRESS_SPACE,
            scratch=scratch,
            watch=watch,
            say=say,
        )
        reproducer = read(job.text, name=job.name, framework=job.framework)
        symptom = Symptom(job.symptom) if job.symptom else None
        found = examine(reproducer, workshop, symptom=symptom)
    except BadInput as error:
        claim.end(Submission.State.FAILED, problem=str(error), now=timezone.now())
        return
    _record(claim, found)


def _where(job: Submission) -> tuple[str, Mapping[str, str]]:
    """The interpreter, and the versions that it has now."""
    chosen = job.environment or Environment.objects.filter(name=job.framework).first()
    path = chosen.interpreter if chosen else settings.WORKER_INTERPRETERS[job.framework]
    name = chosen.name if chosen else job.framework
    return path, probe(Interpreter(name, job.framework, path))


@transaction.atomic
def _record(claim: Claim[Submission], found: Examined) -> None:
    job = claim.job
    claim.end(
        Submission.State.DONE,
        problem="",
        now=timezone.now(),
        reason=found.reason,
        isolation=found.isolation,
        answers=[asdict(one) for one in found.answers],
    )
    if found.finding is None:
        return
    record, _ = record_finding(found.finding, submission=job)
    if job.everywhere:
        _retest_everywhere(record, job)


def _retest_everywhere(record: FindingRecord, job: Submission) -> None:
    others = Environment.objects.filter(framework=job.framework, healthy=True)
    here = job.environment_id
    chosen = [one for one in others if one.pk != here and not (here is None and one.is_own)]
    try:
        retest([record.bucket], chosen, who=job.asked_by, attempts=job.attempts)
    except NothingToRunError:
        logger.info("no other environment of %s for %s", job.framework, job)
