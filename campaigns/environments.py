"""Writers of environments: what a new installation starts with, adding, removing, asking each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.models import Environment
from engine.errors import BadInput
from engine.executors import environment as engine_environment

__all__ = [
    "add_environment",
    "check_name",
    "engine_environments",
    "ensure_environments",
    "environment_named",
    "probe_environment",
    "remove_environment",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]*")


def ensure_environments(interpreters: Mapping[str, str]) -> list[Environment]:
    """A row for each framework's interpreter; a row that is there keeps what a person gave it."""
    return [
        Environment.objects.get_or_create(
            name=name, defaults={"interpreter": path, "framework": name}
        )[0]
        for name, path in interpreters.items()
    ]


def check_name(name: str) -> None:
    """`BadInput` where it cannot be the name of a new environment."""
    most = Environment._meta.get_field("name").max_length
    if not _NAME.fullmatch(name) or len(name) > (most or 0):
        expected = f"letters, digits, spaces and . _ + -, at most {most}"
        raise BadInput("name of an environment", seen=repr(name), expected=expected)
    if Environment.objects.filter(name=name).exists():
        raise BadInput(f"environment {name}", seen="one of that name", expected="another name")


def add_environment(
    name: str, *, interpreter: str, framework: str = "", spec: str = "", folder: str = ""
) -> Environment:
    """Register an interpreter and ask it; without a framework, the one that it has.

    `BadInput` where the name is taken, the interpreter does not answer, or it has both frameworks
    and none is named: nothing is registered then. Takes the seconds of an import.
    """
    check_name(name)
    found = _asked(name, interpreter, framework)
    try:
        with transaction.atomic():
            return Environment.objects.create(
                name=name,
                framework=found.framework,
                interpreter=interpreter,
                spec=spec,
                folder=folder,
                versions=dict(engine_environment.probe(found)),
                healthy=True,
                last_probe=timezone.now(),
            )
    except IntegrityError:
        check_name(name)
        raise


def _asked(name: str, interpreter: str, framework: str) -> engine_environment.Environment:
    """With the framework found out where none is named."""
    choices = [framework] if framework else list(Environment.Framework.values)
    if framework and framework not in Environment.Framework.values:
        expected = " or ".join(Environment.Framework.values)
        raise BadInput(f"environment {name}", seen=f"framework {framework}", expected=expected)
    has = engine_environment.frameworks_of(name, interpreter, choices)
    if len(has) != 1:
        seen = f"{interpreter} has {' and '.join(has) or 'neither'}"
        wanted = " or ".join(choices)
        raise BadInput(f"environment {name}", seen=seen, expected=f"{wanted}; name one of them")
    return engine_environment.Environment(name, has[0], interpreter)


def environment_named(name: str) -> Environment:
    """`BadInput` with the names there are."""
    found = Environment.objects.filter(name=name).first()
    if found is None:
        names = Environment.objects.values_list("name", flat=True)
        raise BadInput("environment", seen=name, expected=f"one of: {', '.join(names) or 'none'}")
    return found


def remove_environment(environment: Environment, *, own: Mapping[str, str]) -> None:
    """Forget it; the folder of one that was made here is deleted. What it said of bugs is kept.

    `BadInput` for one that the settings name (`own`): workers would register it again.
    """
    if environment.name in own:
        expected = "one that was added; the settings name this one"
        raise BadInput("environment to remove", seen=environment.name, expected=expected)
    environment.delete()
    if environment.folder:
        shutil.rmtree(Path(environment.folder))


def probe_environment(environment: Environment, *, now: datetime | None = None) -> Environment:
    """Ask the interpreter for its versions, and keep the answer or why there is none.

    Takes the seconds of importing the framework; no transaction is open meanwhile.
    """
    try:
        versions = dict(engine_environment.probe(_of(environment)))
        problem = ""
    except BadInput as error:
        versions, problem = {}, str(error)
    environment.versions, environment.problem = versions, problem
    environment.healthy = not problem
    environment.last_probe = now or timezone.now()
    environment.save(update_fields=["versions", "problem", "healthy", "last_probe"])
    return environment


def engine_environments(
    interpreters: Mapping[str, str],
) -> dict[str, engine_environment.Environment]:
    """By framework, what the engine runs: the row of that name, else the setting."""
    chosen = {
        name: engine_environment.Environment(name, name, path)
        for name, path in interpreters.items()
    }
    for row in Environment.objects.filter(name__in=chosen):
        chosen[row.name] = _of(row)
    return chosen


def _of(environment: Environment) -> engine_environment.Environment:
    return engine_environment.Environment(
        environment.name, environment.framework, environment.interpreter
    )
