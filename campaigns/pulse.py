"""The sign of life of a worker: its heartbeat row, and the lease of the shard it holds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from django.db import Error as DatabaseProblem
from django.db import connection
from django.utils import timezone

from campaigns.identity import worker_name
from campaigns.models import WorkerHeartbeat
from campaigns.shards import Claim, renew_lease

__all__ = ["BEAT", "Pulse"]

logger = logging.getLogger(__name__)
BEAT = 10.0  # seconds


class Pulse:
    """Says every ten seconds that this process lives, and renews the lease of what it holds.

    A thread of its own, with its own database connection: a round may take minutes. `start` it
    once in a process; without `start` nothing beats by itself, but `hold` works all the same.
    """

    def __init__(self, *, name: str | None = None, beat: float = BEAT) -> None:
        self.name = name or worker_name()
        self.lost = threading.Event()
        self._beat = beat
        self._claim: Claim | None = None
        self._what = "waits for work"
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Pulse:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> Pulse:
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop the thread, and forget the worker: it left in good order."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        WorkerHeartbeat.objects.filter(name=self.name).delete()

    @contextmanager
    def hold(self, claim: Claim) -> Iterator[None]:
        """Keep a shard's lease while the body runs; `lost` is set once it is somebody else's."""
        self.lost.clear()
        with self._lock:
            self._claim = claim
        self.beat()
        try:
            yield
        finally:
            with self._lock:
                self._claim = None

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Say what this process does while the body runs."""
        before, self._what = self._what, what
        self.beat()
        try:
            yield
        finally:
            self._what = before

    def beat(self) -> None:
        """One sign of life."""
        now = timezone.now()
        with self._lock:
            claim = self._claim
            if claim is not None and not renew_lease(claim, now=now):
                self.lost.set()
        shard = claim.shard if claim else None
        WorkerHeartbeat.objects.update_or_create(
            name=self.name,
            defaults={
                "what": f"{shard.campaign.name}: {shard}"[:200] if shard else self._what[:200],
                "shard": shard,
                "last_seen": now,
            },
        )

    def _run(self) -> None:
        try:
            while True:
                try:
                    self.beat()
                except DatabaseProblem:
                    # The lease runs out unless a later beat succeeds; both are in order.
                    logger.warning("The database did not take the heartbeat.", exc_info=True)
                    connection.close()
                if self._stop.wait(self._beat):
                    return
        finally:
            connection.close()
