"""Environments on the command line: add an interpreter or make one, list, probe, remove."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from campaigns.environment_building import Plan, Source, build_environment, plan_environment
from campaigns.environments import (
    add_environment,
    ensure_environments,
    environment_named,
    probe_environment,
    remove_environment,
)
from campaigns.models import Environment
from campaigns.selectors import environment_list
from engine.errors import BadInput

__all__ = ["Command"]


class Command(BaseCommand):
    """`flowmut env add|list|probe|remove`."""

    help = "interpreters with other versions of the frameworks"

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add = actions.add_parser("add", help="register an interpreter, or make one with pip")
        add.add_argument("name")
        how = add.add_mutually_exclusive_group(required=True)
        how.add_argument("--interpreter", type=Path, help="a Python that has the framework")
        how.add_argument("--spec", help='what pip is to install, such as "mindspore==2.9.0"')
        add.add_argument("--framework", choices=Environment.Framework.values, default="")
        add.add_argument("--pre", action="store_true", help="take nightlies and prereleases")
        add.add_argument("--yes", action="store_true", help="do not ask before the download")
        listed = actions.add_parser("list", help="what there is, and whether it works")
        listed.add_argument("--json", action="store_true", help="print JSON")
        probe = actions.add_parser("probe", help="ask interpreters for their versions")
        probe.add_argument("name", nargs="?", help="default: all")
        remove = actions.add_parser("remove", help="forget it; one made by --spec is deleted")
        remove.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_environments(settings.WORKER_INTERPRETERS)
        try:
            match options["action"]:
                case "add" if options["spec"]:
                    self._make(options)
                case "add":
                    path = str(options["interpreter"].absolute())
                    self._show(
                        add_environment(
                            options["name"], interpreter=path, framework=options["framework"]
                        )
                    )
                case "list":
                    self._list(as_json=options["json"])
                case "probe":
                    self._probe(options["name"])
                case "remove":
                    found = environment_named(options["name"])
                    remove_environment(found, own=settings.WORKER_INTERPRETERS)
                    self.stdout.write(f"{found.name} is gone")
        except BadInput as error:
            raise CommandError(str(error), returncode=2) from error

    def _make(self, options: dict[str, Any]) -> None:
        source = Source(settings.PIP_INDEX, settings.WHEEL_DIR, prereleases=options["pre"])
        self.stdout.write(f"asking pip what {options['spec']} needs")
        plan = plan_environment(
            options["name"], options["spec"], home=settings.ENVIRONMENT_DIR, source=source
        )
        self.stdout.write(_planned(plan))
        if not options["yes"] and not _agrees():
            expected = "nothing was fetched; the same command asks again, --yes goes on"
            raise CommandError(expected, returncode=1)
        self._show(build_environment(plan, source=source, say=self.stdout.write))

    def _list(self, *, as_json: bool) -> None:
        rows = [
            {
                "name": one.name,
                "framework": one.framework,
                "version": one.version,
                "kind": one.kind,
                "healthy": one.healthy,
                "interpreter": one.interpreter,
                "problem": one.problem,
            }
            for one in environment_list()
        ]
        if as_json:
            self.stdout.write(json.dumps(rows, indent=1))
            return
        for environment in environment_list():
            self._show(environment)

    def _probe(self, name: str | None) -> None:
        chosen = [environment_named(name)] if name else list(environment_list())
        for environment in chosen:
            self._show(probe_environment(environment))

    def _show(self, one: Environment) -> None:
        state = "healthy" if one.healthy else one.problem or "not asked yet"
        what = f"{one.framework} {one.version or '?'} {one.kind}".strip()
        self.stdout.write(f"{one.name}: {what}, {state}, {one.interpreter}")


def _agrees() -> bool:
    """Whether the person says yes; where there is none, nobody does."""
    try:
        return input("Go on? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _planned(plan: Plan) -> str:
    missing = plan.missing
    unknown = sum(one.size is None for one in missing)
    size = sum(one.size or 0 for one in missing)
    rest = f" and {unknown} of unknown size" if unknown else ""
    lines = [
        f"  {one.name} {one.version}{'' if one in missing else ', here already'}"
        for one in plan.wheels
    ]
    total = f"{len(missing)} of {len(plan.wheels)} packages to fetch, {size / 1e6:.0f} MB{rest}"
    return "\n".join([*lines, f"{total}, into {plan.folder}"])
