"""What views of buckets answer after a change: a message with undo, the row, or the way back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from triage import selectors, services
from triage.models import Bucket

__all__ = ["back", "counted", "is_settled", "row_or_back", "spark", "tell"]


def row_or_back(request: HttpRequest, bucket: Bucket) -> HttpResponse:
    """The row alone for a script that asked for it, else the page that the form was on."""
    if request.headers.get("HX-Request") and request.POST.get("row"):
        fresh = selectors.buckets_for_lists().get(pk=bucket.pk)
        bars = spark(selectors.sparklines([fresh])[fresh.pk])
        context = {
            "bucket": fresh,
            "spark": bars,
            "settled": is_settled(fresh),
            "statuses": Bucket.Status.choices,
            "team": list(selectors.team()),
            "alone": True,
        }
        return render(request, "triage/bucket_row.html", context)
    return redirect(back(request, bucket.get_absolute_url()))


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
    for reason in done.refused:
        messages.warning(request, f"Left as it was: {reason}.")
    if not done.changed and not done.refused:
        messages.info(request, "Nothing to change.")


def counted(count: int) -> str:
    """So many buckets, in words."""
    return "1 bucket" if count == 1 else f"{count} buckets"


def is_settled(bucket: Bucket) -> bool:
    """Whether nobody need look at it any more: its title is struck through."""
    status = Bucket.Status
    return bucket.status in {
        status.FIXED,
        status.FALSE_ALARM,
        status.DUPLICATE,
        status.KNOWN_LIMIT,
    }


def spark(counts: tuple[int, ...]) -> list[dict[str, float]]:
    """Bars of the sparkline: x, y and height in a box of 74 by 20."""
    top = max(counts) or 1
    width = 74 / len(counts)
    return [
        {"x": round(index * width, 2), "y": round(20 - tall, 2), "height": tall}
        for index, count in enumerate(counts)
        for tall in [max(1.0, round(20 * count / top, 1)) if count else 0.6]
    ]
