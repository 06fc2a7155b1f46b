"""What versions say: the matrix of many buckets, and the panel of one with its retests."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.models import Environment
from triage import retesting
from triage.bucket_views import load_bucket
from triage.follow_up import follow_up
from triage.models import Bisection, Bucket, Framework, Report
from triage.people import person
from triage.replies import back
from triage.retesting import NothingToRunError
from triage.version_forms import MatrixForm, RetestForm
from triage.version_panel import version_panel
from triage.versions import bucket_row, matrix

__all__ = [
    "add_bisection",
    "cancel_bisection",
    "download_follow_up",
    "list_versions",
    "retest_bucket",
    "retest_many",
    "show_versions",
]

_PAGE = 20


# --------------------------------------------------------------------------------------- one bucket
@require_safe
def show_versions(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The panel alone, for polling."""
    return _panel(request, load_bucket(uuid))


@require_POST
def retest_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = load_bucket(uuid)
    form = RetestForm(bucket.framework, request.POST)
    _retest(request, [bucket], form)
    return _panel_or_back(request, bucket)


@require_POST
def add_bisection(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = load_bucket(uuid)
    form = RetestForm(bucket.framework, request.POST)
    attempts = form.cleaned_data["attempts"] if form.is_valid() else 3
    try:
        retesting.ask_bisection(bucket, who=person(request), attempts=attempts)
    except NothingToRunError as error:
        messages.error(request, str(error))
    return _panel_or_back(request, bucket)


@require_POST
def cancel_bisection(request: HttpRequest, uuid: UUID) -> HttpResponse:
    found = get_object_or_404(Bisection.objects.select_related("finding__bucket"), uuid=uuid)
    retesting.cancel_bisection(found)
    return _panel_or_back(request, found.finding.bucket)


@require_safe
def download_follow_up(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The drafted comment of a report, as plain text."""
    report = get_object_or_404(Report.objects.select_related("bucket", "finding"), uuid=uuid)
    text = follow_up(report, bucket_row(report.bucket))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


def _retest(request: HttpRequest, buckets: list[Bucket], form: RetestForm) -> None:
    if not form.is_valid():
        messages.error(request, "Choose an environment of the buckets' framework and a count.")
        return
    try:
        asked = retesting.retest(
            buckets,
            form.chosen(),
            who=person(request),
            attempts=form.cleaned_data["attempts"],
        )
    except NothingToRunError as error:
        messages.error(request, str(error))
        return
    count = len(asked.reruns)
    waits = f" {asked.waiting} waited already." if asked.waiting else ""
    messages.success(request, f"{count} run{'' if count == 1 else 's'} queued.{waits}")


def _panel_or_back(request: HttpRequest, bucket: Bucket) -> HttpResponse:
    if request.headers.get("HX-Request"):
        # The panel shows what was queued by itself; what was refused it has to be told.
        refused = [str(one) for one in messages.get_messages(request) if one.level_tag == "error"]
        return _panel(request, bucket, refused=refused)
    return redirect(f"{back(request, bucket.get_absolute_url()).partition('#')[0]}#versions")


def _panel(request: HttpRequest, bucket: Bucket, refused: Sequence[str] = ()) -> HttpResponse:
    context = {"bucket": bucket, "versions": version_panel(bucket), "refused": refused}
    return render(request, "triage/panels/versions.html", context)


# ------------------------------------------------------------------------------------- many buckets
@require_safe
def list_versions(request: HttpRequest) -> HttpResponse:
    form = MatrixForm(request.GET)
    form.is_valid()
    framework = form.framework_or(_usual())
    buckets = form.narrowed(Bucket.objects.filter(framework=framework))
    page = Paginator(buckets, _PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "form": form,
        "framework": Framework(framework),
        "frameworks": Framework,
        "matrix": matrix(list(page), framework=framework),
        "page": page,
        "query": query.urlencode(),
        "retest_form": RetestForm(framework),
    }
    return render(request, "triage/versions.html", context)


@require_POST
def retest_many(request: HttpRequest) -> HttpResponse:
    framework = request.POST.get("framework", "")
    picked = list(Bucket.objects.filter(uuid__in=_uuids(request), framework=framework))
    if picked:
        _retest(request, picked, RetestForm(framework, request.POST))
    else:
        messages.error(request, "Pick at least one bucket.")
    return redirect(back(request))


def _uuids(request: HttpRequest) -> list[UUID]:
    found = []
    for text in request.POST.getlist("bucket"):
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _usual() -> str:
    """The framework of which more versions are installed."""
    names = list(Environment.objects.values_list("framework", flat=True))
    return max(Framework.values, key=names.count)
