"""Pages of campaigns: the list, one of them live, and the buttons that steer it."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns import services
from campaigns.filters import SORTS, CampaignFilter, active_chips, sorted_campaigns
from campaigns.hints import hint_campaign
from campaigns.loaders import campaign_of
from campaigns.models import Campaign
from campaigns.people import person
from campaigns.selectors import campaign_list, campaign_progress

__all__ = [
    "cancel_campaign",
    "list_campaigns",
    "pause_campaign",
    "resume_campaign",
    "show_campaign",
    "show_progress",
]

_SIZES = (20, 50, 100)
_COLUMNS = {
    "name": "Campaign",
    "status": "Status",
    "progress": "Progress",
    "accepted": "Accepted",
    "found": "Findings",
    "speed": "A round takes",
    "started": "Started",
}
_LONGEST_REASON = 500


@require_safe
def list_campaigns(request: HttpRequest) -> HttpResponse:
    """Filters, sort, page and size are the URL's."""
    chosen = CampaignFilter(request.GET, queryset=campaign_list())
    rows = sorted_campaigns(chosen.qs, request.GET.get("sort", ""))
    asked = request.GET.get("size", "")
    size = int(asked) if asked.isdigit() and int(asked) in _SIZES else _SIZES[0]
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "filter": chosen,
        "chips": list(active_chips(chosen, request.GET)),
        "page": Paginator(rows, size).get_page(request.GET.get("page")),
        "columns": _columns(request.GET),
        "size": size,
        "sizes": _SIZES,
        "query": query.urlencode(),
    }
    return render(request, "campaigns/list.html", context)


def _columns(query: QueryDict) -> list[dict[str, str]]:
    """Headings that sort: a second click turns the order round."""
    now = query.get("sort", "-started")
    columns = []
    for name, text in _COLUMNS.items():
        assert name in SORTS
        rest = query.copy()
        rest.pop("page", None)
        rest["sort"] = name if now == f"-{name}" else f"-{name}"
        order = {name: "ascending", f"-{name}": "descending"}.get(now, "")
        columns.append({"name": name, "text": text, "query": rest.urlencode(), "order": order})
    return columns


@require_safe
def show_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return render(request, "campaigns/show.html", _shown(campaign_of(uuid)))


@require_safe
def show_progress(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The live part of the page alone, for polling."""
    return render(request, "campaigns/progress_panel.html", _shown(campaign_of(uuid)))


def _shown(campaign: Campaign) -> dict[str, Any]:
    status = Campaign.Status
    return {
        "campaign": campaign,
        "progress": campaign_progress(campaign),
        "may_pause": services.may_move(campaign, status.PAUSED),
        "may_resume": services.may_move(campaign, status.PENDING),
        "may_cancel": services.may_move(campaign, status.CANCELLED),
    }


@require_POST
def pause_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """With the reason that the person gave, if any."""
    problem = request.POST.get("why", "").strip()[:_LONGEST_REASON]

    def pause(campaign: Campaign, *, who: User) -> Campaign:
        return services.pause_campaign(campaign, problem=problem, who=who)

    return _steer(request, uuid, pause, "Paused: rounds in flight are recorded.")


@require_POST
def resume_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    def resume(campaign: Campaign, *, who: User) -> Campaign:
        services.resume_campaign(campaign, who=who)
        hint_campaign(campaign)
        return campaign

    return _steer(request, uuid, resume, "Goes on where it stopped.")


@require_POST
def cancel_campaign(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _steer(request, uuid, services.cancel_campaign, "Cancelled. What it found stays.")


class _Step(Protocol):
    def __call__(self, campaign: Campaign, *, who: User) -> Campaign: ...


def _steer(request: HttpRequest, uuid: UUID, step: _Step, done: str) -> HttpResponse:
    campaign = campaign_of(uuid)
    try:
        step(campaign, who=person(request))
    except services.MoveRefusedError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, done)
    return redirect(campaign)
