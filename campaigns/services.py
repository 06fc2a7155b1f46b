"""Writers of campaigns: create, pause, resume, cancel, and the moves of their status.

Claiming shards and recording rounds is `campaigns.shards`, which ends campaigns through
`move_campaign`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from campaigns.models import MOST_ROUNDS, Campaign, CampaignEvent, Shard

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "MOVES",
    "MoveRefusedError",
    "cancel_campaign",
    "create_campaign",
    "may_move",
    "move_campaign",
    "note_event",
    "pause_campaign",
    "resume_campaign",
]

_Status = Campaign.Status

_ENDS = {_Status.CANCELLED, _Status.FAILED}

# From each status, the ones that may follow. Nothing follows a finished or a cancelled campaign.
MOVES: Mapping[str, frozenset[str]] = {
    _Status.PENDING: frozenset(
        {_Status.RUNNING, _Status.PAUSED, _Status.CANCELLED, _Status.FAILED}
    ),
    _Status.RUNNING: frozenset({_Status.PAUSED, _Status.FINISHED} | _ENDS),
    _Status.PAUSED: frozenset({_Status.PENDING, _Status.CANCELLED}),
    _Status.FAILED: frozenset({_Status.PENDING, _Status.CANCELLED}),
    _Status.FINISHED: frozenset(),
    _Status.CANCELLED: frozenset(),
}


class MoveRefusedError(Exception):
    """A status that may not follow the present one; the message is for a person."""


def may_move(campaign: Campaign, to: str) -> bool:
    """Whether `to` may follow the campaign's status."""
    return to in MOVES[campaign.status]


@transaction.atomic
def create_campaign(
    *,
    name: str,
    seeds: Sequence[str],
    modes: Sequence[str],
    policy: str,
    random_seed: int,
    rounds: int | None = None,
    minutes: int | None = None,
    workers: int | None = None,
    pool: str = "full",
    ops: Sequence[str] = (),
    preset: str = Campaign.Preset.CUSTOM,
    created_by: User | None = None,
    cloned_from: Campaign | None = None,
) -> Campaign:
    """A pending campaign with one queued shard for each seed.

    `rounds` and `minutes` limit each shard, the first that is reached; one of them is needed.
    `workers`: at most so many shards are worked on at once. `ops`: see `engine.options.Options`.
    """
    if not seeds or not modes:
        raise ValueError("a campaign needs at least one seed and one mode")
    if rounds is None and minutes is None:
        raise ValueError("a campaign needs a limit: rounds, minutes or both")
    campaign = Campaign.objects.create(
        name=name,
        preset=preset,
        seeds=list(seeds),
        modes=list(modes),
        policy=policy,
        pool=pool,
        ops=list(ops),
        random_seed=random_seed,
        rounds=MOST_ROUNDS if rounds is None else rounds,
        minutes=minutes,
        workers=workers,
        created_by=created_by,
        cloned_from=cloned_from,
    )
    origin = f"A clone of {cloned_from.name}." if cloned_from else ""
    note_event(campaign, kind=CampaignEvent.Kind.CREATED, who=created_by, why=origin)
    Shard.objects.bulk_create(
        Shard(campaign=campaign, index=index, seed=seed) for index, seed in enumerate(seeds)
    )
    return campaign


def note_event(
    campaign: Campaign,
    *,
    kind: str,
    who: User | None = None,
    why: str = "",
    now: datetime | None = None,
) -> CampaignEvent:
    """A line of the campaign's history."""
    return CampaignEvent.objects.create(
        campaign=campaign, kind=kind, who=who, why=why, created_at=now or timezone.now()
    )


@transaction.atomic
def move_campaign(
    campaign: Campaign,
    *,
    to: str,
    problem: str = "",
    who: User | None = None,
    now: datetime | None = None,
) -> Campaign:
    """Give a campaign its next status, note it in its history, and read it again.

    Conditional on the status still being one that `to` may follow, so that two who move it at once
    cannot both succeed. `MoveRefusedError` where it is not.
    """
    now = now or timezone.now()
    sources = [status for status, targets in MOVES.items() if to in targets]
    changes: dict[str, object] = {"status": to, "problem": problem}
    if to == _Status.RUNNING and campaign.started_at is None:
        changes["started_at"] = now
    if to in {_Status.FINISHED, _Status.CANCELLED, _Status.FAILED}:
        changes["finished_at"] = now
    if to == _Status.PENDING:
        changes["finished_at"] = None
    moved = Campaign.objects.filter(pk=campaign.pk, status__in=sources).update(**changes)
    campaign.refresh_from_db()
    if not moved:
        raise MoveRefusedError(
            f"{campaign.name} is {campaign.get_status_display().lower()}; "
            f"it cannot become {Campaign.Status(to).label.lower()}."
        )
    note_event(campaign, kind=to, who=who, why=problem, now=now)
    return campaign


def pause_campaign(campaign: Campaign, *, problem: str = "", who: User | None = None) -> Campaign:
    """Stop claiming shards; workers stop after the round in flight, which is recorded."""
    return move_campaign(campaign, to=_Status.PAUSED, problem=problem, who=who)


@transaction.atomic
def resume_campaign(campaign: Campaign, *, who: User | None = None) -> Campaign:
    """Let workers claim its shards again, failed ones too; each goes on where it stopped."""
    move_campaign(campaign, to=_Status.PENDING, who=who)
    campaign.shards.filter(status=Shard.Status.FAILED).update(
        status=Shard.Status.QUEUED, retry_at=None, errors=0, finished_at=None
    )
    return campaign


@transaction.atomic
def cancel_campaign(
    campaign: Campaign, *, who: User | None = None, now: datetime | None = None
) -> Campaign:
    """End it for good. What was recorded stays; a round in flight is lost with its epoch."""
    now = now or timezone.now()
    move_campaign(campaign, to=_Status.CANCELLED, who=who, now=now)
    campaign.shards.filter(status__in=[Shard.Status.QUEUED, Shard.Status.RUNNING]).update(
        status=Shard.Status.CANCELLED,
        owner="",
        lease_until=None,
        epoch=F("epoch") + 1,
        finished_at=now,
    )
    return campaign
