"""REST API of suppressions: known limits, what they match, and until when."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from triage import suppressing
from triage.api.given import DoneSerializer, checked
from triage.models import Suppression
from triage.people import person

__all__ = ["SuppressionViewSet"]


class SuppressionSerializer(serializers.ModelSerializer[Suppression]):
    """A suppression. `is_active`: it keeps new findings with these parts from asking anybody."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    bucket = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    parts = serializers.DictField(child=serializers.CharField(), read_only=True)
    created_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    is_active = serializers.BooleanField(read_only=True)

    class Meta:
        model = Suppression
        fields = [
            "id",
            "bucket",
            "parts",
            "reason",
            "source",
            "expires_at",
            "is_active",
            "created_by",
            "created_at",
            "lifted_at",
        ]
        read_only_fields = fields


class LiftSerializer(serializers.Serializer[Any]):
    """Why it is lifted."""

    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class ExpirySerializer(serializers.Serializer[Any]):
    """When it ends."""

    expires_at = serializers.DateTimeField()


class SuppressionViewSet(viewsets.ReadOnlyModelViewSet[Suppression]):
    """Suppressions: list, read, lift, end at another time. A move to known_limit makes one."""

    queryset = Suppression.objects.select_related("bucket", "created_by")
    serializer_class = SuppressionSerializer
    lookup_field = "uuid"
    filterset_fields = ["bucket__uuid"]

    @extend_schema(request=LiftSerializer, responses=DoneSerializer)
    @action(detail=True, methods=["post"])
    def lift(self, request: Request, uuid: str) -> Response:
        """Let its buckets ask again."""
        given = checked(LiftSerializer(data=request.data))
        done = suppressing.lift_suppression(self.get_object(), who=person(request), **given)
        return Response(DoneSerializer(done).data)

    @extend_schema(request=ExpirySerializer, responses=DoneSerializer)
    @action(detail=True, methods=["post"])
    def expiry(self, request: Request, uuid: str) -> Response:
        """End it at another time; one that has ended begins again."""
        given = checked(ExpirySerializer(data=request.data))
        done = suppressing.set_expiry(self.get_object(), who=person(request), **given)
        return Response(DoneSerializer(done).data)
