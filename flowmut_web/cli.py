"""Entry of `manage.py`: the commands of the web product. The engine's own are `flowmut`."""

import os
import sys

from django.core.management import execute_from_command_line

__all__ = ["main"]


def main() -> None:
    """Run the Django command that the process's arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")
    execute_from_command_line(sys.argv)
