"""What views of buckets answer after a change: a message with undo, the row, or the way back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from triage import services
from triage.inbox_selectors import inbox_rows
from triage.models import Bucket
from triage.selectors import buckets_for_lists, team

__all__ = ["back", "counted", "elsewhere", "row_or_back", "tell"]

_REASONS_SHOWN = 5


def row_or_back(request: HttpRequest, bucket: Bucket) -> HttpResponse:
    """The row alone for a script that asked for it, else the page that the form was on."""
    if request.headers.get("HX-Request") and request.POST.get("row"):
        (row,) = inbox_rows([buckets_for_lists().get(pk=bucket.pk)])
        context = {"row": row, "team": list(team()), "alone": True}
        return render(request, "triage/bucket_row.html", context)
    return redirect(back(request, bucket.get_absolute_url()))


def elsewhere(request: HttpRequest, path: str, **fields: str) -> HttpResponse:
    """To the page that asks for the rest of a decision, with what was said already."""
    query = QueryDict(mutable=True)
    query.update(fields)
    address = f"{path}?{query.urlencode()}"
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(address)
    return redirect(address)


def back(request: HttpRequest, default: str = "") -> str:
    """Where the form said it was, if that is one of our own pages."""
    wanted = request.POST.get("next") or request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return wanted
    return default or reverse("triage:list-buckets")


def tell(request: HttpRequest, done: services.Done) -> None:
    """Say what an action did, with a way to undo it, and what it left."""
    if done.changed:
        text = f"{counted(done.changed).capitalize()} changed."
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    for reason in done.refused[:_REASONS_SHOWN]:
        messages.warning(request, f"Left as it was: {reason}.")
    rest = len(done.refused) - _REASONS_SHOWN
    if rest > 0:
        messages.warning(request, f"{counted(rest).capitalize()} more left for such reasons.")
    if not done.changed and not done.refused:
        messages.info(request, "Nothing to change.")


def counted(count: int) -> str:
    """So many buckets, in words."""
    return "1 bucket" if count == 1 else f"{count} buckets"
