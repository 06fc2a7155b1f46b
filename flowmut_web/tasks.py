"""All tasks. A task is one line that calls a step; steps may be delivered twice, or never.

The database is the queue: a message says that a shard or a rerun may be claimed in a certain epoch,
and is void once anybody has. What was lost is found by the sweep, which every worker sends itself
at its start and every fifteen seconds (`flowmut_web.celery.Sweeper`): no scheduler need run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.conf import settings

from campaigns.environments import ensure_environments, probe_environment
from campaigns.identity import is_gone
from campaigns.models import Environment
from campaigns.shards import Hint, sweep_expired
from flowmut_web import seed_imports
from flowmut_web.worker import child
from triage import following, polling, reruns, retesting, submitting
from triage.suppressing import end_suppressions

__all__ = [
    "HINT_SECONDS",
    "follow_report",
    "import_seed",
    "probe_environments",
    "run_rerun",
    "run_shard",
    "run_submission",
    "send_hints",
    "sweep",
]

# A swept hint that nobody took for so long is dropped; the next sweep says it again.
HINT_SECONDS = 60


@shared_task(name="flowmut.run_shard")
def run_shard(shard: int, epoch: int) -> None:
    """One slice of a shard, and a message for the next."""
    send_hints([child.run(shard, epoch=epoch).hint])


@shared_task(name=reruns.TASK)
def run_rerun(rerun: int, epoch: int) -> None:
    """A script of a finding, as often as a person asked."""
    child.rerun(rerun, epoch=epoch)


@shared_task(name=following.TASK)
def follow_report(following: int, due: str) -> None:
    """Ask a tracker after a report that was due then."""
    polling.follow_report(following, due=due)


@shared_task(name=submitting.TASK)
def run_submission(submission: int, epoch: int) -> None:
    """A reproducer that somebody wrote."""
    child.submission(submission, epoch=epoch)


@shared_task(name=seed_imports.TASK)
def import_seed(seed: int, epoch: int) -> None:
    """A model that somebody uploaded."""
    child.seed_import(seed, epoch=epoch)


@shared_task(name="flowmut.sweep")
def sweep() -> None:
    """Queue again what dead workers held, say what waits and what is due; end suppressions."""
    retesting.go_on()
    for hint in reruns.sweep_reruns(is_gone=is_gone):
        run_rerun.apply_async((hint.job, hint.epoch), expires=HINT_SECONDS)
    for hint in submitting.sweep_submissions(is_gone=is_gone):
        run_submission.apply_async((hint.job, hint.epoch), expires=HINT_SECONDS)
    for hint in seed_imports.sweep_imports(is_gone=is_gone):
        import_seed.apply_async((hint.job, hint.epoch), expires=HINT_SECONDS)
    send_hints(sweep_expired(), expires=HINT_SECONDS)
    for due in following.sweep_following():
        follow_report.apply_async((due.following, due.due), expires=HINT_SECONDS)
    end_suppressions()


@shared_task(name="flowmut.probe_environments")
def probe_environments() -> None:
    """Ask every interpreter for its versions."""
    ensure_environments(settings.WORKER_INTERPRETERS)
    for environment in Environment.objects.all():
        probe_environment(environment)


def send_hints(hints: Iterable[Hint | None], *, expires: float | None = None) -> None:
    """A message for each; `expires` in seconds, None for never."""
    kept: dict[str, Any] = {} if expires is None else {"expires": expires}
    for hint in hints:
        if hint is not None:
            run_shard.apply_async((hint.shard, hint.epoch), **kept)
