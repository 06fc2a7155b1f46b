"""REST API of submitted reproducers: submit, list, read, cancel."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission, IsAdminUser, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.models import Environment
from engine.errors import BadInput
from engine.foreign.reading import MOST_BYTES
from triage.api.given import ConflictError, checked
from triage.models import Framework, Submission, Symptom
from triage.people import person
from triage.reruns import ATTEMPTS
from triage.submitting import cancel_submission, submit

__all__ = ["SubmissionViewSet"]


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """A reproducer and what came of it; `finding` is null where it is none."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    asked_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    environment = serializers.SlugRelatedField[Any](slug_field="name", read_only=True)
    finding = serializers.UUIDField(source="finding.uuid", default=None, read_only=True)
    bucket = serializers.UUIDField(source="finding.bucket.uuid", default=None, read_only=True)
    answers = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = Submission
        fields = [
            "id",
            "name",
            "kind",
            "framework",
            "symptom",
            "environment",
            "attempts",
            "everywhere",
            "state",
            "reason",
            "problem",
            "isolation",
            "answers",
            "finding",
            "bucket",
            "asked_by",
            "asked_at",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields


class NewSubmissionSerializer(serializers.Serializer[Any]):
    """A module with `inputs` and a `function`, or a script that asserts what is wrong."""

    name = serializers.CharField(max_length=120)
    text = serializers.CharField(max_length=MOST_BYTES, trim_whitespace=False)
    framework = serializers.ChoiceField(choices=Framework.choices, required=False)
    symptom = serializers.ChoiceField(choices=Symptom.choices, required=False)
    environment = serializers.SlugRelatedField[Any](
        slug_field="name", queryset=Environment.objects.all(), required=False, allow_null=True
    )
    attempts = serializers.ChoiceField(choices=ATTEMPTS, default=3)
    everywhere = serializers.BooleanField(default=False)


class SubmissionViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Submission]
):
    """Reproducers that somebody wrote. Administrators submit: it runs what its author wrote."""

    queryset = Submission.objects.select_related("asked_by", "environment", "finding__bucket")
    serializer_class = SubmissionSerializer
    lookup_field = "uuid"
    filterset_fields = ["state", "framework"]

    def get_permissions(self) -> list[BasePermission]:
        """As in the browser, but for the setting: a token is no form that a page could forge."""
        return [IsAdminUser() if self.action == "create" else IsAuthenticated()]

    @extend_schema(request=NewSubmissionSerializer, responses={201: SubmissionSerializer})
    def create(self, request: Request) -> Response:
        """Queue it; `state` says how it goes."""
        given = checked(NewSubmissionSerializer(data=request.data))
        try:
            made = submit(who=person(request), **given)
        except BadInput as error:
            raise serializers.ValidationError({"text": str(error)}) from error
        return Response(SubmissionSerializer(made).data, status=201)

    @extend_schema(request=None, responses=SubmissionSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, uuid: str) -> Response:
        """End it without a result."""
        found = self.get_object()
        if found.asked_by != request.user and not request.user.is_staff:
            raise PermissionDenied
        if not cancel_submission(found):
            raise ConflictError("It has ended already.")
        return Response(SubmissionSerializer(self.get_object()).data)
