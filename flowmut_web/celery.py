"""The Celery application; tasks are in `flowmut_web.tasks`, their queue is the database."""

import logging
import os
from typing import Any

from celery import Celery, bootsteps
from kombu.exceptions import OperationalError

__all__ = ["SWEEP_SECONDS", "Sweeper", "app"]

logger = logging.getLogger(__name__)
SWEEP_SECONDS = 15.0

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")


class Sweeper(bootsteps.StartStopStep):
    """Sends a sweep when a worker starts and every fifteen seconds; each worker has its own.

    Sweeps may run side by side. One that waited until the next is due is dropped.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._entry: Any = None

    def start(self, consumer: Any) -> None:
        self._send(consumer.app)
        self._entry = consumer.timer.call_repeatedly(SWEEP_SECONDS, self._send, (consumer.app,))

    def stop(self, consumer: Any) -> None:
        if self._entry is not None:
            self._entry.cancel()
            self._entry = None

    def _send(self, application: Celery) -> None:
        try:
            application.send_task("flowmut.sweep", expires=SWEEP_SECONDS)
        except OperationalError:
            logger.warning("The broker did not take the sweep.", exc_info=True)


app = Celery("flowmut_web")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["flowmut_web"])
app.steps["consumer"].add(Sweeper)
