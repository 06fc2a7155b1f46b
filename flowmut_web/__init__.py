"""The Django project: settings, root URLs, Celery application, and the tasks where parts meet."""

from flowmut_web.celery import app as celery_app

__all__ = ["celery_app"]
