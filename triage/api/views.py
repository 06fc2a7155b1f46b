"""REST API of saved views: one's own to change, the shared ones to read."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from triage import saved_views
from triage.api.given import ConflictError, checked
from triage.inbox_selectors import inbox_views
from triage.inbox_selectors import saved_views as views_of
from triage.models import DefaultView, SavedView
from triage.people import person

__all__ = ["SavedViewViewSet"]


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    """A view. `query` is what stands behind the question mark of the inbox and of `/buckets/`."""

    owner = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    is_default = serializers.BooleanField(read_only=True, help_text="Your inbox opens with it.")
    count = serializers.SerializerMethodField(help_text="Buckets that it shows now.")

    class Meta:
        model = SavedView
        fields = ["id", "name", "query", "owner", "shared", "is_default", "count", "created_at"]
        read_only_fields = fields

    @extend_schema_field(serializers.IntegerField())
    def get_count(self, view: SavedView) -> int:
        counts: dict[int, int] = self.context["counts"]
        return counts[view.pk]


class NewViewSerializer(serializers.Serializer[Any]):
    """A view to save; yours of the same name is replaced."""

    name = serializers.CharField(max_length=60)
    query = serializers.CharField(max_length=1000, allow_blank=True, default="")
    shared = serializers.BooleanField(default=False)


class ChangedViewSerializer(serializers.Serializer[Any]):
    """What may be changed of a view; what is left out stays."""

    name = serializers.CharField(max_length=60, required=False)
    shared = serializers.BooleanField(required=False)


class SavedViewViewSet(viewsets.ReadOnlyModelViewSet[SavedView]):
    """Saved views of the inbox: list, read, save, rename, share, delete, open the inbox with."""

    queryset = SavedView.objects.none()
    serializer_class = SavedViewSerializer
    filter_backends: list[Any] = []

    def get_queryset(self) -> QuerySet[SavedView]:
        """Own and shared ones to read, own ones to change."""
        if getattr(self, "swagger_fake_view", False):
            return SavedView.objects.none()
        who = person(self.request)
        found = views_of(who)
        is_read = self.action in ("list", "retrieve", "default")
        return found if is_read else found.filter(owner=who)

    def get_serializer_context(self) -> dict[str, Any]:
        context = dict(super().get_serializer_context())
        if not getattr(self, "swagger_fake_view", False):
            views = inbox_views(person(self.request))
            context["counts"] = {view.saved.pk: view.count for view in views if view.saved}
        return context

    @extend_schema(request=NewViewSerializer, responses={201: SavedViewSerializer})
    def create(self, request: Request) -> Response:
        """Keep filters under a name."""
        given = checked(NewViewSerializer(data=request.data))
        return self._read(saved_views.save_view(owner=person(request), **given).pk, status=201)

    @extend_schema(request=ChangedViewSerializer, responses=SavedViewSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Rename or share."""
        view, given = self.get_object(), checked(ChangedViewSerializer(data=request.data))
        try:
            saved_views.edit_view(view, **{"name": view.name, "shared": view.shared, **given})
        except saved_views.NameTakenError as error:
            raise ConflictError(str(error)) from error
        return self._read(view.pk)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete."""
        saved_views.delete_view(self.get_object())
        return Response(status=204)

    @extend_schema(methods=["POST"], request=None, responses=SavedViewSerializer)
    @extend_schema(methods=["DELETE"], request=None, responses=SavedViewSerializer)
    @action(detail=True, methods=["post", "delete"])
    def default(self, request: Request, pk: str) -> Response:
        """Open the inbox with it, or no longer."""
        view, who = self.get_object(), person(request)
        if request.method == "POST":
            saved_views.choose_default(owner=who, view=view)
        elif DefaultView.objects.filter(owner=who, view=view).exists():
            saved_views.choose_default(owner=who, view=None)
        return self._read(view.pk)

    def _read(self, pk: int, status: int = 200) -> Response:
        view = views_of(person(self.request)).get(pk=pk)
        return Response(self.get_serializer(view).data, status=status)
