"""What the API of reports says of the linter, of duplicates and of posting."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from triage import duplicates, filing
from triage.api.given import ConflictError, checked
from triage.forms import LinkForm
from triage.linting import service
from triage.linting.labels import proposed_labels
from triage.models import DuplicateSearch, Filing, Report
from triage.people import person
from triage.report_forms import OverrideForm
from triage.report_selectors import lint_panel

__all__ = ["FilingActions"]


class CheckedSerializer(serializers.Serializer[Any]):
    """A rule, and what it says. `reason`: of the override that holds, where there is one."""

    rule = serializers.CharField(source="rule.key")
    title = serializers.CharField(source="rule.title")
    asked_by = serializers.CharField(source="rule.source")
    verdict = serializers.CharField(source="check.verdict.value")
    seen = serializers.CharField(source="check.seen")
    expected = serializers.CharField(source="check.expected")
    note = serializers.CharField(source="check.note")
    blocks = serializers.BooleanField()
    reason = serializers.CharField(source="override.reason", default=None, allow_null=True)


class LabelSerializer(serializers.Serializer[Any]):
    """A label that the tracker's rubric would give, and why."""

    name = serializers.CharField(source="label")
    why = serializers.CharField()


class LintSerializer(serializers.Serializer[Any]):
    """Whether the report may be filed, every rule, and the labels that it would get."""

    passes = serializers.BooleanField()
    rules = CheckedSerializer(many=True)
    labels = LabelSerializer(many=True)


class OverrideSerializer(serializers.Serializer[Any]):
    """`seen`: what the rule says that it saw; it must still see that."""

    rule = serializers.CharField()
    seen = serializers.CharField()
    reason = serializers.CharField(min_length=10, max_length=500)


class WithdrawSerializer(serializers.Serializer[Any]):
    rule = serializers.CharField()


class DuplicateSearchSerializer(serializers.ModelSerializer[DuplicateSearch]):
    """What the tracker was asked, and what it found, or the problem."""

    issues = serializers.ListField(child=serializers.DictField())

    class Meta:
        model = DuplicateSearch
        fields = ["query", "issues", "problem", "created_at"]
        read_only_fields = fields


class QuerySerializer(serializers.Serializer[Any]):
    """Words to search for; the tool's own where they are left out."""

    query = serializers.CharField(max_length=200, required=False)


class JoinSerializer(serializers.Serializer[Any]):
    """Address of an issue that is there already."""

    url = serializers.URLField(max_length=500)


class ConfirmSerializer(serializers.Serializer[Any]):
    """The explicit confirmation: true."""

    confirmed = serializers.BooleanField()


class FilingSerializer(serializers.ModelSerializer[Filing]):
    """What came of posting it."""

    class Meta:
        model = Filing
        fields = ["state", "title", "url", "problem", "created_at", "ended_at"]
        read_only_fields = fields


class FilingActions(viewsets.GenericViewSet[Report]):
    """Actions of `ReportViewSet` on the way to the tracker."""

    @extend_schema(responses=LintSerializer)
    @action(detail=True)
    def lint(self, request: Request, uuid: str) -> Response:
        """Every rule of the linter, and the labels that the report would get."""
        return self._lint(self.get_object())

    @extend_schema(request=OverrideSerializer, responses=LintSerializer)
    @action(detail=True, methods=["post"])
    def override(self, request: Request, uuid: str) -> Response:
        """File although a rule is broken, with a reason that is kept."""
        given = checked(OverrideSerializer(data=request.data))
        form = OverrideForm(given)
        if not form.is_valid():
            raise serializers.ValidationError(form.errors.get_json_data())
        report = self.get_object()
        try:
            service.override_rule(report, who=person(request), **given)
        except service.OverrideRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return self._lint(report)

    @extend_schema(request=WithdrawSerializer, responses=LintSerializer)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, uuid: str) -> Response:
        """Take an override back."""
        given = checked(WithdrawSerializer(data=request.data))
        report = self.get_object()
        service.withdraw_override(report, rule=given["rule"], who=person(request))
        return self._lint(report)

    @extend_schema(request=QuerySerializer, responses=DuplicateSearchSerializer)
    @action(detail=True, methods=["post"])
    def search(self, request: Request, uuid: str) -> Response:
        """Search the tracker for the same bug."""
        report = self.get_object()
        given = checked(QuerySerializer(data=request.data))
        query = given.get("query") or duplicates.suggested_query(report)
        found = duplicates.search_tracker(report, query=query, who=person(request))
        return Response(DuplicateSearchSerializer(found).data)

    @extend_schema(request=JoinSerializer, responses=JoinSerializer)
    @action(detail=True, methods=["post"])
    def join(self, request: Request, uuid: str) -> Response:
        """Follow an issue that is there already, instead of filing another."""
        report = self.get_object()
        if report.upstream_url:
            raise ConflictError("It is linked already.")
        form = LinkForm(report, checked(JoinSerializer(data=request.data)))
        if not form.is_valid():
            raise serializers.ValidationError(form.errors.get_json_data())
        duplicates.join_issue(report, url=form.cleaned_data["url"], who=person(request))
        return Response({"url": report.upstream_url})

    @extend_schema(request=ConfirmSerializer, responses=FilingSerializer)
    @action(detail=True, methods=["post"], url_path="post")
    def file(self, request: Request, uuid: str) -> Response:
        """Post it through the tracker's API: for administrators, and at most once."""
        if not person(request).is_staff:
            raise PermissionDenied("Only administrators post through the API.")
        if not checked(ConfirmSerializer(data=request.data))["confirmed"]:
            raise serializers.ValidationError({"confirmed": "Confirm that it is to be posted."})
        try:
            made = filing.file_report(self.get_object(), who=person(request))
        except filing.FilingRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return Response(FilingSerializer(made).data)

    def _lint(self, report: Report) -> Response:
        panel = lint_panel(report)
        if panel.lint is None:
            raise ConflictError(panel.problem)
        labels = proposed_labels(report.finding, report.tracker)
        shown = {"passes": panel.passes, "rules": panel.rows, "labels": labels}
        return Response(LintSerializer(shown).data)
