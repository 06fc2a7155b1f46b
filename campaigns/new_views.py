"""The page that starts a campaign: presets, clones, and what it will cost."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from campaigns import services
from campaigns.choices import PRESETS
from campaigns.forms import CampaignForm
from campaigns.hints import hint_campaign
from campaigns.loaders import campaign_of
from campaigns.models import Campaign
from campaigns.people import person

__all__ = ["add_campaign", "clone_campaign", "show_estimate"]


def add_campaign(request: HttpRequest) -> HttpResponse:
    """The form, filled by `?preset=` and `?seed=`; a valid one starts, or shows its cost."""
    preset = request.POST.get("preset") or request.GET.get("preset", Campaign.Preset.QUICK_LOOK)
    form = CampaignForm(request.POST or None, preset=preset, seeds=request.GET.getlist("seed"))
    return _started(request, form) or _page(request, form, preset=preset)


def clone_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The form, filled with the options of a campaign and a new random seed."""
    origin = campaign_of(uuid)
    form = CampaignForm(request.POST or None, origin=origin)
    return _started(request, form) or _page(request, form, preset="", origin=origin)


@require_POST
def show_estimate(request: HttpRequest) -> HttpResponse:
    """What the form as it stands will cost, as a fragment."""
    form = CampaignForm(request.POST)
    context = {"estimate": form.estimate_cost()}
    return render(request, "campaigns/estimate_panel.html", context)


def _started(request: HttpRequest, form: CampaignForm) -> HttpResponse | None:
    """The way to the new campaign; None where the form is to be shown (again)."""
    if request.method != "POST" or "estimate" in request.POST or not form.is_valid():
        return None
    campaign = services.create_campaign(**form.cleaned_data, created_by=person(request))
    hinted = hint_campaign(campaign)
    waits = "A worker was told to begin." if hinted else "It begins with the next worker's look."
    messages.success(request, f"Started. {waits}")
    return redirect(campaign)


def _page(
    request: HttpRequest, form: CampaignForm, *, preset: str, origin: Campaign | None = None
) -> HttpResponse:
    context = {
        "form": form,
        "presets": PRESETS.values(),
        "preset": preset,
        "chosen": PRESETS.get(preset),
        "origin": origin,
        "estimate": form.estimate_cost(),
        "only_estimate": "estimate" in request.POST,
    }
    return render(request, "campaigns/new.html", context)
