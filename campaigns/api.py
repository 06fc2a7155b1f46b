"""REST API of campaigns and shards: what their pages show and do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import services
from campaigns.choices import preset_named
from campaigns.comparison import compare
from campaigns.estimates import Estimate
from campaigns.filters import CampaignFilter, sorted_campaigns
from campaigns.forms import CampaignForm, CompareForm, clone_values, preset_values
from campaigns.hints import hint_campaign
from campaigns.models import Campaign, CampaignEvent, Mutant, Shard
from campaigns.people import person
from campaigns.rounds import RoundFilter, round_list
from campaigns.selectors import campaign_list

__all__ = ["CampaignViewSet", "ConflictError", "ShardViewSet"]


class ConflictError(APIException):
    """409: the object's present status does not allow what was asked."""

    status_code = 409
    default_code = "conflict"


class CampaignSerializer(serializers.ModelSerializer[Campaign]):
    """A campaign; counters are sums over its shards."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    created_by = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)
    rounds_done = serializers.IntegerField(source="done", read_only=True)
    rounds_planned = serializers.IntegerField(source="planned", read_only=True)
    share = serializers.FloatField(read_only=True, help_text="Done, from 0 to 1.")
    cloned_from = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    seconds = serializers.FloatField(source="spent", read_only=True)
    seconds_per_round = serializers.FloatField(source="pace", read_only=True)
    accepted = serializers.IntegerField(read_only=True)
    executions = serializers.IntegerField(read_only=True)
    crash = serializers.IntegerField(read_only=True)
    numerical = serializers.IntegerField(read_only=True)
    state = serializers.IntegerField(read_only=True)
    efficiency = serializers.IntegerField(read_only=True)

    class Meta:
        model = Campaign
        fields = [
            "id",
            "name",
            "preset",
            "seeds",
            "modes",
            "policy",
            "pool",
            "ops",
            "random_seed",
            "rounds",
            "minutes",
            "workers",
            "cloned_from",
            "status",
            "problem",
            "created_by",
            "created_at",
            "started_at",
            "finished_at",
            "rounds_done",
            "rounds_planned",
            "share",
            "accepted",
            "executions",
            "seconds",
            "seconds_per_round",
            "crash",
            "numerical",
            "state",
            "efficiency",
        ]
        read_only_fields = fields


class NewCampaignSerializer(serializers.Serializer[Campaign]):
    """What a new campaign needs. A preset fills what is left out; without one say seeds and modes.

    Names are checked against what the engine has; a limit given here replaces the preset's limits.
    """

    name = serializers.CharField(max_length=120, required=False)
    preset = serializers.ChoiceField(choices=Campaign.Preset.choices, required=False)
    seeds = serializers.ListField(child=serializers.CharField(), required=False)
    modes = serializers.ListField(child=serializers.CharField(), required=False)
    policy = serializers.CharField(required=False)
    pool = serializers.CharField(required=False)
    ops = serializers.ListField(child=serializers.CharField(), required=False)
    rounds = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    minutes = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    workers = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    random_seed = serializers.IntegerField(required=False, min_value=0)


class EstimateSerializer(serializers.Serializer[Any]):
    """What a campaign will cost; seconds and bytes. `seen`: rounds that a mean is of."""

    rounds = serializers.IntegerField()
    wall_seconds = serializers.FloatField()
    core_hours = serializers.FloatField()
    memory = serializers.IntegerField()
    disk = serializers.IntegerField()
    workers = serializers.IntegerField()
    at_once = serializers.IntegerField()
    seeds = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_seeds(self, made: Estimate) -> list[dict[str, Any]]:
        return [asdict(one) for one in made.seeds]


class EventSerializer(serializers.ModelSerializer[CampaignEvent]):
    """A line of a campaign's history; `who` is null where a machine did it."""

    who = serializers.SlugRelatedField[Any](slug_field="username", read_only=True)

    class Meta:
        model = CampaignEvent
        fields = ["kind", "who", "why", "created_at"]
        read_only_fields = fields


class RoundSerializer(serializers.ModelSerializer[Mutant]):
    """A recorded round. `mutations`: names of all of them, in order."""

    shard = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)
    seed = serializers.CharField(source="shard.seed", read_only=True)
    mutations = serializers.ListField(
        source="labels", child=serializers.CharField(), read_only=True
    )

    class Meta:
        model = Mutant
        fields = [
            "shard",
            "seed",
            "round",
            "mutations",
            "site",
            "accepted",
            "verdict",
            "reason",
            "parent",
            "digest",
            "nodes",
            "depth",
            "rejected",
            "statuses",
            "reward",
            "novel",
            "findings",
            "executions",
            "seconds",
            "created_at",
        ]
        read_only_fields = fields


def _form(request: Request, origin: Campaign | None = None) -> CampaignForm:
    """The page's own form, filled by what was sent over a clone's or a preset's values."""
    given = NewCampaignSerializer(data=request.data)
    given.is_valid(raise_exception=True)
    sent = given.validated_data
    first: dict[str, Any] = {"policy": "linucb", "pool": "full", "random_seed": 0}
    if origin is not None:
        first = clone_values(origin)
    elif sent.get("preset", Campaign.Preset.CUSTOM) != Campaign.Preset.CUSTOM:
        first = preset_values(preset_named(sent["preset"]))
    if sent.get("rounds") or sent.get("minutes"):
        first |= {"rounds": None, "minutes": None}
    return CampaignForm({name: one for name, one in (first | sent).items() if one is not None})


def _errors(form: forms.Form) -> dict[str, list[str]]:
    """What a form says is wrong, by field."""
    return {name: [str(one) for one in errors] for name, errors in form.errors.items()}


def _refuse(form: CampaignForm) -> None:
    """400 with the form's errors, by field."""
    if not form.is_valid():
        raise serializers.ValidationError(_errors(form))


class ShardSerializer(serializers.ModelSerializer[Shard]):
    """A shard with its counters."""

    id = serializers.UUIDField(source="uuid", read_only=True)
    campaign = serializers.SlugRelatedField[Any](slug_field="uuid", read_only=True)

    class Meta:
        model = Shard
        fields = [
            "id",
            "campaign",
            "index",
            "seed",
            "status",
            "owner",
            "lease_until",
            "next_round",
            "recorded_rounds",
            "accepted",
            "rejected",
            "rejected_reasons",
            "crash_findings",
            "numerical_findings",
            "state_findings",
            "efficiency_findings",
            "executions",
            "seconds",
            "last_error",
            "finish_reason",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields


class CampaignFilterBackend(DjangoFilterBackend):
    """The list's filters and its `sort`, as in the page's address."""

    def filter_queryset(self, request: HttpRequest, queryset: Any, view: Any) -> Any:
        rows = super().filter_queryset(request, queryset, view)
        if view.action != "list":
            return rows
        return sorted_campaigns(rows, request.GET.get("sort", ""))


class CampaignViewSet(viewsets.ReadOnlyModelViewSet[Campaign]):
    """Campaigns: list, read, start, estimate, clone, compare, pause, resume, cancel."""

    queryset = campaign_list()
    serializer_class = CampaignSerializer
    lookup_field = "uuid"
    filter_backends = [CampaignFilterBackend]
    filterset_class = CampaignFilter

    @extend_schema(request=NewCampaignSerializer, responses={201: CampaignSerializer})
    def create(self, request: Request) -> Response:
        """Start a campaign."""
        return self._start(request, _form(request))

    @extend_schema(request=NewCampaignSerializer, responses=EstimateSerializer)
    @action(detail=False, methods=["post"])
    def estimate(self, request: Request) -> Response:
        """What a campaign would cost; nothing is started."""
        form = _form(request)
        made = form.estimate_cost()
        if made is None:
            _refuse(form)
        return Response(EstimateSerializer(made).data)

    @extend_schema(request=NewCampaignSerializer, responses={201: CampaignSerializer})
    @action(detail=True, methods=["post"])
    def clone(self, request: Request, uuid: str) -> Response:
        """Start the same again with a new random seed; what is sent replaces an option."""
        return self._start(request, _form(request, self._campaign()))

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, uuid: str) -> Response:
        """Stop after the rounds in flight."""
        return self._steer(request, services.pause_campaign)

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, uuid: str) -> Response:
        """Go on where it stopped."""
        answer = self._steer(request, services.resume_campaign)
        hint_campaign(self._campaign())
        return answer

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, uuid: str) -> Response:
        """End it for good; what it found stays."""
        return self._steer(request, services.cancel_campaign)

    @extend_schema(responses=EventSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def history(self, request: Request, uuid: str) -> Response:
        """Who did what, and why it paused or ended, oldest first."""
        events = self._campaign().events.select_related("who")
        return Response(EventSerializer(events, many=True).data)

    @extend_schema(
        responses=RoundSerializer(many=True),
        parameters=[
            OpenApiParameter(name, str)
            for name in ("q", "verdict", "seed", "accepted", "found", "limit", "offset")
        ],
        filters=False,
    )
    @action(detail=True)
    def rounds(self, request: Request, uuid: str) -> Response:
        """Recorded rounds, newest first, with the filters of their page."""
        campaign = self._campaign()
        chosen = RoundFilter(request.query_params, queryset=round_list(campaign), campaign=campaign)
        page = self.paginate_queryset(chosen.qs)
        return self.get_paginated_response(RoundSerializer(page, many=True).data)

    @extend_schema(
        responses=dict,
        parameters=[OpenApiParameter(name, UUID, required=True) for name in ("first", "second")],
        filters=False,
    )
    @action(detail=False, pagination_class=None)
    def compare(self, request: Request) -> Response:
        """Two campaigns side by side: single runs, so no significance is claimed."""
        form = CompareForm(request.query_params)
        if not form.is_valid():
            raise serializers.ValidationError(_errors(form))
        found = compare(form.cleaned_data["first"], form.cleaned_data["second"])
        return Response(
            {
                "asked": [asdict(line) for line in found.asked],
                "outcome": [asdict(line) for line in found.outcome],
                "by_symptom": [asdict(line) for line in found.by_symptom],
                "refused": [
                    {"reason": reason, "first": first, "second": second}
                    for reason, first, second in found.reasons
                ],
                "curves": {
                    "first": [asdict(point) for point in found.first.curve],
                    "second": [asdict(point) for point in found.second.curve],
                },
                "buckets": asdict(found.shared),
            }
        )

    def _campaign(self) -> Campaign:
        return Campaign.objects.get(pk=self.get_object().pk)

    def _start(self, request: Request, form: CampaignForm) -> Response:
        _refuse(form)
        campaign = services.create_campaign(**form.cleaned_data, created_by=person(request))
        hint_campaign(campaign)
        return Response(self._read(campaign), status=201)

    def _steer(self, request: Request, step: Callable[..., Campaign]) -> Response:
        campaign = self._campaign()
        try:
            step(campaign, who=person(request))
        except services.MoveRefusedError as refused:
            raise ConflictError(str(refused)) from refused
        return Response(self._read(campaign))

    def _read(self, campaign: Campaign) -> dict[str, Any]:
        return dict(self.get_serializer(campaign_list().get(pk=campaign.pk)).data)


class ShardViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Shard]
):
    """Shards, read only; `?campaign__uuid=` narrows."""

    queryset = Shard.objects.select_related("campaign").defer("checkpoint").order_by("-id")
    serializer_class = ShardSerializer
    lookup_field = "uuid"
    filterset_fields = ["campaign__uuid", "status", "seed"]
