"""REST API of reports: what their pages show and do."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from triage import proposals, reporting, services
from triage.api.filing import FilingActions
from triage.api.given import ConflictError, checked
from triage.api.upstream import (
    AnswerSerializer,
    MappingRuleSerializer,
    ReminderSerializer,
    ReportEventSerializer,
    UpstreamSerializer,
)
from triage.following import ask_now
from triage.forms import LinkForm
from triage.mapping import RULES
from triage.models import Following, Report
from triage.people import person
from triage.reminders import reminders
from triage.report_filters import DEFAULT_SORT, ReportFilter, sorted_reports
from triage.selectors import report_list
from triage.trackers import FORMS

__all__ = ["ReportSerializer", "ReportViewSet"]

_MOST_ANSWERS = 200


class ReportApiFilter(ReportFilter):
    """The table's filters, and the bucket."""

    bucket = django_filters.UUIDFilter(field_name="bucket__uuid", label="Bucket")


class ReportSerializer(serializers.ModelSerializer[Report]):
    """A report. `texts`: by the key of the form's field; `form_url`: where a person files it."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    bucket = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    finding = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    created_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    texts = serializers.DictField(source="fields", child=serializers.CharField(), read_only=True)
    form_url = serializers.SerializerMethodField()
    upstream = UpstreamSerializer(source="following", read_only=True, allow_null=True)

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
            "upstream",
            "proposed",
            "proposed_by",
            "proposed_why",
            "proposed_at",
            "created_by",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields

    def get_form_url(self, report: Report) -> str:
        return FORMS[report.form].url(report.title)


class TakeOverSerializer(serializers.Serializer[Any]):
    """The proposed status that was seen."""

    to = serializers.ChoiceField(choices=Report.Status.choices)


class KeepSerializer(serializers.Serializer[Any]):
    """Why ours stays."""

    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class ReportMoveSerializer(serializers.Serializer[Any]):
    """A status, and why."""

    to = serializers.ChoiceField(choices=Report.Status.choices)
    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class EditSerializer(serializers.Serializer[Any]):
    """New words; fields that are left out stay."""

    title = serializers.CharField(max_length=255, required=False)
    texts = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False
    )


class LinkSerializer(serializers.Serializer[Any]):
    """Address of the issue that a person has filed."""

    url = serializers.URLField(max_length=500)


class ReportViewSet(FilingActions, viewsets.ReadOnlyModelViewSet[Report]):
    """Reports: list, read, edit, link, move; what their trackers say, and what is proposed."""

    queryset = report_list().select_related("finding")
    serializer_class = ReportSerializer
    lookup_field = "uuid"
    filterset_class = ReportApiFilter

    def get_queryset(self) -> QuerySet[Report]:
        """As the table sorts them."""
        return sorted_reports(
            super().get_queryset(), self.request.query_params.get("sort", DEFAULT_SORT)
        )

    @extend_schema(request=EditSerializer, responses=ReportSerializer)
    def partial_update(self, request: Request, uuid: str) -> Response:
        """Change the title or texts."""
        report = self.get_object()
        given = checked(EditSerializer(data=request.data))
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
        given = checked(LinkSerializer(data=request.data))
        form = LinkForm(report, given)
        if not form.is_valid():
            raise serializers.ValidationError(form.errors.get_json_data())
        reporting.link_report(report, url=form.cleaned_data["url"], who=person(request))
        return self._read()

    @extend_schema(request=ReportMoveSerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def move(self, request: Request, uuid: str) -> Response:
        """Give it its next status."""
        given = checked(ReportMoveSerializer(data=request.data))
        try:
            reporting.move_report(self.get_object(), who=person(request), **given)
        except services.MoveRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._read()

    @extend_schema(request=TakeOverSerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"], url_path="take-over")
    def take_over(self, request: Request, uuid: str) -> Response:
        """Give it the proposed status."""
        given = checked(TakeOverSerializer(data=request.data))
        try:
            proposals.take_over(self.get_object(), who=person(request), **given)
        except services.MoveRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._read()

    @extend_schema(request=KeepSerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def keep(self, request: Request, uuid: str) -> Response:
        """Leave its status as it is, whatever is proposed."""
        given = checked(KeepSerializer(data=request.data))
        proposals.keep_status(self.get_object(), who=person(request), **given)
        return self._read()

    @extend_schema(request=None, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def ask(self, request: Request, uuid: str) -> Response:
        """Ask its tracker soon; 409 where it is not followed."""
        following = Following.objects.filter(report=self.get_object()).first()
        if following is None:
            raise ConflictError("It is not followed: link an issue on a tracker that is known.")
        ask_now(following)
        return self._read()

    @extend_schema(responses=AnswerSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], filterset_class=None, pagination_class=None)
    def answers(self, request: Request, uuid: str) -> Response:
        """Raw answers of the tracker with their times: the newest 200, the newest first."""
        rows = list(self.get_object().answers.all()[:_MOST_ANSWERS])
        return Response(AnswerSerializer(rows, many=True).data)

    @extend_schema(responses=ReportEventSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], filterset_class=None, pagination_class=None)
    def history(self, request: Request, uuid: str) -> Response:
        """What happened to it, the oldest first."""
        rows = list(self.get_object().events.select_related("who"))
        return Response(ReportEventSerializer(rows, many=True).data)

    @extend_schema(responses=ReminderSerializer(many=True), filters=False)
    @action(detail=False, methods=["get"], filterset_class=None, pagination_class=None)
    def reminders(self, request: Request) -> Response:
        """What of the reports asks for a person, the most pressing first."""
        return Response(ReminderSerializer(reminders(), many=True).data)

    @extend_schema(responses=MappingRuleSerializer(many=True), filters=False)
    @action(detail=False, methods=["get"], filterset_class=None, pagination_class=None)
    def mapping(self, request: Request) -> Response:
        """The table from what trackers say to our statuses; the first row that fits counts."""
        return Response(MappingRuleSerializer(RULES, many=True).data)

    def _read(self) -> Response:
        return Response(self.get_serializer(self.get_object()).data)
