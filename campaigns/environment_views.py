"""The page of the interpreters that run cases: look, ask again; administrators add and remove."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.environment_forms import EnvironmentForm
from campaigns.environments import add_environment, remove_environment
from campaigns.hints import ask_probe
from campaigns.models import Environment
from campaigns.selectors import environment_list
from engine.errors import BadInput
from engine.executors.modes import MODES

__all__ = ["add", "list_environments", "probe_environments", "remove"]


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    return _page(request, EnvironmentForm())


def _page(request: HttpRequest, form: EnvironmentForm, *, status: int = 200) -> HttpResponse:
    rows = [
        (one, _modes(one), one.name not in settings.WORKER_INTERPRETERS)
        for one in environment_list()
    ]
    context = {"environments": rows, "form": form}
    return render(request, "campaigns/environments.html", context, status=status)


def _modes(environment: Environment) -> list[str]:
    framework = environment.framework
    return [mode.name for mode in MODES.values() if mode.framework == framework]


def _administrator(request: HttpRequest) -> None:
    """A registered interpreter is started by workers: only who may administer the site adds one."""
    if not request.user.is_staff:
        raise PermissionDenied


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    _administrator(request)
    form = EnvironmentForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    try:
        made = add_environment(**form.said())
    except BadInput as error:
        form.add_error(None, str(error))
        return _page(request, form, status=400)
    messages.success(request, f"{made.name} is registered, with {made.framework} {made.version}.")
    return redirect("campaigns:list-environments")


@require_POST
def remove(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What was made here by a requirement loses its folder too, as on the command line."""
    _administrator(request)
    environment = get_object_or_404(Environment, uuid=uuid)
    try:
        remove_environment(environment, own=settings.WORKER_INTERPRETERS)
    except BadInput as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{environment.name} is gone. What it said of bugs is kept.")
    return redirect("campaigns:list-environments")


@require_POST
def probe_environments(request: HttpRequest) -> HttpResponse:
    """Ask every interpreter again; a worker does it, since importing a framework takes seconds."""
    if ask_probe():
        text = "Asked. A worker answers when its slice is over, within a minute; then reload."
        messages.success(request, text)
    else:
        messages.error(request, "The broker does not take messages; no worker can be asked.")
    return redirect("campaigns:list-environments")
