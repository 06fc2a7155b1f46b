"""Pages of suppressions: the known limit that makes one, the list, its end."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from triage import services, suppressing
from triage.bucket_views import load_bucket
from triage.grouping_forms import ExpiryForm, LimitForm
from triage.grouping_selectors import buckets_caught, suppression_rows
from triage.models import Bucket, Suppression
from triage.people import person

__all__ = [
    "accept_limit",
    "lift_suppression",
    "list_suppressions",
    "move_expiry",
    "preview_limit",
]


def _suppression(uuid: UUID) -> Suppression:
    """The one loader: everybody who is logged in may see and end suppressions."""
    return get_object_or_404(Suppression.objects.select_related("bucket"), uuid=uuid)


@require_safe
def list_suppressions(request: HttpRequest) -> HttpResponse:
    """Those in force first, then what ended."""
    rows = suppression_rows()
    context = {
        "active": [row for row in rows if row.is_active],
        "ended": [row for row in rows if not row.is_active],
    }
    return render(request, "triage/suppressions.html", context)


@require_safe
def preview_limit(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What a known limit with these parts would catch of what is here; nothing is saved."""
    bucket = load_bucket(uuid)
    parts = suppressing.default_parts(bucket)
    ticked = request.GET.getlist("part") or list(parts)
    form = LimitForm(
        parts,
        initial={
            "why": request.GET.get("why", ""),
            "source": request.GET.get("source", ""),
            "part": ticked,
            **({"expires_on": request.GET["expires_on"]} if "expires_on" in request.GET else {}),
        },
    )
    return _limit_page(request, bucket, form, ticked)


@require_POST
def accept_limit(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The verdict, or a new suppression where it is a known limit already."""
    bucket = load_bucket(uuid)
    form = LimitForm(suppressing.default_parts(bucket), request.POST)
    if not form.is_valid():
        return _limit_page(request, bucket, form, request.POST.getlist("part"), status=422)
    why, source = form.cleaned_data["why"], form.cleaned_data["source"]
    who, parts, expires_at = person(request), form.chosen(), form.expires_at()
    if bucket.status == Bucket.Status.KNOWN_LIMIT:
        suppressing.suppress_bucket(
            bucket, reason=why, source=source, parts=parts, expires_at=expires_at, who=who
        )
        messages.success(request, f"Suppressed until {expires_at:%Y-%m-%d}.")
        return redirect(bucket)
    done = services.move_buckets(
        [bucket],
        to=Bucket.Status.KNOWN_LIMIT,
        why=why,
        source=source,
        parts=parts,
        expires_at=expires_at,
        who=who,
    )
    for reason in done.refused:
        messages.warning(request, f"Left as it was: {reason}.")
    if done.changed:
        text = f"A known limit; what matches is suppressed until {expires_at:%Y-%m-%d}."
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    return redirect(bucket)


@require_POST
def move_expiry(request: HttpRequest, uuid: UUID) -> HttpResponse:
    suppression, form = _suppression(uuid), ExpiryForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return redirect("triage:list-suppressions")
    done = suppressing.set_expiry(suppression, expires_at=form.expires_at(), who=person(request))
    if done.changed:
        text = f"“{suppression.reason}” ends on {form.cleaned_data['expires_on']}."
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    return redirect("triage:list-suppressions")


@require_POST
def lift_suppression(request: HttpRequest, uuid: UUID) -> HttpResponse:
    suppression = _suppression(uuid)
    done = suppressing.lift_suppression(suppression, who=person(request))
    if done.changed:
        text = f"Lifted “{suppression.reason}”. What it held asks for a person again."
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    return redirect("triage:list-suppressions")


def _limit_page(
    request: HttpRequest,
    bucket: Bucket,
    form: LimitForm,
    ticked: list[str],
    *,
    status: int = 200,
) -> HttpResponse:
    parts = {name: form.parts[name] for name in ticked if name in form.parts}
    caught = suppressing.would_catch(bucket, parts)
    context = {
        "bucket": bucket,
        "form": form,
        "rows": [(name, value, name in parts) for name, value in form.parts.items()],
        "count": caught.count(),
        "others": buckets_caught(caught, besides=bucket),
    }
    return render(request, "triage/limit.html", context, status=status)
