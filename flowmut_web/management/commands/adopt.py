"""Findings of `flowmut run` and `flowmut support` taken into the product."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from engine.errors import BadInput
from triage.adopting import adopt_findings

__all__ = ["Command"]


class Command(BaseCommand):
    """`flowmut adopt FOLDER ...`. Exit codes: 0 done, 2 bad input. May be run again."""

    help = "take the findings of run folders and support folders into the product"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")

    def handle(self, *args: Any, **options: Any) -> None:
        for folder in options["folders"]:
            try:
                new, known = adopt_findings(folder)
            except BadInput as error:
                raise CommandError(str(error), returncode=2) from error
            self.stdout.write(f"{folder}: {new} findings taken in, {known} known already")
