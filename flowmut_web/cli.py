"""Entries of `manage.py` and of `flowmut`.

`flowmut` is the engine's command line and commands that need the database, which the engine
does not know: those are Django's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line

__all__ = ["flowmut", "main"]

_OURS = {
    "adopt": "take findings of runs on the command line into the product",
    "env": "interpreters with other versions of the frameworks: add, list, probe, remove",
    "submit": "make a finding of a reproducer that somebody wrote",
}


def main() -> None:
    """Run the Django command that the process's arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")
    execute_from_command_line(sys.argv)


def flowmut(arguments: Sequence[str] | None = None) -> int:
    """Run a command of the engine, or one of the product's. Exit codes as the engine's."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _OURS:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")
        execute_from_command_line(["flowmut", *given])
        return 0
    # The tables of operators take a second to import; Django's commands do without them.
    from engine import cli

    return cli.main(given, others=_OURS)


if __name__ == "__main__":
    sys.exit(flowmut())
