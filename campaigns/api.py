"""REST API of campaigns and shards: what their pages show and do."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import services
from campaigns.choices import mode_names, policy_names, seed_names
from campaigns.models import Campaign, Shard
from campaigns.people import person
from campaigns.selectors import campaign_list

__all__ = ["CampaignViewSet", "ShardViewSet"]


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
            "random_seed",
            "rounds",
            "status",
            "problem",
            "created_by",
            "created_at",
            "started_at",
            "finished_at",
            "rounds_done",
            "rounds_planned",
            "accepted",
            "executions",
            "crash",
            "numerical",
            "state",
            "efficiency",
        ]
        read_only_fields = fields


class NewCampaignSerializer(serializers.Serializer[Campaign]):
    """What a new campaign needs. Names are checked against what the engine has."""

    name = serializers.CharField(max_length=120)
    seeds = serializers.ListField(child=serializers.CharField(), allow_empty=False)
    modes = serializers.ListField(child=serializers.CharField(), allow_empty=False)
    policy = serializers.CharField(default="linucb")
    random_seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    rounds = serializers.IntegerField(min_value=1, max_value=1_000_000)

    def validate_seeds(self, value: list[str]) -> list[str]:
        return _known("seeds", value, seed_names())

    def validate_modes(self, value: list[str]) -> list[str]:
        return _known("modes", value, mode_names())

    def validate_policy(self, value: str) -> str:
        return _known("policies", [value], policy_names())[0]


def _known(what: str, given: list[str], known: list[str]) -> list[str]:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise serializers.ValidationError(
            f"Unknown {what}: {', '.join(unknown)}. Known: {', '.join(known)}."
        )
    return list(dict.fromkeys(given))


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


class CampaignViewSet(viewsets.ReadOnlyModelViewSet[Campaign]):
    """Campaigns: list, read, start, pause, resume, cancel."""

    queryset = campaign_list()
    serializer_class = CampaignSerializer
    lookup_field = "uuid"
    filterset_fields = ["status", "preset"]

    @extend_schema(request=NewCampaignSerializer, responses={201: CampaignSerializer})
    def create(self, request: Request) -> Response:
        """Start a campaign."""
        given = NewCampaignSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        campaign = services.create_campaign(**given.validated_data, created_by=person(request))
        return Response(self._read(campaign), status=201)

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, uuid: str) -> Response:
        """Stop after the rounds in flight."""
        return self._steer("pause")

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, uuid: str) -> Response:
        """Go on where it stopped."""
        return self._steer("resume")

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, uuid: str) -> Response:
        """End it for good; what it found stays."""
        return self._steer("cancel")

    def _steer(self, name: str) -> Response:
        campaign = Campaign.objects.get(pk=self.get_object().pk)
        steps = {
            "pause": services.pause_campaign,
            "resume": services.resume_campaign,
            "cancel": services.cancel_campaign,
        }
        try:
            steps[name](campaign)
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
