"""Pages that change how findings are grouped: each shows what would move before anything does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from triage import grouping, rules, services
from triage.bucket_selectors import best_finding
from triage.bucket_views import load_bucket
from triage.counting import shared_parts
from triage.grouping import GroupingRefusedError
from triage.grouping_forms import MergeForm, PartsForm, SplitForm
from triage.grouping_selectors import merge_rows
from triage.members import differing_parts
from triage.models import Bucket
from triage.people import person
from triage.replies import counted

__all__ = [
    "merge_buckets",
    "pick_merge",
    "preview_merge",
    "preview_rule",
    "preview_split",
    "set_rule",
    "split_bucket",
]

_SHOWN = 100


@require_POST
def pick_merge(request: HttpRequest) -> HttpResponse:
    """From the inbox's picked rows to the preview, whose address can be sent to somebody."""
    query = QueryDict(mutable=True)
    query.setlist("picked", request.POST.getlist("picked"))
    return redirect(f"{reverse('triage:preview-merge')}?{query.urlencode()}")


@require_safe
def preview_merge(request: HttpRequest) -> HttpResponse:
    """What a merge would do; `into` may be chosen among the buckets."""
    form = MergeForm(request.GET)
    if not form.is_valid():
        return _refused(request, form)
    return render(request, "triage/merge.html", _merge_context(form))


@require_POST
def merge_buckets(request: HttpRequest) -> HttpResponse:
    form = MergeForm(request.POST)
    if not form.is_valid():
        return _refused(request, form)
    data = form.cleaned_data
    into: Bucket = data["into"]
    try:
        done = grouping.merge_buckets(
            data["sources"], into=into, who=person(request), why=data["why"]
        )
    except GroupingRefusedError as refused:
        messages.error(request, str(refused))
        return redirect(into)
    _say(request, done, f"{counted(done.changed).capitalize()} merged into this one.")
    return redirect(into)


@require_safe
def preview_split(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Who would go and who would stay."""
    bucket = load_bucket(uuid)
    form = SplitForm(bucket, request.GET)
    if not form.is_valid():
        return HttpResponseBadRequest("These members are not known.")
    members = form.members()
    problem = _problem(lambda: grouping.check_split(bucket, members))
    going = list(members.defer("data")[:_SHOWN])
    context = {
        "bucket": bucket,
        "form": form,
        "problem": problem,
        "going": going,
        "count": members.count(),
        "shared": shared_parts(members.order_by().values_list("parts", flat=True).distinct()),
        "query": request.GET,
    }
    return render(request, "triage/split.html", context, status=422 if problem else 200)


@require_POST
def split_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = load_bucket(uuid)
    form = SplitForm(bucket, request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest("These members are not known.")
    try:
        done, made = grouping.split_bucket(
            bucket,
            members=form.members(),
            who=person(request),
            why=form.cleaned_data["why"],
        )
    except GroupingRefusedError as refused:
        messages.error(request, str(refused))
        return redirect(bucket)
    _say(request, done, f"Split off “{bucket.title}”. New findings go on landing there.")
    return redirect(made)


@require_safe
def preview_rule(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What a rule of these parts would bring in and send away; nothing ticked lifts the rule."""
    bucket = load_bucket(uuid)
    parts, rule = _rule_parts(bucket), bucket.rules.filter(active=True).first()
    asked = "part" in request.GET or "none" in request.GET
    now = dict(rule.parts) if rule else {}
    ticked = [name for name in now or parts if name != "version"]
    form = PartsForm(parts, request.GET if asked else {"part": ticked})
    if not form.is_valid():
        return HttpResponseBadRequest("The bucket has no such part.")
    chosen, plan = form.chosen(), None
    problem = ""
    if chosen != now:
        try:
            plan = rules.plan_rule(bucket, chosen)
        except GroupingRefusedError as refused:
            problem = str(refused)
    differing = {one.name for one in differing_parts(bucket)}
    context = {
        "bucket": bucket,
        "rule": rule,
        "form": form,
        "rows": [
            (name, value, name in chosen, name in differing)
            for name, value in parts.items()
            if name != "version"
        ],
        "chosen": chosen,
        "plan": plan,
        "problem": problem,
        "asked": asked,
    }
    return render(request, "triage/rule.html", context, status=422 if problem and asked else 200)


@require_POST
def set_rule(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = load_bucket(uuid)
    form = PartsForm(_rule_parts(bucket), request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest("The bucket has no such part.")
    try:
        done = rules.set_rule(
            bucket, parts=form.chosen(), who=person(request), why=form.cleaned_data["why"]
        )
    except GroupingRefusedError as refused:
        messages.error(request, str(refused))
        return redirect("triage:preview-rule", bucket.uuid)
    _say(request, done, "The rule is set." if form.chosen() else "The rule is lifted.")
    return redirect(bucket)


# -------------------------------------------------------------------------------------- pieces
def _merge_context(form: MergeForm) -> dict[str, Any]:
    data = form.cleaned_data
    into, sources = data["into"], data["sources"]
    rows = merge_rows([into, *sources])
    all_parts = [bucket.parts for bucket in rows]
    shared = shared_parts(all_parts)
    names = dict.fromkeys(name for parts in all_parts for name in parts)
    smallest = min(rows, key=lambda bucket: (bucket.minimised_nodes, bucket.first_seen))
    return {
        "into": into,
        "rows": rows,
        "sources": sources,
        "why": data["why"],
        "shared": shared,
        "differing": [
            (name, [(bucket, bucket.parts.get(name, "")) for bucket in rows])
            for name in names
            if name not in shared
        ],
        "problem": _problem(lambda: grouping.check_merge(sources, into=into)),
        "mixed": len({(bucket.symptom, bucket.framework) for bucket in rows}) > 1,
        "judged": [
            bucket for bucket in sources if bucket.status not in (Bucket.Status.NEW, into.status)
        ],
        "after": {
            "title": smallest.title,
            "count": sum(bucket.count for bucket in rows),
            "first_seen": min(bucket.first_seen for bucket in rows),
            "last_seen": max(bucket.last_seen for bucket in rows),
            "minimised_nodes": smallest.minimised_nodes,
            "reproduced": sum(bucket.reproduced for bucket in rows),
            "attempts": sum(bucket.attempts for bucket in rows),
            "impact": max(bucket.impact for bucket in rows),
        },
    }


def _rule_parts(bucket: Bucket) -> Mapping[str, str]:
    """What a rule can name: the present rule's values, else what all share, else the smallest's."""
    record = best_finding(bucket)
    rule = bucket.rules.filter(active=True).first()
    own = dict(record.parts) if record else {}
    return {**own, **bucket.parts, **(dict(rule.parts) if rule else {})}


def _problem(check: Callable[[], None]) -> str:
    """The reason of a refusal, "" where there is none."""
    try:
        check()
    except GroupingRefusedError as refused:
        return str(refused)
    return ""


def _refused(request: HttpRequest, form: MergeForm) -> HttpResponse:
    for errors in form.errors.values():
        messages.error(request, " ".join(str(error) for error in errors))
    wanted = request.headers.get("Referer", "")
    picked = form.cleaned_data.get("picked") if hasattr(form, "cleaned_data") else None
    if picked and len(picked) == 1 and "/merge/" not in wanted:
        return redirect(picked[0])
    return redirect("triage:list-buckets")


def _say(request: HttpRequest, done: services.Done, text: str) -> None:
    if done.changed:
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    else:
        messages.info(request, "Nothing to change.")
