"""The page of the interpreters that run cases."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.hints import ask_probe
from campaigns.models import Environment
from campaigns.selectors import environment_list
from engine.executors.modes import MODES

__all__ = ["list_environments", "probe_environments"]


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    rows = [(one, _modes(one)) for one in environment_list()]
    return render(request, "campaigns/environments.html", {"environments": rows})


def _modes(environment: Environment) -> list[str]:
    """Names of the modes that it runs: the first word of its name is the framework."""
    framework = environment.name.split()[0]
    return [mode.name for mode in MODES.values() if mode.framework == framework]


@require_POST
def probe_environments(request: HttpRequest) -> HttpResponse:
    """Ask every interpreter again; a worker does it, since importing a framework takes seconds."""
    if ask_probe():
        text = "Asked. A worker answers when its slice is over, within a minute; then reload."
        messages.success(request, text)
    else:
        messages.error(request, "The broker does not take messages; no worker can be asked.")
    return redirect("campaigns:list-environments")
