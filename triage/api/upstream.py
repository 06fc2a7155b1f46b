"""What the API tells of trackers: their state, their raw answers, their table, and reminders."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from triage.models import Following, Report, ReportEvent, UpstreamAnswer

__all__ = [
    "AnswerSerializer",
    "MappingRuleSerializer",
    "ReminderSerializer",
    "ReportEventSerializer",
    "UpstreamSerializer",
]


class PullSerializer(serializers.Serializer[Any]):
    """A pull request that names the issue. `closes`: its words say that it ends it."""

    url = serializers.CharField()
    title = serializers.CharField()
    state = serializers.CharField()
    closes = serializers.BooleanField()


class UpstreamSerializer(serializers.ModelSerializer[Following]):
    """What the tracker says now. `observed`: a status of ours, by the table of `mapping`."""

    labels = serializers.ListField(child=serializers.CharField(), read_only=True)
    assignees = serializers.ListField(child=serializers.CharField(), read_only=True)
    pulls = PullSerializer(many=True, read_only=True)

    class Meta:
        model = Following
        fields = [
            "site",
            "address",
            "observed",
            "observed_why",
            "observed_at",
            "title",
            "state",
            "state_reason",
            "labels",
            "assignees",
            "pulls",
            "awaits_author",
            "last_activity",
            "duplicate_of",
            "original_observed",
            "seen_at",
            "problem",
            "problem_kind",
            "failures",
            "next_at",
        ]
        read_only_fields = fields


class AnswerSerializer(serializers.ModelSerializer[UpstreamAnswer]):
    """A raw answer, or what went wrong. `parts`: the tracker's JSON by name."""

    labels = serializers.ListField(child=serializers.CharField(), read_only=True)
    parts = serializers.DictField(read_only=True)

    class Meta:
        model = UpstreamAnswer
        fields = UpstreamAnswer.SHOWN
        read_only_fields = fields


class ReportEventSerializer(serializers.ModelSerializer[ReportEvent]):
    """A line of a report's history. `who`: null for a machine."""

    who = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)

    class Meta:
        model = ReportEvent
        fields = ["kind", "who", "before", "after", "why", "created_at"]
        read_only_fields = fields


class ReminderSerializer(serializers.Serializer[Any]):
    """One thing to do about a report."""

    kind = serializers.CharField()
    report = serializers.UUIDField(source="report.uuid")
    text = serializers.CharField()
    since = serializers.DateTimeField()


class MappingRuleSerializer(serializers.Serializer[Any]):
    """A row: on these sites, an issue of which this can be said has that status."""

    sites = serializers.ListField(child=serializers.CharField())
    says = serializers.CharField()
    ours = serializers.ChoiceField(choices=Report.Status.choices)
