"""REST API of the templates of drafts: versions, saving, going back, previews, variables."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from triage.api.given import checked
from triage.drafting import draft
from triage.drafting.rendering import TemplateFaultError
from triage.drafting.variables import VARIABLES
from triage.drafting.versions import (
    MOST_TEMPLATE,
    back_to_shipped,
    back_to_version,
    current_version,
    save_version,
    text_titles,
)
from triage.models import DraftTemplate, FindingRecord
from triage.people import person
from triage.trackers import FORMS, Form

__all__ = ["DraftTemplateViewSet"]


class DraftTemplateSerializer(serializers.ModelSerializer[DraftTemplate]):
    """A version of a form's templates. `texts`: Jinja by the key of the field, and the title's."""

    texts = serializers.DictField(child=serializers.CharField())
    created_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)

    class Meta:
        model = DraftTemplate
        fields = ["form", "number", "texts", "is_shipped", "why", "created_by", "created_at"]
        read_only_fields = fields


class TemplateTextsSerializer(serializers.Serializer[Any]):
    """New texts; those that are left out stay."""

    texts = serializers.DictField(
        child=serializers.CharField(
            allow_blank=True, trim_whitespace=False, max_length=MOST_TEMPLATE
        )
    )
    why = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class TemplatePreviewSerializer(serializers.Serializer[Any]):
    """Texts to fill in from a finding; those that are left out are the ones that hold."""

    finding = serializers.UUIDField()
    texts = serializers.DictField(
        child=serializers.CharField(
            allow_blank=True, trim_whitespace=False, max_length=MOST_TEMPLATE
        ),
        required=False,
        default=dict,
    )


class FilledInSerializer(serializers.Serializer[Any]):
    """What a draft would say."""

    title = serializers.CharField()
    texts = serializers.DictField(child=serializers.CharField())


class BackSerializer(serializers.Serializer[Any]):
    """The version to go back to; none for what the product ships."""

    number = serializers.IntegerField(required=False, min_value=1)


class TemplateVariableSerializer(serializers.Serializer[Any]):
    """What a template can say."""

    name = serializers.CharField()
    kind = serializers.CharField()
    meaning = serializers.CharField()


_FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMS))


@extend_schema(parameters=[_FORM])
class DraftTemplateViewSet(viewsets.GenericViewSet[DraftTemplate]):
    """Templates of drafts, one set for each form of a tracker."""

    queryset = DraftTemplate.objects.select_related("created_by")
    serializer_class = DraftTemplateSerializer
    lookup_field = "form"
    filter_backends: list[Any] = []

    @extend_schema(parameters=[OpenApiParameter("form", exclude=True)], filters=False)
    def list(self, request: Request) -> Response:
        """The version that holds, for every form."""
        return Response(
            DraftTemplateSerializer([current_version(k) for k in FORMS], many=True).data
        )

    def retrieve(self, request: Request, form: str) -> Response:
        """The version that holds."""
        return self._said(current_version(_known(form).key))

    @extend_schema(request=TemplateTextsSerializer, responses=DraftTemplateSerializer)
    def partial_update(self, request: Request, form: str) -> Response:
        """Save as a new version."""
        given = checked(TemplateTextsSerializer(data=request.data))
        texts = _texts(_known(form), given["texts"])
        return self._said(save_version(form, texts=texts, why=given["why"], who=person(request)))

    @extend_schema(responses=DraftTemplateSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def versions(self, request: Request, form: str) -> Response:
        """Every version, the newest first."""
        current_version(_known(form).key)
        rows = self.get_queryset().filter(form=form)
        return Response(DraftTemplateSerializer(rows, many=True).data)

    @extend_schema(request=BackSerializer, responses=DraftTemplateSerializer)
    @action(detail=True, methods=["post"])
    def back(self, request: Request, form: str) -> Response:
        """Go back to a version, or to what is shipped."""
        number = checked(BackSerializer(data=request.data)).get("number")
        if number is None:
            return self._said(back_to_shipped(_known(form).key, who=person(request)))
        version = get_object_or_404(DraftTemplate, form=_known(form).key, number=number)
        return self._said(back_to_version(version, who=person(request)))

    @extend_schema(request=TemplatePreviewSerializer, responses=FilledInSerializer)
    @action(detail=True, methods=["post"])
    def preview(self, request: Request, form: str) -> Response:
        """Fill texts in from a finding; nothing is saved."""
        given = checked(TemplatePreviewSerializer(data=request.data))
        record = get_object_or_404(FindingRecord, uuid=given["finding"])
        texts = _texts(_known(form), given["texts"])
        try:
            made = draft(record.finding(), texts, form=FORMS[form])
        except TemplateFaultError as fault:
            raise serializers.ValidationError(
                {"field": fault.field, "line": str(fault.line), "message": fault.message}
            ) from fault
        return Response({"title": made.title, "texts": made.fields})

    @extend_schema(
        parameters=[OpenApiParameter("form", exclude=True)],
        responses=TemplateVariableSerializer(many=True),
        filters=False,
    )
    @action(detail=False, pagination_class=None)
    def variables(self, request: Request) -> Response:
        """What a template can say."""
        return Response(TemplateVariableSerializer(VARIABLES, many=True).data)

    def _said(self, version: DraftTemplate) -> Response:
        return Response(DraftTemplateSerializer(version).data)


def _known(key: str) -> Form:
    if key not in FORMS:
        raise NotFound(f"No tracker has the form {key!r}; there are {', '.join(FORMS)}.")
    return FORMS[key]


def _texts(form: Form, given: dict[str, str]) -> dict[str, str]:
    unknown = set(given) - set(text_titles(form))
    if unknown:
        raise serializers.ValidationError(f"Unknown texts: {', '.join(sorted(unknown))}.")
    return {**current_version(form.key).texts, **given}
