"""How the API shows buckets and what belongs to them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from triage.models import Bucket, BucketEvent, Note
from triage.services import allowed_moves

__all__ = [
    "BucketDetailSerializer",
    "BucketEventSerializer",
    "BucketSerializer",
    "ChangedBucketSerializer",
    "MenuSerializer",
    "NoteSerializer",
    "RulePlanSerializer",
    "SimilarSerializer",
]

_ROW = [
    "id",
    "title",
    "verdict",
    "symptom",
    "framework",
    "op",
    "status",
    "status_reason",
    "status_at",
    "false_alarm",
    "duplicate_of",
    "merged_into",
    "suppression",
    "assignee",
    "labels",
    "flag",
    "flag_reason",
    "flag_at",
    "count",
    "impact",
    "impact_points",
    "minimised_nodes",
    "reproduced",
    "attempts",
    "first_seen",
    "last_seen",
    "signature",
    "signature_version",
]


class PointSerializer(serializers.Serializer[Any]):
    """Some points of the impact, and why they are given or not given."""

    points = serializers.IntegerField()
    reason = serializers.CharField()


class BucketSerializer(serializers.ModelSerializer[Bucket]):
    """A bucket as a row of the inbox shows it."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    assignee = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    labels = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    duplicate_of = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    merged_into = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    suppression = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    impact_points = serializers.SerializerMethodField(help_text="Why its impact is what it is.")

    class Meta:
        model = Bucket
        fields = _ROW
        read_only_fields = fields

    @extend_schema_field(PointSerializer(many=True))
    def get_impact_points(self, bucket: Bucket) -> list[dict[str, object]]:
        return [{"points": points, "reason": reason} for points, reason in bucket.impact_points]


class BucketDetailSerializer(BucketSerializer):
    """A bucket with what its members share, what it is found by, and where it may go."""

    parts = serializers.DictField(child=serializers.CharField(), read_only=True)
    facets = serializers.SerializerMethodField(help_text="Kind to values: mode, op, form, ...")
    moves = serializers.SerializerMethodField(help_text="Statuses that it may be given.")

    class Meta(BucketSerializer.Meta):
        fields = [*_ROW, "parts", "facets", "moves"]
        read_only_fields = fields

    @extend_schema_field(
        serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    )
    def get_facets(self, bucket: Bucket) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for kind, value in bucket.facets.values_list("kind", "value"):
            found[kind].append(value)
        return found

    @extend_schema_field(
        serializers.ListField(child=serializers.ChoiceField(choices=Bucket.Status.choices))
    )
    def get_moves(self, bucket: Bucket) -> list[str]:
        return [choice.value for choice in allowed_moves(bucket.status)]


class ChangedBucketSerializer(BucketSerializer):
    """A bucket after a change; `/undo/{batch}/` takes the change back."""

    batch = serializers.SerializerMethodField()

    class Meta(BucketSerializer.Meta):
        fields = [*_ROW, "batch"]
        read_only_fields = fields

    @extend_schema_field(serializers.UUIDField())
    def get_batch(self, bucket: Bucket) -> str:
        return str(self.context["batch"])


class BucketEventSerializer(serializers.ModelSerializer[BucketEvent]):
    """A line of the history. `who` is null where a machine did it; `other`: another bucket."""

    who = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    other = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)

    class Meta:
        model = BucketEvent
        fields = [
            "kind",
            "who",
            "before",
            "after",
            "why",
            "other",
            "batch",
            "undone",
            "created_at",
        ]
        read_only_fields = fields


class NoteSerializer(serializers.ModelSerializer[Note]):
    """A note, in Markdown."""

    author = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)

    class Meta:
        model = Note
        fields = ["id", "author", "text", "created_at", "edited_at"]
        read_only_fields = fields


class OptionSerializer(serializers.Serializer[Any]):
    """A value of a filter and how many buckets have it."""

    value = serializers.CharField()
    text = serializers.CharField()
    count = serializers.IntegerField()


class MenuSerializer(serializers.Serializer[Any]):
    """A filter: its name in the query, its name for people, its values."""

    name = serializers.CharField()
    text = serializers.CharField()
    options = OptionSerializer(many=True)


class SimilarSerializer(serializers.Serializer[Any]):
    """A bucket that is like another: how much, in points, and why."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=Bucket.Status.choices)
    points = serializers.FloatField()
    reasons = serializers.ListField(child=serializers.CharField())


class ShiftSerializer(serializers.Serializer[Any]):
    """Findings that a rule takes from one bucket to another; no target: to one of their own."""

    # The class gives its fields away, so the `source` of a field stays what it is.
    source = serializers.UUIDField(source="source.uuid")  # type: ignore[assignment]
    target = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField()
    empties = serializers.BooleanField()

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_target(self, shift: Any) -> str | None:
        return str(shift.target.uuid) if shift.target else None

    @extend_schema_field(serializers.IntegerField())
    def get_findings(self, shift: Any) -> int:
        return len(shift.records)


class RulePlanSerializer(serializers.Serializer[Any]):
    """What a rule would move in and out, and how many members stay."""

    enter = ShiftSerializer(many=True)
    leave = ShiftSerializer(many=True)
    stay = serializers.IntegerField()
