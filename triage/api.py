"""REST API of buckets, findings and reports: what their pages show and do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from triage import reporting, services
from triage.filters import BucketFilter, sorted_buckets
from triage.forms import LinkForm
from triage.models import Bucket, FindingRecord, Report
from triage.people import person
from triage.selectors import buckets_for_lists, report_list
from triage.trackers import FORMS

__all__ = ["BucketViewSet", "FindingViewSet", "ReportViewSet"]


class ConflictError(APIException):
    """409: the object's present status does not allow what was asked."""

    status_code = 409
    default_code = "conflict"


class BucketSerializer(serializers.ModelSerializer[Bucket]):
    """A bucket as a row of the inbox shows it."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    assignee = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    labels = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)

    class Meta:
        model = Bucket
        fields = [
            "id",
            "title",
            "verdict",
            "symptom",
            "framework",
            "op",
            "status",
            "status_reason",
            "assignee",
            "labels",
            "flag",
            "flag_reason",
            "count",
            "impact",
            "minimised_nodes",
            "reproduced",
            "attempts",
            "first_seen",
            "last_seen",
            "signature",
            "signature_version",
        ]
        read_only_fields = fields


class FindingSerializer(serializers.ModelSerializer[FindingRecord]):
    """A finding; `data` is all that the engine recorded, the script included."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    bucket = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    campaign = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    shard = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)

    class Meta:
        model = FindingRecord
        fields = [
            "id",
            "bucket",
            "campaign",
            "shard",
            "round",
            "key",
            "symptom",
            "framework",
            "op",
            "title",
            "seed",
            "mutator",
            "minimised_nodes",
            "original_nodes",
            "reproduced",
            "attempts",
            "created_at",
            "data",
        ]
        read_only_fields = fields


class ReportSerializer(serializers.ModelSerializer[Report]):
    """A report. `texts`: by the key of the form's field; `form_url`: where a person files it."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    bucket = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    finding = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    created_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    texts = serializers.DictField(source="fields", child=serializers.CharField(), read_only=True)
    form_url = serializers.SerializerMethodField()

    class Meta:
        model = Report
        fields = [
            "id",
            "bucket",
            "finding",
            "tracker",
            "form",
            "form_url",
            "title",
            "texts",
            "status",
            "upstream_url",
            "upstream_id",
            "created_by",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    def get_form_url(self, report: Report) -> str:
        return FORMS[report.form].url(report.title)


class MoveSerializer(serializers.Serializer[Any]):
    """A status, and why."""

    to = serializers.ChoiceField(choices=Bucket.Status.choices)
    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    duplicate_of = serializers.SlugRelatedField[Any](
        slug_field="uuid", queryset=Bucket.objects.all(), required=False, allow_null=True
    )


class ReportMoveSerializer(serializers.Serializer[Any]):
    """A status, and why."""

    to = serializers.ChoiceField(choices=Report.Status.choices)
    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class AssignSerializer(serializers.Serializer[Any]):
    """A user name, or null for nobody."""

    assignee = serializers.SlugRelatedField[Any](
        slug_field="username",
        queryset=get_user_model().objects.filter(is_active=True),
        allow_null=True,
    )


class LabelsSerializer(serializers.Serializer[Any]):
    """Labels to add beside those that are there."""

    add = serializers.ListField(child=serializers.CharField(max_length=40), allow_empty=False)


class NoteSerializer(serializers.Serializer[Any]):
    """A note in Markdown."""

    text = serializers.CharField(max_length=20_000)


class EditSerializer(serializers.Serializer[Any]):
    """New words; fields that are left out stay."""

    title = serializers.CharField(max_length=255, required=False)
    texts = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False
    )


class LinkSerializer(serializers.Serializer[Any]):
    """Address of the issue that a person has filed."""

    url = serializers.URLField(max_length=500)


class InboxFilterBackend(DjangoFilterBackend):
    """The filters and sorts of the inbox; without a status, what needs a person."""

    def filter_queryset(
        self, request: HttpRequest, queryset: QuerySet[Bucket], view: APIView
    ) -> QuerySet[Bucket]:
        chosen = BucketFilter(request.GET, queryset=queryset, user=person(request))
        if not chosen.is_valid():
            raise serializers.ValidationError(chosen.errors)
        return sorted_buckets(chosen.qs, request.GET.get("sort", ""))


class BucketViewSet(viewsets.ReadOnlyModelViewSet[Bucket]):
    """Buckets: list with the inbox's filters, read, judge, assign, label, note."""

    queryset = buckets_for_lists()
    serializer_class = BucketSerializer
    lookup_field = "uuid"
    filterset_class = BucketFilter
    filter_backends = [InboxFilterBackend]

    def get_object(self) -> Bucket:
        """By its id alone: the inbox's default filter must not hide it."""
        bucket = buckets_for_lists().filter(uuid=_uuid(self.kwargs["uuid"])).first()
        if bucket is None:
            raise NotFound
        return bucket

    @extend_schema(request=MoveSerializer, responses=BucketSerializer)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, uuid: str) -> Response:
        """Give it a status."""
        given = _valid(MoveSerializer(data=request.data))
        done = services.move_buckets([self.get_object()], who=person(request), **given)
        if done.refused:
            raise ConflictError(done.refused[0])
        return self._read()

    @extend_schema(request=AssignSerializer, responses=BucketSerializer)
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, uuid: str) -> Response:
        """Give it to somebody."""
        given = _valid(AssignSerializer(data=request.data))
        services.assign_buckets([self.get_object()], who=person(request), **given)
        return self._read()

    @extend_schema(request=LabelsSerializer, responses=BucketSerializer)
    @action(detail=True, methods=["post"])
    def labels(self, request: Request, uuid: str) -> Response:
        """Add labels."""
        given = _valid(LabelsSerializer(data=request.data))
        services.add_labels([self.get_object()], names=given["add"], who=person(request))
        return self._read()

    @extend_schema(request=NoteSerializer, responses=BucketSerializer)
    @action(detail=True, methods=["post"])
    def notes(self, request: Request, uuid: str) -> Response:
        """Write a note."""
        given = _valid(NoteSerializer(data=request.data))
        services.add_note(self.get_object(), text=given["text"], who=person(request))
        return self._read(status=201)

    def _read(self, status: int = 200) -> Response:
        return Response(self.get_serializer(self.get_object()).data, status=status)


class FindingViewSet(viewsets.ReadOnlyModelViewSet[FindingRecord]):
    """Findings, and a report drafted from one."""

    queryset = FindingRecord.objects.select_related("bucket", "campaign", "shard")
    serializer_class = FindingSerializer
    lookup_field = "uuid"
    filterset_fields = ["bucket__uuid", "campaign__uuid", "symptom", "framework", "op", "seed"]

    @extend_schema(request=None, responses={201: ReportSerializer})
    @action(detail=True, methods=["post"])
    def report(self, request: Request, uuid: str) -> Response:
        """Draft a report in the tracker's form; nothing is sent."""
        report = reporting.draft_report(self.get_object(), who=person(request))
        return Response(ReportSerializer(report).data, status=201)


class ReportViewSet(viewsets.ReadOnlyModelViewSet[Report]):
    """Reports: list, read, edit, link, move."""

    queryset = report_list().select_related("finding")
    serializer_class = ReportSerializer
    lookup_field = "uuid"
    filterset_fields = ["status", "tracker", "bucket__uuid"]

    @extend_schema(request=EditSerializer, responses=ReportSerializer)
    def partial_update(self, request: Request, uuid: str) -> Response:
        """Change the title or texts."""
        report = self.get_object()
        given = _valid(EditSerializer(data=request.data))
        texts = given.get("texts", {})
        unknown = set(texts) - {field.key for field in FORMS[report.form].fields}
        if unknown:
            raise serializers.ValidationError(f"Unknown fields: {', '.join(sorted(unknown))}.")
        title = given.get("title", report.title)
        reporting.edit_report(report, title=title, fields=texts, who=person(request))
        return self._read()

    @extend_schema(request=LinkSerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def link(self, request: Request, uuid: str) -> Response:
        """Say where it was filed."""
        report = self.get_object()
        given = _valid(LinkSerializer(data=request.data))
        form = LinkForm(report, given)
        if not form.is_valid():
            raise serializers.ValidationError(form.errors.get_json_data())
        reporting.link_report(report, url=form.cleaned_data["url"], who=person(request))
        return self._read()

    @extend_schema(request=ReportMoveSerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, uuid: str) -> Response:
        """Give it its next status."""
        given = _valid(ReportMoveSerializer(data=request.data))
        try:
            reporting.move_report(self.get_object(), who=person(request), **given)
        except services.MoveRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._read()

    def _read(self) -> Response:
        return Response(self.get_serializer(self.get_object()).data)


def _valid(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFound from error
