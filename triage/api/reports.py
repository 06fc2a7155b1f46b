"""REST API of reports: what their pages show and do."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from triage import reporting, services
from triage.api.given import ConflictError, checked
from triage.forms import LinkForm
from triage.models import Report
from triage.people import person
from triage.selectors import report_list
from triage.trackers import FORMS

__all__ = ["ReportSerializer", "ReportViewSet"]


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

    def _read(self) -> Response:
        return Response(self.get_serializer(self.get_object()).data)
