"""REST API of the catalogue: what its pages show, with the same filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from flowmut_web.catalogue import mutators, operators, seeds
from flowmut_web.catalogue.listing import Filters

__all__ = ["MutationViewSet", "OperatorViewSet", "SeedViewSet"]

_NAMES = r"[\w.]+"


def _parameters(filters: type[Filters]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, str, description=str(field.label))
        for name, field in filters.base_fields.items()
    ]


class VariantSerializer(serializers.Serializer[mutators.Variant]):
    """One variant of a mutation; counts are of all recorded rounds that hold it."""

    name = serializers.CharField(help_text="Empty where it is the only one.")
    full_name = serializers.CharField(source="label", help_text="In rounds and findings.")
    rounds = serializers.IntegerField(source="usage.rounds")
    accepted = serializers.IntegerField(source="usage.accepted")
    failing = serializers.IntegerField(source="usage.failing")
    flaky = serializers.IntegerField(source="usage.flaky")
    inconclusive = serializers.IntegerField(source="usage.inconclusive")
    refused = serializers.IntegerField(source="usage.refused")
    reward = serializers.FloatField(source="usage.reward", allow_null=True)
    findings = serializers.DictField(child=serializers.IntegerField(), help_text="By symptom.")
    is_proven = serializers.BooleanField(source="proof")


class MutationSerializer(serializers.Serializer[mutators.Row]):
    """A mutation operator with what became of it."""

    name = serializers.CharField(source="mutator.name")
    doc = serializers.CharField(source="mutator.doc")
    object = serializers.CharField(source="mutator.object")
    primitive = serializers.CharField(source="mutator.primitive")
    effect = serializers.CharField(source="mutator.effect.value")
    provenance = serializers.CharField(source="mutator.provenance.source")
    idea = serializers.CharField(source="mutator.provenance.label")
    pools = serializers.ListField(source="mutator.provenance.pools", child=serializers.CharField())
    example = serializers.ListField(
        source="mutator.example", child=serializers.CharField(), help_text="Before, after."
    )
    variants = VariantSerializer(many=True)


class OperatorSerializer(serializers.Serializer[operators.Row]):
    """An operator with its forms, where it occurs and what was found."""

    name = serializers.CharField(source="spec.name")
    doc = serializers.CharField(source="spec.doc")
    tags = serializers.SerializerMethodField()
    dtypes = serializers.ListField(source="spec.dtypes", child=serializers.CharField())
    tolerance = serializers.CharField(source="spec.tolerance.value")
    forms = serializers.SerializerMethodField(help_text="Framework to form to call and source.")
    seeds = serializers.DictField(child=serializers.IntegerField(), help_text="Calls in each.")
    rounds = serializers.IntegerField(help_text="On seeds that call it.")
    findings = serializers.DictField(
        child=serializers.IntegerField(), help_text="Those that accuse it, by symptom."
    )
    buckets = serializers.IntegerField()

    def get_tags(self, row: operators.Row) -> list[str]:
        return sorted(row.spec.tags)

    def get_forms(self, row: operators.Row) -> dict[str, dict[str, dict[str, str]]]:
        return {
            framework: {
                name: {
                    "call": "\n".join((*form.setup, *form.before, form.call)),
                    "source": form.source,
                }
                for name, form in table.items()
            }
            for framework, table in row.spec.forms.items()
        }


class SeedSerializer(serializers.Serializer[seeds.Row]):
    """A seed with what was recorded on it."""

    name = serializers.CharField(source="seed.name")
    title = serializers.CharField(source="seed.title")
    paper = serializers.CharField(source="seed.paper")
    licence = serializers.CharField(source="seed.licence")
    task = serializers.CharField(source="seed.task")
    scale = serializers.CharField(source="seed.scale")
    parameters = serializers.IntegerField(source="seed.parameters")
    trainable = serializers.IntegerField(source="seed.trainable")
    nodes = serializers.IntegerField()
    ops = serializers.IntegerField()
    campaigns = serializers.IntegerField(source="usage.campaigns")
    rounds = serializers.IntegerField(source="usage.rounds")
    accepted = serializers.IntegerField(source="usage.accepted")
    executions = serializers.IntegerField(source="usage.executions")
    findings = serializers.DictField(child=serializers.IntegerField(), help_text="By symptom.")
    buckets = serializers.IntegerField()


class _Catalogue(viewsets.GenericViewSet[Any]):
    """Rows in memory, found by name."""

    lookup_field = "name"
    lookup_value_regex = _NAMES
    filter_backends = ()

    def _page(self, rows: Iterable[Any]) -> Response:
        page = self.paginate_queryset(list(rows))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def _one(self, rows: Mapping[str, Any], name: str) -> Response:
        if name not in rows:
            raise Http404(name)
        return Response(self.get_serializer(rows[name]).data)


class MutationViewSet(_Catalogue):
    """Mutation operators, in order of name."""

    serializer_class = MutationSerializer

    @extend_schema(parameters=_parameters(mutators.MutatorFilters))
    def list(self, request: Request) -> Response:
        filters = mutators.MutatorFilters(request.query_params)
        return self._page(row for row in mutators.mutator_rows() if filters.matches(row))

    def retrieve(self, request: Request, name: str) -> Response:
        return self._one({row.mutator.name: row for row in mutators.mutator_rows()}, name)


class OperatorViewSet(_Catalogue):
    """Operators, in order of declaration."""

    serializer_class = OperatorSerializer

    @extend_schema(parameters=_parameters(operators.OperatorFilters))
    def list(self, request: Request) -> Response:
        filters = operators.OperatorFilters(request.query_params)
        return self._page(row for row in operators.operator_rows() if filters.matches(row))

    def retrieve(self, request: Request, name: str) -> Response:
        return self._one({row.spec.name: row for row in operators.operator_rows()}, name)


class SeedViewSet(_Catalogue):
    """Seeds, in the engine's order."""

    serializer_class = SeedSerializer

    @extend_schema(parameters=[OpenApiParameter("scale", str, enum=["compact", "full"])])
    def list(self, request: Request) -> Response:
        scale = request.query_params.get("scale", "")
        return self._page(row for row in seeds.seed_rows() if scale in ("", row.seed.scale))

    def retrieve(self, request: Request, name: str) -> Response:
        return self._one({row.seed.name: row for row in seeds.seed_rows()}, name)
