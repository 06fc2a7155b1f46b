"""Starts workers on this machine, beside `up` or on a machine of their own, and tends them."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from flowmut_web.supervisor import make_services, stop_all, worker_commands

__all__ = ["Command"]


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Until Ctrl-C or SIGTERM."""
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stop.set())
        commands = worker_commands(settings.WORKER_PROCESSES, broker=settings.CELERY_BROKER_URL)
        services = make_services({f"more {name}": one for name, one in commands.items()})
        try:
            for service in services:
                service.start()
            self.stdout.write(f"{settings.WORKER_PROCESSES} worker processes; Ctrl-C stops them")
            while not stop.wait(1.0):
                for news in filter(None, [service.tend() for service in services]):
                    self.stdout.write(news)
        finally:
            for name in stop_all(services):
                self.stdout.write(f"{name} did not stop in time and was killed")
