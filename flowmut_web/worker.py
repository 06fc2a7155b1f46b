"""What a process of Celery owns that runs shards: a pool of framework workers, a heartbeat, an end.

That process is the worker itself (the pool "solo") or a child that it forks ("prefork"). It stops
in three ways. SIGTERM to the worker: after the round in flight, or without it once the grace is
over. Its parent died: a child leaves at once. SIGKILL: the next sweep on its machine queues its
shard again, or one elsewhere when the lease has run out. In all of them its zygotes die with it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType

from celery.signals import (
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_shutdown,
    worker_shutting_down,
)
from django.conf import settings

from campaigns.environments import engine_environments
from campaigns.models import Shard
from campaigns.pulse import Pulse
from campaigns.slices import SLICE_SECONDS, Engine, Slice, run_slice
from engine.campaign import campaign
from engine.executors.pool import Pool
from engine.finding import Finding
from flowmut_web.seed_imports import is_import_waiting, run_import
from triage.recording import record_finding
from triage.reruns import is_waited_for, run_rerun
from triage.retesting import learn
from triage.selectors import recorded_coarse_keys
from triage.submitting import is_submission_waiting, run_submission

__all__ = ["GRACE", "NICENESS", "Child", "StopNowError", "child", "file_finding"]

GRACE = 6.0  # seconds that a round in flight gets when the worker is asked to stop
NICENESS = 10  # below the web process
_PR_SET_PDEATHSIG = 1


class StopNowError(BaseException):
    """The grace is over: leave the round in flight."""


def file_finding(finding: Finding, shard: Shard) -> bool:
    """Put a finding into its bucket; whether it is new."""
    return record_finding(finding, shard=shard)[1]


class Child:
    """This process as a worker. Nothing is made before it is needed."""

    def __init__(self, *, engine: Engine = campaign) -> None:
        self.stopping = threading.Event()
        self.engine = engine
        self._pool: Pool | None = None
        self._pulse: Pulse | None = None
        self._busy = False

    @property
    def pulse(self) -> Pulse:
        """The heartbeat, beating."""
        if self._pulse is None:
            self._pulse = Pulse().start()
        return self._pulse

    @property
    def pool(self) -> Pool:
        """Zygotes of the environments as they are on record when it is made."""
        if self._pool is None:
            environments = engine_environments(settings.WORKER_INTERPRETERS)
            self._pool = Pool(environments=environments, scratch=settings.SCRATCH_DIR)
        return self._pool

    def run(self, shard: int, *, epoch: int | None = None, seconds: float = SLICE_SECONDS) -> Slice:
        """A slice of a shard, unless it is somebody else's."""
        # Not earlier: Celery takes every signal for itself once a child is set up.
        signal.signal(signal.SIGALRM, self._on_alarm)
        self._busy = True
        try:
            return run_slice(
                shard,
                epoch=epoch,
                pool=self.pool,
                pulse=self.pulse,
                on_finding=file_finding,
                recorded=recorded_coarse_keys,
                seconds=seconds,
                is_stopping=self._should_yield,
                engine=self.engine,
            )
        except StopNowError:
            return Slice(claimed=True)
        finally:
            self._busy = False

    def rerun(self, rerun: int, *, epoch: int | None = None) -> bool:
        """Run a finding's script again, unless somebody else does; whether it was to be had."""
        with self.pulse.busy("runs a script again"):
            return run_rerun(
                rerun,
                owner=self.pulse.name,
                epoch=epoch,
                scratch=settings.SCRATCH_DIR,
                is_stopping=self.stopping.is_set,
                on_end=learn,
            )

    def submission(self, submission: int, *, epoch: int | None = None) -> bool:
        """Run a reproducer that somebody wrote, unless somebody else does."""
        with self.pulse.busy("runs a submitted script"):
            return run_submission(
                submission,
                owner=self.pulse.name,
                epoch=epoch,
                scratch=settings.SCRATCH_DIR,
                is_stopping=self.stopping.is_set,
            )

    def seed_import(self, seed: int, *, epoch: int | None = None) -> bool:
        """Import a model that somebody uploaded, unless somebody else does."""
        with self.pulse.busy("imports a model"):
            return run_import(
                seed,
                owner=self.pulse.name,
                epoch=epoch,
                pool=self.pool,
                is_stopping=self.stopping.is_set,
            )

    def _should_yield(self) -> bool:
        """Whether a slice ends after its round: to stop, or because a person waits for a script."""
        waited = is_waited_for() or is_submission_waiting() or is_import_waiting()
        return self.stopping.is_set() or waited

    def close(self) -> None:
        """End the framework workers and say goodbye; may be called twice."""
        pool, self._pool = self._pool, None
        pulse, self._pulse = self._pulse, None
        if pool is not None:
            pool.close()
        if pulse is not None:
            pulse.close()

    def stop_soon(self) -> None:
        """Stop after the round in flight, or after the grace without it. From any thread."""
        self.stopping.set()
        timer = threading.Timer(GRACE, self._interrupt)
        timer.daemon = True
        timer.start()

    def _interrupt(self) -> None:
        main = threading.main_thread().ident
        if self._busy and main is not None:
            signal.pthread_kill(main, signal.SIGALRM)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread, wherever that is."""
        if self._busy:
            raise StopNowError


child = Child()  # a process is one worker: made by the process that works, empty elsewhere


# ------------------------------------------------------------------------------ signals of Celery
class _Doorbell:
    """Rung in the worker's main process when it is asked to stop; heard by all that it forked."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        self.owner = 0

    def hang(self, **_: object) -> None:
        self.descriptor, self.owner = os.eventfd(0), os.getpid()

    def ring(self, **_: object) -> None:
        if self.descriptor is not None:
            os.eventfd_write(self.descriptor, 1)
        child.stop_soon()


_doorbell = _Doorbell()


def _begin(**_: object) -> None:
    """This process is to run shards; where it was forked for that, it watches who forked it."""
    os.nice(NICENESS)
    if os.getpid() != _doorbell.owner:
        # The kernel's signal also comes when only the thread that forked us ended, as one does
        # before the last round is recorded; the watch means the process.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, 0)
        watched = (os.getppid(), _doorbell.descriptor, child.stop_soon)
        threading.Thread(target=_watch, args=watched, daemon=True).start()
    assert child.pulse  # beats from now on


def _watch(parent: int, doorbell: int | None, stop_soon: Callable[[], None]) -> None:
    """Wait for the doorbell, then for the death of the parent; costs nothing meanwhile."""
    poll = select.poll()
    try:
        gone = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)
    poll.register(gone, select.POLLIN)
    if doorbell is not None:
        poll.register(doorbell, select.POLLIN)
    while os.getppid() == parent:
        rung = [descriptor for descriptor, _ in poll.poll()]
        if doorbell in rung:
            poll.unregister(doorbell)
            stop_soon()
    os._exit(1)


def _end(**_: object) -> None:
    child.close()


worker_init.connect(_doorbell.hang, weak=False)
worker_shutting_down.connect(_doorbell.ring, weak=False)
worker_process_init.connect(_begin, weak=False)
worker_process_shutdown.connect(_end, weak=False)
worker_shutdown.connect(_end, weak=False)
