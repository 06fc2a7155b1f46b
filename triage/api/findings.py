"""REST API of findings and their reruns: read, run again, draft a report."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.models import Environment
from triage import reporting, reruns
from triage.api.given import ConflictError, checked
from triage.api.reports import ReportSerializer
from triage.bucket_selectors import environments_of
from triage.drafting.rendering import TemplateFaultError
from triage.models import FindingRecord, Rerun
from triage.people import person

__all__ = ["FindingRowSerializer", "FindingViewSet", "RerunViewSet"]

_ROW = [
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
    "impact",
    "parts",
    "created_at",
]


class FindingRowSerializer(serializers.ModelSerializer[FindingRecord]):
    """A finding as a list shows it. `parts`: what its signature is made of."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    bucket = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    campaign = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    shard = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    parts = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = FindingRecord
        fields = _ROW
        read_only_fields = fields


class FindingSerializer(FindingRowSerializer):
    """A finding; `data` is all that the engine recorded, the script included."""

    class Meta(FindingRowSerializer.Meta):
        fields = [*_ROW, "data"]
        read_only_fields = fields


class RerunSerializer(serializers.ModelSerializer[Rerun]):
    """A rerun. `words`: what it says; `results`: how each attempt ended and what it printed."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    finding = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    asked_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    environment = serializers.SlugRelatedField[Any](slug_field="name", read_only=True)
    words = serializers.CharField(read_only=True)
    reproduced = serializers.IntegerField(read_only=True)
    passed = serializers.IntegerField(read_only=True)
    versions = serializers.DictField(child=serializers.CharField(), read_only=True)
    results = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = Rerun
        fields = [
            "id",
            "finding",
            "asked_by",
            "environment",
            "attempts",
            "state",
            "words",
            "reproduced",
            "passed",
            "versions",
            "results",
            "problem",
            "asked_at",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields


class NewRerunSerializer(serializers.Serializer[Any]):
    """Where and how often; the finding's own framework as it is set up here, where not said."""

    environment = serializers.SlugRelatedField[Any](
        slug_field="name", queryset=Environment.objects.all(), required=False, allow_null=True
    )
    attempts = serializers.ChoiceField(choices=reruns.ATTEMPTS, default=3)


class FindingViewSet(viewsets.ReadOnlyModelViewSet[FindingRecord]):
    """Findings: list, read, the script, run again, draft a report."""

    queryset = FindingRecord.objects.select_related("bucket", "campaign", "shard")
    serializer_class = FindingSerializer
    lookup_field = "uuid"
    filterset_fields = ["bucket__uuid", "campaign__uuid", "symptom", "framework", "op", "seed"]

    @extend_schema(responses=FindingRowSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Without `data`, newest first."""
        rows = self.filter_queryset(self.get_queryset().defer("data"))
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(FindingRowSerializer(page, many=True).data)

    @extend_schema(responses={(200, "text/x-python"): OpenApiTypes.STR})
    @action(detail=True)
    def script(self, request: Request, uuid: str) -> HttpResponse:
        """The standalone program that asserts the difference."""
        text = self.get_object().finding().script
        return HttpResponse(text, content_type="text/x-python; charset=utf-8")

    @extend_schema(request=None, responses={201: ReportSerializer})
    @action(detail=True, methods=["post"])
    def report(self, request: Request, uuid: str) -> Response:
        """Draft a report in the tracker's form; nothing is sent."""
        try:
            report = reporting.draft_report(self.get_object(), who=person(request))
        except TemplateFaultError as fault:
            raise ConflictError(f"The templates cannot be filled in: {fault}") from fault
        return Response(ReportSerializer(report).data, status=201)

    @extend_schema(request=NewRerunSerializer, responses={201: RerunSerializer})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, uuid: str) -> Response:
        """Run the script again, by a worker; `/reruns/` says how it goes."""
        record, given = self.get_object(), checked(NewRerunSerializer(data=request.data))
        environment = given.get("environment")
        if environment is not None and environment not in environments_of(record.framework):
            raise serializers.ValidationError(
                {"environment": f"{environment.name} does not have {record.framework}."}
            )
        rerun = reruns.ask_rerun(record, who=person(request), **given)
        return Response(RerunSerializer(rerun).data, status=201)


class RerunViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Rerun]
):
    """Scripts of findings that were run again: list, read, cancel."""

    queryset = Rerun.objects.select_related("finding", "asked_by", "environment")
    serializer_class = RerunSerializer
    lookup_field = "uuid"
    filterset_fields = ["finding__uuid", "finding__bucket__uuid", "state"]

    @extend_schema(request=None, responses=RerunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, uuid: str) -> Response:
        """End it without a result."""
        if not reruns.cancel_rerun(self.get_object()):
            raise ConflictError("It has ended already.")
        return Response(self.get_serializer(self.get_object()).data)
