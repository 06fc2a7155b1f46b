"""The page of the interpreters that run cases."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.hints import ask_probe
from campaigns.selectors import environment_list

__all__ = ["list_environments", "probe_environments"]


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    return render(request, "campaigns/environments.html", {"environments": environment_list()})


@require_POST
def probe_environments(request: HttpRequest) -> HttpResponse:
    """Ask every interpreter again; a worker does it, since importing a framework takes seconds."""
    if ask_probe():
        text = "Asked. A worker answers when its slice is over, within a minute; then reload."
        messages.success(request, text)
    else:
        messages.error(request, "The broker does not take messages; no worker can be asked.")
    return redirect("campaigns:list-environments")
