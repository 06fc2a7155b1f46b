"""Pages of recorded rounds."""

from __future__ import annotations

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from campaigns.loaders import campaign_of, round_of
from campaigns.rounds import RoundFilter, round_list, round_page

__all__ = ["list_rounds", "show_round"]

_SIZE = 50


@require_safe
def list_rounds(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """All rounds of a campaign; filters and page are the URL's."""
    campaign = campaign_of(uuid)
    chosen = RoundFilter(request.GET, queryset=round_list(campaign), campaign=campaign)
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "campaign": campaign,
        "filter": chosen,
        "page": Paginator(chosen.qs, _SIZE).get_page(request.GET.get("page")),
        "query": query.urlencode(),
    }
    return render(request, "campaigns/rounds.html", context)


@require_safe
def show_round(request: HttpRequest, uuid: UUID, number: int) -> HttpResponse:
    mutant = round_of(uuid, number)
    context = {
        "campaign": mutant.shard.campaign,
        "shard": mutant.shard,
        "mutant": mutant,
        "page": round_page(mutant),
    }
    return render(request, "campaigns/round.html", context)
