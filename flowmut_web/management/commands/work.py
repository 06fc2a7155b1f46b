"""Runs scripts and shards in this process, without Celery: to see closely what a worker does."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from campaigns.identity import is_gone
from campaigns.shards import sweep_expired
from campaigns.slices import SLICE_SECONDS
from flowmut_web.seed_imports import sweep_imports
from flowmut_web.worker import child
from triage.reruns import sweep_reruns
from triage.submitting import sweep_submissions

__all__ = ["Command"]

IDLE_SECONDS = 5.0


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="one script or slice, then stop")
        parser.add_argument(
            "--seconds", type=float, default=SLICE_SECONDS, help="how long a slice may be"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """SIGTERM and Ctrl-C stop it after the round in flight, or soon without it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: child.stop_soon())
        try:
            while not child.stopping.is_set():
                worked = self._step(options["seconds"])
                if options["once"]:
                    break
                if not worked:
                    child.stopping.wait(IDLE_SECONDS)
        finally:
            child.close()

    def _step(self, seconds: float) -> bool:
        """A script that a person waits for, or a slice of a shard; whether there was one."""
        for waiting in sweep_reruns(is_gone=is_gone):
            if child.rerun(waiting.job, epoch=waiting.epoch):
                self.stdout.write(f"rerun {waiting.job}: done")
                return True
        for asked in sweep_imports(is_gone=is_gone):
            if child.seed_import(asked.job, epoch=asked.epoch):
                self.stdout.write(f"import {asked.job}: done")
                return True
        for waiting in sweep_submissions(is_gone=is_gone):
            if child.submission(waiting.job, epoch=waiting.epoch):
                self.stdout.write(f"submission {waiting.job}: done")
                return True
        for hint in sweep_expired():
            done = child.run(hint.shard, epoch=hint.epoch, seconds=seconds)
            if done.claimed:
                self.stdout.write(f"shard {hint.shard}: {done.rounds} rounds recorded")
                return True
        self.stdout.write("nothing to do")
        return False
