"""REST API of environments: what their page shows and does."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.permissions import BasePermission, IsAdminUser, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api import ConflictError
from campaigns.environments import add_environment, remove_environment
from campaigns.hints import ask_probe
from campaigns.models import Environment
from campaigns.selectors import environment_list
from engine.errors import BadInput

__all__ = ["EnvironmentViewSet"]


class EnvironmentSerializer(serializers.ModelSerializer[Environment]):
    """An interpreter that runs one framework. `kind`: release, nightly or dev; by its version."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    version = serializers.CharField(read_only=True)
    kind = serializers.ChoiceField(
        choices=Environment.Kind.choices, read_only=True, allow_blank=True
    )

    class Meta:
        model = Environment
        fields = [
            "id",
            "name",
            "framework",
            "version",
            "kind",
            "interpreter",
            "spec",
            "versions",
            "healthy",
            "problem",
            "last_probe",
        ]
        read_only_fields = fields


class NewEnvironmentSerializer(serializers.Serializer[Any]):
    """An interpreter on the machine of the workers."""

    name = serializers.CharField(max_length=80)
    interpreter = serializers.CharField(max_length=500)
    framework = serializers.ChoiceField(choices=Environment.Framework.choices, required=False)


class EnvironmentViewSet(viewsets.ReadOnlyModelViewSet[Environment]):
    """Interpreters that run cases: list, read, ask again; administrators add and remove."""

    queryset = environment_list()
    serializer_class = EnvironmentSerializer
    lookup_field = "uuid"
    filterset_fields = ["framework", "healthy"]

    def get_permissions(self) -> list[BasePermission]:
        """Workers start what is registered."""
        wanted = IsAdminUser if self.action in ("create", "destroy") else IsAuthenticated
        return [wanted()]

    @extend_schema(request=NewEnvironmentSerializer, responses={201: EnvironmentSerializer})
    def create(self, request: Request) -> Response:
        """Register an interpreter; it is asked for its versions first."""
        given = NewEnvironmentSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        try:
            made = add_environment(**given.validated_data)
        except BadInput as error:
            raise serializers.ValidationError(str(error)) from error
        return Response(EnvironmentSerializer(made).data, status=201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, uuid: str) -> Response:
        """Forget it; one that was made here loses its folder. Results are kept."""
        try:
            remove_environment(self.get_object(), own=settings.WORKER_INTERPRETERS)
        except BadInput as error:
            raise ConflictError(str(error)) from error
        return Response(status=204)

    @extend_schema(request=None, responses={202: None})
    @action(detail=False, methods=["post"])
    def probe(self, request: Request) -> Response:
        """Ask a worker to ask every interpreter for its versions."""
        if not ask_probe():
            raise ConflictError("The broker does not take messages.")
        return Response(status=202)
