"""Writers of environments: the rows a new installation starts with, and asking each interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from campaigns.models import Environment
from engine.errors import BadInput
from engine.executors import environment as engine_environment

__all__ = ["engine_environments", "ensure_environments", "probe_environment"]


def ensure_environments(interpreters: Mapping[str, str]) -> list[Environment]:
    """A row for each framework's interpreter; a row that is there keeps what a person gave it."""
    return [
        Environment.objects.get_or_create(name=name, defaults={"interpreter": path})[0]
        for name, path in interpreters.items()
    ]


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
    """The framework is the first word of the name: "torch", "mindspore", "torch nightly"."""
    framework = environment.name.split()[0]
    return engine_environment.Environment(environment.name, framework, environment.interpreter)
