"""WSGI application for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

__all__ = ["application"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")

application = get_wsgi_application()
