"""Writers of shards: claim, renew, record, release, end, and the sweep for what was left behind.

The database is the queue. A worker holds a shard by its epoch: claiming raises it, and every write
is conditional on it, so that a worker that was thought dead can record nothing. A message is a hint
that names a shard and the epoch it was sent in; it is void once somebody has claimed the shard.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from campaigns.identity import is_gone
from campaigns.models import (
    CHECKPOINT_FORMAT,
    Campaign,
    GraphText,
    Mutant,
    Refusal,
    Shard,
    WorkerHeartbeat,
    pack_json,
    unpack_json,
)
from campaigns.services import MoveRefusedError, move_campaign, note_event, pause_campaign
from engine.corpus import Corpus
from engine.errors import BadInput
from engine.events import RoundFinished
from engine.finding import Finding
from engine.ir.text import parse_case

__all__ = [
    "LEASE",
    "Claim",
    "Hint",
    "LostLeaseError",
    "OnFinding",
    "Saved",
    "UnreadableCheckpointError",
    "claim_shard",
    "delay_shard",
    "fail_shard",
    "finish_shard",
    "is_wanted",
    "pause_for_checkpoint",
    "read_checkpoint",
    "record_round",
    "release_shard",
    "renew_lease",
    "sweep_expired",
]

LEASE = timedelta(seconds=30)
_FORGET_WORKERS = timedelta(hours=1)
_LONGEST_DELAY = timedelta(minutes=5)
_REASONS_KEPT = 100
_TEXT_KEPT = 20_000
# Fields of the event that a round's row has under the same name.
_PLAIN = (
    "round",
    "mutator",
    "variant",
    "accepted",
    "verdict",
    "reason",
    "parent",
    "digest",
    "nodes",
    "reward",
    "novel",
    "executions",
    "seconds",
)

_LIVE = (Campaign.Status.PENDING, Campaign.Status.RUNNING)
_OPEN = (Shard.Status.QUEUED, Shard.Status.RUNNING)

# Files a finding of a shard; says whether it is new. Runs inside the round's transaction.
OnFinding: TypeAlias = Callable[[Finding, Shard], bool]


class LostLeaseError(Exception):
    """Somebody else holds the shard, or it was cancelled: nothing was written."""


class UnreadableCheckpointError(Exception):
    """A checkpoint of another format or a damaged one; the message is for a person."""


@dataclass(frozen=True)
class Claim:
    """A shard held by us, as it was when we claimed it, with its campaign."""

    shard: Shard
    epoch: int

    @property
    def held(self) -> QuerySet[Shard]:
        """The shard's row as long as it is ours, else nothing."""
        return Shard.objects.filter(pk=self.shard.pk, epoch=self.epoch, status=Shard.Status.RUNNING)


@dataclass(frozen=True)
class Hint:
    """What a message says: this shard can be claimed, unless its epoch has moved on."""

    shard: int
    epoch: int


# ------------------------------------------------------------------------------------------ claim
def _claimable(now: datetime) -> Q:
    expired = Q(status=Shard.Status.RUNNING, lease_until__lt=now)
    due = Q(retry_at=None) | Q(retry_at__lte=now)
    return (Q(status=Shard.Status.QUEUED) | expired) & due


def claim_shard(
    shard: int, *, owner: str, epoch: int | None = None, now: datetime | None = None
) -> Claim | None:
    """Take a queued shard, or one whose lease ran out; None where it is not to be had.

    `epoch`: only if it is still this one. One statement decides, on the row's own columns, so that
    of many who ask at once exactly one gets it.
    """
    now = now or timezone.now()
    found = Shard.objects.select_related("campaign").filter(pk=shard).first()
    if found is None or epoch not in (None, found.epoch) or not found.campaign.is_live():
        return None
    changes = {
        "status": Shard.Status.RUNNING,
        "owner": owner,
        "lease_until": now + LEASE,
        "epoch": F("epoch") + 1,
        "retry_at": None,
        "started_at": found.started_at or now,
    }
    with transaction.atomic():
        if not _has_room(found):
            return None
        row = Shard.objects.filter(_claimable(now), pk=shard, epoch=found.epoch)
        if row.update(**changes) != 1:
            return None
        if found.campaign.status == Campaign.Status.PENDING:
            _move(found.campaign, Campaign.Status.RUNNING, now=now)
    found.refresh_from_db()
    return Claim(found, found.epoch)


def _has_room(shard: Shard) -> bool:
    """Whether its campaign may have one more shard worked on.

    Of a campaign with a limit one shard is claimed at a time, so that two cannot both be the last.
    """
    limit = shard.campaign.workers
    if limit is None:
        return True
    Campaign.objects.select_for_update().get(pk=shard.campaign_id)
    others = Shard.objects.filter(campaign=shard.campaign_id, status=Shard.Status.RUNNING)
    return others.exclude(pk=shard.pk).count() < limit


def renew_lease(claim: Claim, *, now: datetime | None = None) -> bool:
    """Hold the shard for another thirty seconds; False where it is no longer ours."""
    now = now or timezone.now()
    return claim.held.update(lease_until=now + LEASE) == 1


def is_wanted(claim: Claim) -> bool:
    """Whether it is still ours and its campaign is to go on."""
    return claim.held.filter(campaign__status__in=_LIVE).exists()


@dataclass(frozen=True)
class Saved:
    """The engine's state after the last recorded round (None at the start), the text of its graph,
    and those of its corpus by digest."""

    state: dict[str, object] | None = None
    graph: str = ""
    corpus: Mapping[str, str] = field(default_factory=dict)


def read_checkpoint(shard: Shard) -> Saved:
    """What a shard goes on from."""
    if shard.checkpoint is None:
        return Saved()
    if shard.checkpoint_format != CHECKPOINT_FORMAT:
        raise UnreadableCheckpointError(
            f"its format is {shard.checkpoint_format}, this version reads {CHECKPOINT_FORMAT}"
        )
    try:
        state = unpack_json(shard.checkpoint)
        digest = str(state.get("graph", ""))
        wanted = {*Corpus.digests(state), *([digest] if digest else [])}
        kept = GraphText.objects.in_bulk(wanted)
        texts = {name: row.text for name, row in kept.items()}
        for text in texts.values():
            parse_case(text)
    except (zlib.error, ValueError, BadInput) as error:
        raise UnreadableCheckpointError(f"it is damaged: {error}") from error
    missing = sorted(wanted - texts.keys())
    if missing:
        raise UnreadableCheckpointError(f"the graph {missing[0][:12]} is not on record")
    corpus = {name: texts[name] for name in Corpus.digests(state)}
    return Saved(state, texts[digest] if digest else "", corpus)


# ----------------------------------------------------------------------------------------- record
@transaction.atomic
def record_round(
    claim: Claim,
    *,
    event: RoundFinished,
    findings: Iterable[Finding] = (),
    on_finding: OnFinding,
    now: datetime | None = None,
) -> None:
    """Write a round, its findings, its counters and the state after it; all or nothing.

    `LostLeaseError` where the shard is no longer ours or another round is due.
    """
    now = now or timezone.now()
    shard = claim.shard
    reasons = _added(shard.rejected_reasons, event.rejected)
    recorded = claim.held.filter(next_round=event.round).update(
        next_round=event.round + 1,
        checkpoint=pack_json(event.checkpoint),
        checkpoint_format=CHECKPOINT_FORMAT,
        lease_until=now + LEASE,
        errors=0,
        last_error="",
        recorded_rounds=F("recorded_rounds") + 1,
        accepted=F("accepted") + int(event.accepted),
        rejected=F("rejected") + sum(event.rejected.values()),
        rejected_reasons=reasons,
        executions=F("executions") + event.executions,
        seconds=F("seconds") + event.seconds,
    )
    if recorded != 1:
        raise LostLeaseError(f"{shard}: round {event.round} is not ours to record")
    mutant = Mutant.objects.create(shard=shard, created_at=now, **_columns(event))
    _count_refusals(shard, event)
    _keep_graph(event)
    found = _count_findings(claim, findings, on_finding)
    if found:
        Mutant.objects.filter(pk=mutant.pk).update(findings=found)
    shard.rejected_reasons = reasons


def _columns(event: RoundFinished) -> dict[str, object]:
    plain = {name: getattr(event, name) for name in _PLAIN}
    lineage = event.checkpoint.get("lineage")
    return {
        **plain,
        **{name: dict(getattr(event, name)) for name in ("site", "rejected", "statuses")},
        "further": list(event.further),
        "depth": len(lineage) if isinstance(lineage, list) else None,
    }


def _count_refusals(shard: Shard, event: RoundFinished) -> None:
    """Nobody else counts them: the shard's row is ours until the transaction ends."""
    for mutation, reasons in event.refused.items():
        for reason, count in reasons.items():
            same = Refusal.objects.filter(shard=shard, mutation=mutation, reason=reason)
            if not same.update(count=F("count") + count):
                Refusal.objects.create(shard=shard, mutation=mutation, reason=reason, count=count)


def _keep_graph(event: RoundFinished) -> None:
    """The chain's graph, once: what a checkpoint refers to, and what a lineage is replayed from."""
    digest = str(event.checkpoint.get("graph", ""))
    if digest and event.graph_text and not GraphText.objects.filter(digest=digest).exists():
        row = GraphText(digest=digest, packed=GraphText.pack(event.graph_text))
        GraphText.objects.bulk_create([row], ignore_conflicts=True)


def _count_findings(claim: Claim, findings: Iterable[Finding], on_finding: OnFinding) -> int:
    """File them and count the new ones, on the shard by symptom; how many those are."""
    fresh = Counter(one.symptom.value for one in findings if on_finding(one, claim.shard))
    if fresh:
        claim.held.update(
            **{f"{name}_findings": F(f"{name}_findings") + count for name, count in fresh.items()}
        )
    return fresh.total()


def _added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Both counts together; beyond a hundred reasons the rarest are counted as "other"."""
    total = Counter(before)
    total.update(more)
    other = total.pop("other", 0)
    kept = dict(total.most_common(_REASONS_KEPT))
    other += sum(total.values()) - sum(kept.values())
    return kept | ({"other": other} if other else {})


# -------------------------------------------------------------------------------------------- end
def release_shard(claim: Claim) -> Hint | None:
    """Give it back to the queue; the hint for whoever is next, None where it is not ours."""
    freed = claim.held.update(status=Shard.Status.QUEUED, owner="", lease_until=None)
    return Hint(claim.shard.pk, claim.epoch) if freed else None


def delay_shard(claim: Claim, *, error: str, now: datetime | None = None) -> None:
    """Give it back after a trouble that is not its own; longer between tries each time."""
    now = now or timezone.now()
    wait = min(_LONGEST_DELAY, timedelta(seconds=5 * 2 ** min(claim.shard.errors, 10)))
    claim.held.update(
        status=Shard.Status.QUEUED,
        owner="",
        lease_until=None,
        retry_at=now + wait,
        errors=F("errors") + 1,
        last_error=error[-_TEXT_KEPT:],
    )


def finish_shard(claim: Claim, *, reason: str, now: datetime | None = None) -> None:
    """Its rounds are done; the last open shard ends the campaign."""
    _end(claim, status=Shard.Status.FINISHED, now=now, why=reason, finish_reason=reason)


def fail_shard(claim: Claim, *, error: str, now: datetime | None = None) -> None:
    """It cannot go on, and `error` says why; the campaign's other shards do."""
    why = (error.strip().splitlines() or ["no reason given"])[-1]
    _end(claim, status=Shard.Status.FAILED, now=now, why=why, last_error=error[-_TEXT_KEPT:])


def pause_for_checkpoint(claim: Claim, *, reason: str) -> None:
    """A checkpoint that cannot be read stops the campaign until a person has looked."""
    release_shard(claim)
    problem = f"The checkpoint of {claim.shard} cannot be read: {reason}."
    with suppress(MoveRefusedError):  # a person has already paused or ended it
        pause_campaign(claim.shard.campaign, problem=problem)


def _end(
    claim: Claim, *, status: Shard.Status, now: datetime | None, why: str, **changes: object
) -> None:
    now = now or timezone.now()
    shard = claim.shard
    with transaction.atomic():
        ended = claim.held.update(
            status=status, owner="", lease_until=None, finished_at=now, **changes
        )
        if ended:
            kind = f"shard_{status.value}"
            note_event(shard.campaign, kind=kind, why=f"{shard}: {why}"[:_TEXT_KEPT], now=now)
    if ended:
        # After the commit: of two shards that end at once, the later sees both.
        _close(shard.campaign, now)


def _close(campaign: Campaign, now: datetime) -> bool:
    """End a campaign of which no shard is open; whether it was one."""
    shards = list(campaign.shards.only("status", "seed", "index", "last_error", "campaign_id"))
    if any(shard.status in _OPEN for shard in shards):
        return False
    failed = [shard for shard in shards if shard.status == Shard.Status.FAILED]
    problem = ""
    if failed:
        last = (failed[0].last_error.strip().splitlines() or ["no reason given"])[-1]
        problem = f"{len(failed)} of {len(shards)} shards failed. {failed[0]}: {last}"
    everything = len(failed) == len(shards)
    to = Campaign.Status.FAILED if everything else Campaign.Status.FINISHED
    if campaign.status == Campaign.Status.PENDING:
        _move(campaign, Campaign.Status.RUNNING, now=now)
    return _move(campaign, to, now=now, problem=problem)


def _move(campaign: Campaign, to: Campaign.Status, *, now: datetime, problem: str = "") -> bool:
    """Move a campaign, unless a person or another worker was quicker."""
    try:
        move_campaign(campaign, to=to, now=now, problem=problem)
    except MoveRefusedError:
        return False
    return True


# ------------------------------------------------------------------------------------------ sweep
def sweep_expired(*, now: datetime | None = None) -> list[Hint]:
    """Queue the shards of dead workers again; hints for all that can be claimed now.

    Also ends live campaigns that have no open shard, and forgets workers that are gone.
    Any number of sweepers may run at once.
    """
    now = now or timezone.now()
    _queue_orphans(now)
    names = WorkerHeartbeat.objects.values_list("name", flat=True)
    WorkerHeartbeat.objects.filter(
        Q(last_seen__lt=now - _FORGET_WORKERS) | Q(name__in=[one for one in names if is_gone(one)])
    ).delete()
    ended = Campaign.objects.filter(status__in=_LIVE).exclude(
        pk__in=Shard.objects.filter(status__in=_OPEN).values("campaign")
    )
    for campaign in ended:
        _close(campaign, now)
    ready = Shard.objects.filter(_claimable(now), campaign__status__in=_LIVE)
    # Those behind come first, so that every seed is looked at early.
    ordered = ready.order_by("next_round", "pk").values_list("pk", "epoch")
    return [Hint(shard, epoch) for shard, epoch in ordered]


def _queue_orphans(now: datetime) -> None:
    """Take shards from owners whose lease ran out, or who are known to be gone."""
    held = Shard.objects.filter(status=Shard.Status.RUNNING)
    for shard in held.only("epoch", "owner", "lease_until"):
        if not shard.is_leased(now) or is_gone(shard.owner):
            held.filter(pk=shard.pk, epoch=shard.epoch, lease_until=shard.lease_until).update(
                status=Shard.Status.QUEUED, owner="", lease_until=None, epoch=F("epoch") + 1
            )
