"""What every part of the API needs: checked input, and refusals as answers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound

__all__ = ["ConflictError", "DoneSerializer", "as_uuid", "checked"]


class ConflictError(APIException):
    """409: the object's present status does not allow what was asked."""

    status_code = 409
    default_code = "conflict"


class DoneSerializer(serializers.Serializer[Any]):
    """What an action on several buckets did. `batch` undoes it; `refused`: why some were left."""

    batch = serializers.UUIDField()
    changed = serializers.IntegerField()
    refused = serializers.ListField(child=serializers.CharField())


def checked(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    """The input, or 400 with what is wrong about it."""
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def as_uuid(text: str) -> UUID:
    """An id from an address, or 404."""
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFound from error
