"""The one loader of each object: everybody who is logged in may see and steer campaigns."""

from __future__ import annotations

from uuid import UUID

from django.shortcuts import get_object_or_404

from campaigns.models import Campaign, Mutant

__all__ = ["campaign_of", "round_of"]


def campaign_of(uuid: UUID) -> Campaign:
    """404 where there is none."""
    rows = Campaign.objects.select_related("created_by", "cloned_from")
    return get_object_or_404(rows, uuid=uuid)


def round_of(shard: UUID, number: int) -> Mutant:
    """A recorded round of a shard, with its campaign."""
    rows = Mutant.objects.select_related("shard__campaign").defer("shard__checkpoint")
    return get_object_or_404(rows, shard__uuid=shard, round=number)
