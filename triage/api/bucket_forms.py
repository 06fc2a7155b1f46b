"""What the API takes to change buckets."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from rest_framework import serializers

from triage.models import Bucket

__all__ = [
    "AssignSerializer",
    "BulkSerializer",
    "LabelsSerializer",
    "MergeSerializer",
    "MoveSerializer",
    "NewNoteSerializer",
    "RuleSerializer",
    "SplitSerializer",
]


class _WhySerializer(serializers.Serializer[Any]):
    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class MoveSerializer(_WhySerializer):
    """A status, and why. What else is given counts for that status alone."""

    to = serializers.ChoiceField(choices=Bucket.Status.choices)
    duplicate_of = serializers.SlugRelatedField[Any](
        slug_field="uuid",
        queryset=Bucket.objects.all(),
        required=False,
        allow_null=True,
        help_text="Of a duplicate.",
    )
    false_alarm = serializers.ChoiceField(
        choices=Bucket.FalseAlarm.choices,
        required=False,
        default="",
        allow_blank=True,
        help_text="Kind of a false alarm.",
    )
    # The class gives its fields away, so the `source` of a field stays what it is.
    source = serializers.CharField(  # type: ignore[assignment]
        max_length=500,
        required=False,
        default="",
        allow_blank=True,
        help_text="Where a known limit is written.",
    )
    parts = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        allow_null=True,
        help_text="What a known limit matches; all that the members share, where not said.",
    )
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When a known limit asks again; in 180 days."
    )


class AssignSerializer(serializers.Serializer[Any]):
    """A user name, or null for nobody."""

    assignee = serializers.SlugRelatedField[Any](
        slug_field="username",
        queryset=get_user_model().objects.filter(is_active=True),
        allow_null=True,
    )


class LabelsSerializer(serializers.Serializer[Any]):
    """Labels to add beside those that are there, or to remove: one of the two in a request."""

    add = serializers.ListField(child=serializers.CharField(max_length=40), required=False)
    remove = serializers.ListField(child=serializers.CharField(max_length=40), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs.get("add")) == bool(attrs.get("remove")):
            raise serializers.ValidationError("Name labels to add, or labels to remove.")
        return attrs


class NewNoteSerializer(serializers.Serializer[Any]):
    """A note in Markdown."""

    text = serializers.CharField(max_length=20_000)


class BulkSerializer(_WhySerializer):
    """One action on the buckets in `ids`, or on all that `filters` match.

    `filters` is what stands behind the question mark of the list's address. `matching`: how many
    those were when you looked; where it is another number by now, nothing is changed.
    """

    action = serializers.ChoiceField(choices=["move", "assign", "label", "unlabel"])
    ids = serializers.ListField(child=serializers.UUIDField(), required=False)
    filters = serializers.CharField(required=False, allow_blank=True, max_length=2000)
    matching = serializers.IntegerField(required=False, min_value=0)
    to = serializers.ChoiceField(choices=Bucket.Status.choices, required=False)
    false_alarm = serializers.ChoiceField(
        choices=Bucket.FalseAlarm.choices, required=False, default="", allow_blank=True
    )
    assignee = serializers.SlugRelatedField[Any](
        slug_field="username",
        queryset=get_user_model().objects.filter(is_active=True),
        required=False,
        allow_null=True,
    )
    labels = serializers.ListField(child=serializers.CharField(max_length=40), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("ids" in attrs) == ("filters" in attrs):
            raise serializers.ValidationError("Give either ids or filters.")
        needed = {"move": "to", "assign": "assignee"}.get(attrs["action"], "labels")
        if needed not in attrs:
            raise serializers.ValidationError({needed: ["This action needs it."]})
        return attrs


class MergeSerializer(_WhySerializer):
    """Buckets to take in, and why."""

    sources = serializers.SlugRelatedField[Any](
        slug_field="uuid", queryset=Bucket.objects.all(), many=True
    )


class SplitSerializer(_WhySerializer):
    """Findings that get a bucket of their own, and why."""

    findings = serializers.ListField(child=serializers.UUIDField(), allow_empty=False)


class RuleSerializer(_WhySerializer):
    """Name of a part of the signature -> its value; findings that have them all belong here."""

    parts = serializers.DictField(child=serializers.CharField())
