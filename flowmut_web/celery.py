"""The Celery application; tasks are in `flowmut_web.tasks`, their queue is the database."""

import os

from celery import Celery

__all__ = ["app"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")

app = Celery("flowmut_web")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["flowmut_web"])
