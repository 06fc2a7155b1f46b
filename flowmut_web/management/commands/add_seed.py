"""A case of the command line as a seed of the product."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from engine.errors import BadInput
from flowmut_web.seed_imports import add_case

__all__ = ["Command"]


class Command(BaseCommand):
    """`python manage.py add_seed FILE.flow`: what `flowmut import` wrote, for campaigns here."""

    help = "put a case file, and the blobs beside it, among the seeds of campaigns"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("case", type=Path, help="a .flow file")
        parser.add_argument("--name", help="of the seed (default: that of the file)")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["case"]
        try:
            made = add_case(options["name"] or path.stem, path)
        except BadInput as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"{made.name}: {made.parameters:,} parameters, {made.scale} scale")
