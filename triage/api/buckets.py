"""REST API of buckets: the inbox with its filters, what people decide, and grouping."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from triage import grouping, rules, services
from triage.alike import similar_buckets
from triage.api.bucket_forms import (
    AssignSerializer,
    BulkSerializer,
    LabelsSerializer,
    MergeSerializer,
    MoveSerializer,
    NewNoteSerializer,
    RuleSerializer,
    SplitSerializer,
)
from triage.api.bucket_rows import (
    BucketDetailSerializer,
    BucketEventSerializer,
    BucketSerializer,
    ChangedBucketSerializer,
    MenuSerializer,
    NoteSerializer,
    RulePlanSerializer,
    SimilarSerializer,
)
from triage.api.findings import FindingRowSerializer
from triage.api.given import ConflictError, DoneSerializer, as_uuid, checked
from triage.exports import csv_download, json_download
from triage.filters import SORTS, BucketFilter, sorted_buckets
from triage.inbox_selectors import filter_menus
from triage.models import Bucket
from triage.people import person
from triage.selectors import buckets_for_lists, team

__all__ = ["BucketViewSet"]

_SORT = OpenApiParameter(
    "sort", str, description=f"{', '.join(SORTS)}; a minus puts the greatest first."
)
_KIND = OpenApiParameter("kind", str, enum=["csv", "json"], default="json")


class InboxFilterBackend(DjangoFilterBackend):
    """The filters and sorts of the inbox; without a status, what needs a person."""

    def filter_queryset(
        self, request: HttpRequest, queryset: QuerySet[Bucket], view: APIView
    ) -> QuerySet[Bucket]:
        return _matching(request, request.GET, queryset)


def _matching(
    request: HttpRequest, query: QueryDict, queryset: QuerySet[Bucket]
) -> QuerySet[Bucket]:
    chosen = BucketFilter(query, queryset=queryset, user=person(request))
    if not chosen.is_valid():
        raise serializers.ValidationError(chosen.errors)
    return sorted_buckets(chosen.qs, query.get("sort", ""))


class BucketViewSet(viewsets.ReadOnlyModelViewSet[Bucket]):
    """Buckets: list with the inbox's filters, read, judge, assign, label, note, group, export."""

    queryset = buckets_for_lists().select_related("duplicate_of", "merged_into", "suppression")
    serializer_class = BucketSerializer
    lookup_field = "uuid"
    filterset_class = BucketFilter
    filter_backends = [InboxFilterBackend]

    def get_object(self) -> Bucket:
        """By its id alone: neither the inbox's default filter nor a merge must hide it."""
        found = (
            Bucket.with_merged.select_related(
                "assignee", "duplicate_of", "merged_into", "suppression"
            )
            .prefetch_related("labels")
            .filter(uuid=as_uuid(self.kwargs["uuid"]))
            .first()
        )
        if found is None:
            raise NotFound
        return found

    # ------------------------------------------------------------------------------- reading
    @extend_schema(parameters=[_SORT])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """What the inbox shows with the same filters and the same sort."""
        return super().list(request, *args, **kwargs)

    @extend_schema(responses=BucketDetailSerializer)
    def retrieve(self, request: Request, uuid: str) -> Response:
        """One bucket, a merged one too: `merged_into` says where its findings are."""
        return Response(BucketDetailSerializer(self.get_object()).data)

    @extend_schema(
        filters=True,
        parameters=[_SORT, _KIND],
        responses={
            (200, "application/json"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    @action(detail=False, pagination_class=None)
    def export(self, request: Request) -> StreamingHttpResponse:
        """All that the filters match, as a file of CSV or JSON."""
        rows = self.filter_queryset(self.get_queryset())
        download = csv_download if request.GET.get("kind") == "csv" else json_download
        return download(rows, site=request.build_absolute_uri("/").rstrip("/"))

    @extend_schema(filters=True, responses=MenuSerializer(many=True))
    @action(detail=False, pagination_class=None)
    def filters(self, request: Request) -> Response:
        """Values of every filter, with counts among the buckets of the chosen status."""
        chosen = BucketFilter(request.GET, queryset=Bucket.objects.all(), user=person(request))
        if not chosen.is_valid():
            raise serializers.ValidationError(chosen.errors)
        names = [one.get_username() for one in team()]
        return Response(MenuSerializer(filter_menus(chosen, request.GET, names), many=True).data)

    @extend_schema(filters=False, responses=FindingRowSerializer(many=True))
    @action(detail=True, filter_backends=[])
    def findings(self, request: Request, uuid: str) -> Response:
        """Its members, the smallest first."""
        rows = self.get_object().findings.select_related("bucket", "campaign", "shard")
        rows = rows.defer("data").order_by("minimised_nodes", "-created_at", "-id")
        return self._page(rows, FindingRowSerializer)

    @extend_schema(filters=False, responses=BucketEventSerializer(many=True))
    @action(detail=True, filter_backends=[])
    def history(self, request: Request, uuid: str) -> Response:
        """Who changed what and why, the newest first."""
        events = self.get_object().events.select_related("who", "other")
        return self._page(events.order_by("-created_at", "-id"), BucketEventSerializer)

    @extend_schema(filters=False, responses=SimilarSerializer(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def similar(self, request: Request, uuid: str) -> Response:
        """Buckets most like it, the nearest first."""
        found = [
            {
                "id": one.bucket.uuid,
                "title": one.bucket.title,
                "status": one.bucket.status,
                "points": one.points,
                "reasons": one.reasons,
            }
            for one in similar_buckets(self.get_object())
        ]
        return Response(SimilarSerializer(found, many=True).data)

    # ------------------------------------------------------------------------------ deciding
    @extend_schema(request=MoveSerializer, responses=ChangedBucketSerializer)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, uuid: str) -> Response:
        """Give it a status."""
        given = checked(MoveSerializer(data=request.data))
        return self._done(services.move_buckets([self._standing()], who=person(request), **given))

    @extend_schema(request=AssignSerializer, responses=ChangedBucketSerializer)
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, uuid: str) -> Response:
        """Give it to somebody, or to nobody."""
        given = checked(AssignSerializer(data=request.data))
        return self._done(services.assign_buckets([self._standing()], who=person(request), **given))

    @extend_schema(request=LabelsSerializer, responses=ChangedBucketSerializer)
    @action(detail=True, methods=["post"])
    def labels(self, request: Request, uuid: str) -> Response:
        """Add labels, or remove them."""
        given = checked(LabelsSerializer(data=request.data))
        bucket, who = self._standing(), person(request)
        if given.get("add"):
            return self._done(services.add_labels([bucket], names=given["add"], who=who))
        return self._done(services.remove_labels([bucket], names=given["remove"], who=who))

    @extend_schema(methods=["GET"], filters=False, responses=NoteSerializer(many=True))
    @extend_schema(methods=["POST"], request=NewNoteSerializer, responses={201: NoteSerializer})
    @action(detail=True, methods=["get", "post"], pagination_class=None, filter_backends=[])
    def notes(self, request: Request, uuid: str) -> Response:
        """Its notes, the oldest first; or write one."""
        if request.method == "GET":
            rows = self.get_object().notes.filter(deleted_in=None).select_related("author")
            return Response(NoteSerializer(rows, many=True).data)
        given = checked(NewNoteSerializer(data=request.data))
        note = services.add_note(self._standing(), who=person(request), **given)
        return Response(NoteSerializer(note).data, status=201)

    @extend_schema(methods=["PATCH"], request=NewNoteSerializer, responses=NoteSerializer)
    @extend_schema(methods=["DELETE"], request=None, responses=DoneSerializer)
    @action(detail=True, methods=["patch", "delete"], url_path=r"notes/(?P<note>\d+)")
    def note(self, request: Request, uuid: str, note: str) -> Response:
        """Write a note of yours anew, or delete it; the batch brings it back."""
        who = person(request)
        mine = self.get_object().notes.filter(pk=int(note), author=who, deleted_in=None)
        found = mine.select_related("bucket").first()
        if found is None:
            raise NotFound
        if request.method == "DELETE":
            return Response(DoneSerializer(services.delete_note(found, who=who)).data)
        given = checked(NewNoteSerializer(data=request.data))
        return Response(NoteSerializer(services.edit_note(found, who=who, **given)).data)

    @extend_schema(request=None, responses=BucketSerializer)
    @action(detail=True, methods=["post"], url_path="clear-flag")
    def clear_flag(self, request: Request, uuid: str) -> Response:
        """Take down what a machine raised: a person has looked."""
        services.clear_flag(self._standing(), who=person(request))
        return Response(BucketSerializer(self.get_object()).data)

    @extend_schema(request=BulkSerializer, responses=DoneSerializer)
    @action(detail=False, methods=["post"])
    def change(self, request: Request) -> Response:
        """One action on those named, or on all that filters match."""
        given = checked(BulkSerializer(data=request.data))
        rows = buckets_for_lists()
        if given.get("filters") is not None:
            rows = _matching(request, QueryDict(given["filters"]), rows)
            now, then = rows.count(), given.get("matching")
            if then not in (None, now):
                raise ConflictError(f"{then} matched when you looked, {now} do now.")
        else:
            rows = rows.filter(uuid__in=given["ids"])
        return Response(DoneSerializer(_change(rows, given, request)).data)

    # ------------------------------------------------------------------------------ grouping
    @extend_schema(request=MergeSerializer, responses=ChangedBucketSerializer)
    @action(detail=True, methods=["post"])
    def merge(self, request: Request, uuid: str) -> Response:
        """Take in other buckets: their findings, notes, reports and labels."""
        given, into = checked(MergeSerializer(data=request.data)), self.get_object()
        try:
            done = grouping.merge_buckets(
                given["sources"], into=into, who=person(request), why=given["why"]
            )
        except grouping.GroupingRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._done(done)

    @extend_schema(request=SplitSerializer, responses={201: ChangedBucketSerializer})
    @action(detail=True, methods=["post"])
    def split(self, request: Request, uuid: str) -> Response:
        """Put some of its findings into a bucket of their own, which is the answer."""
        bucket = self.get_object()
        given = checked(SplitSerializer(data=request.data))
        members = bucket.findings.filter(uuid__in=given["findings"])
        try:
            done, made = grouping.split_bucket(
                bucket, members=members, who=person(request), why=given["why"]
            )
        except grouping.GroupingRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        self.kwargs["uuid"] = str(made.uuid)
        return self._done(done, status=201)

    @extend_schema(methods=["GET"], responses=RuleSerializer)
    @extend_schema(methods=["POST"], request=RuleSerializer, responses=ChangedBucketSerializer)
    @action(detail=True, methods=["get", "post"])
    def rule(self, request: Request, uuid: str) -> Response:
        """The parts of a signature that matter for it; or say which. No parts lift the rule."""
        bucket = self.get_object()
        if request.method == "GET":
            rule = bucket.rules.filter(active=True).first()
            parts, why = (rule.parts, rule.why) if rule else ({}, "")
            return Response(RuleSerializer({"parts": parts, "why": why}).data)
        given = checked(RuleSerializer(data=request.data))
        try:
            done = rules.set_rule(bucket, who=person(request), **given)
        except grouping.GroupingRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._done(done)

    @extend_schema(request=RuleSerializer, responses=RulePlanSerializer)
    @action(detail=True, methods=["post"], url_path="rule/preview")
    def preview_rule(self, request: Request, uuid: str) -> Response:
        """What a rule would move; nothing is changed."""
        given = checked(RuleSerializer(data=request.data))
        try:
            plan = rules.plan_rule(self.get_object(), given["parts"])
        except grouping.GroupingRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return Response(RulePlanSerializer(plan).data)

    # -------------------------------------------------------------------------------- pieces
    def _page(
        self, rows: QuerySet[Any], serializer: type[serializers.BaseSerializer[Any]]
    ) -> Response:
        """One page of what belongs to a bucket."""
        paginator = self.paginator
        assert paginator is not None, "lists come in pages"
        page = paginator.paginate_queryset(rows, self.request, view=self)
        return self.get_paginated_response(serializer(page, many=True).data)

    def _standing(self) -> Bucket:
        """The bucket to decide about; 409 where its findings are in another."""
        bucket = self.get_object()
        if bucket.merged_into is not None:
            raise ConflictError(f"It is merged into {bucket.merged_into.uuid}.")
        return bucket

    def _done(self, done: services.Done, status: int = 200) -> Response:
        """The bucket as it is now, with the batch that undoes the action; 409 where refused."""
        if done.refused:
            raise ConflictError(done.refused[0])
        data = ChangedBucketSerializer(self.get_object(), context={"batch": done.batch}).data
        return Response(data, status=status)


def _change(rows: QuerySet[Bucket], given: dict[str, Any], request: HttpRequest) -> services.Done:
    who = person(request)
    match given["action"]:
        case "move":
            return services.move_buckets(
                rows,
                to=given["to"],
                why=given["why"],
                false_alarm=given["false_alarm"],
                who=who,
            )
        case "assign":
            return services.assign_buckets(rows, assignee=given["assignee"], who=who)
        case "label":
            return services.add_labels(rows, names=given["labels"], who=who)
        case _:
            return services.remove_labels(rows, names=given["labels"], who=who)
