"""REST API of the scoreboard."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from triage.api.given import checked
from triage.models import Framework, Symptom
from triage.scoreboard import COLUMNS, scoreboard

__all__ = ["ScoreboardView"]


class TimeSerializer(serializers.Serializer[Any]):
    """When the buckets were first seen; either end may be left open."""

    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


class ColumnSerializer(serializers.Serializer[Any]):
    """A column, and what it counts. `query`: the inbox's filter for it, where there is one."""

    name = serializers.CharField()
    title = serializers.CharField()
    meaning = serializers.CharField()
    query = serializers.CharField()


class ScoreRowSerializer(serializers.Serializer[Any]):
    """Counts of one framework and symptom, by the name of the column."""

    framework = serializers.ChoiceField(choices=Framework.choices)
    symptom = serializers.ChoiceField(choices=Symptom.choices)
    counts = serializers.DictField(child=serializers.IntegerField())


class ScoreboardSerializer(serializers.Serializer[Any]):
    """Buckets by how far each got."""

    columns = ColumnSerializer(many=True)
    rows = ScoreRowSerializer(many=True)


class ScoreboardView(APIView):
    """The scoreboard: found, triaged, reported, confirmed, fixed, by framework and symptom."""

    @extend_schema(parameters=[TimeSerializer], responses=ScoreboardSerializer)
    def get(self, request: Request) -> Response:
        """Counts of the buckets that were first seen in a time."""
        given = checked(TimeSerializer(data=request.query_params))
        board = {"columns": COLUMNS, "rows": scoreboard(**given)}
        return Response(ScoreboardSerializer(board).data)
