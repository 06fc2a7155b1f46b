"""Pages of campaigns and of the environments that run them."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns import services
from campaigns.choices import PRESETS
from campaigns.forms import CampaignForm
from campaigns.models import Campaign
from campaigns.people import person
from campaigns.selectors import (
    campaign_list,
    campaign_progress,
    environment_list,
    seconds_per_round,
)

__all__ = [
    "add_campaign",
    "cancel_campaign",
    "list_campaigns",
    "list_environments",
    "pause_campaign",
    "resume_campaign",
    "show_campaign",
    "show_progress",
]


def _campaign(uuid: UUID) -> Campaign:
    """The one loader: everybody who is logged in may see and steer campaigns."""
    return get_object_or_404(Campaign.objects.select_related("created_by"), uuid=uuid)


@require_safe
def list_campaigns(request: HttpRequest) -> HttpResponse:
    return render(request, "campaigns/list.html", {"campaigns": campaign_list()[:200]})


def add_campaign(request: HttpRequest) -> HttpResponse:
    """The form, filled by `?preset=`; a valid one starts a campaign."""
    preset = request.POST.get("preset") or request.GET.get("preset", Campaign.Preset.QUICK_LOOK)
    form = CampaignForm(request.POST or None, preset=preset)
    if request.method == "POST" and form.is_valid():
        campaign = services.create_campaign(**form.cleaned_data, created_by=person(request))
        messages.success(request, "The campaign waits for a worker.")
        return redirect(campaign)
    context = {
        "form": form,
        "presets": PRESETS.values(),
        "preset": preset,
        "seconds_per_round": seconds_per_round(),
    }
    return render(request, "campaigns/new.html", context)


@require_safe
def show_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    campaign = _campaign(uuid)
    context = {"campaign": campaign, "progress": campaign_progress(campaign), **_moves(campaign)}
    return render(request, "campaigns/show.html", context)


@require_safe
def show_progress(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The live part of the page alone, for polling."""
    campaign = _campaign(uuid)
    context = {"campaign": campaign, "progress": campaign_progress(campaign), **_moves(campaign)}
    return render(request, "campaigns/progress_panel.html", context)


@require_POST
def pause_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _steer(request, uuid, services.pause_campaign, "Paused: rounds in flight are recorded.")


@require_POST
def resume_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _steer(request, uuid, services.resume_campaign, "Goes on where it stopped.")


@require_POST
def cancel_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _steer(request, uuid, services.cancel_campaign, "Cancelled. What it found stays.")


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    return render(request, "campaigns/environments.html", {"environments": environment_list()})


def _steer(
    request: HttpRequest, uuid: UUID, service: Callable[[Campaign], Campaign], done: str
) -> HttpResponse:
    campaign = _campaign(uuid)
    try:
        service(campaign)
    except services.MoveRefusedError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, done)
    return redirect(campaign)


def _moves(campaign: Campaign) -> dict[str, bool]:
    status = Campaign.Status
    return {
        "may_pause": services.may_move(campaign, status.PAUSED),
        "may_resume": services.may_move(campaign, status.PENDING),
        "may_cancel": services.may_move(campaign, status.CANCELLED),
    }
