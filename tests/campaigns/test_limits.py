"""Limits of a campaign, its history, and what a round keeps of its chain."""

from __future__ import annotations

from typing import cast

import pytest
from django.contrib.auth.models import User

from campaigns import services
from campaigns.models import MOST_ROUNDS, Campaign, CampaignEvent, Mutant
from campaigns.pulse import Pulse
from campaigns.shards import Claim, claim_shard, fail_shard, finish_shard, record_round
from campaigns.slices import options_of, run_slice
from engine.executors.pool import Pool
from engine.finding import Finding
from tests import factories
from tests.campaigns.scripted import ScriptedEngine, campaign, finding, round_event

pytestmark = pytest.mark.django_db

NO_POOL = cast(Pool, None)  # a scripted engine runs nothing


def _claimed(shard_key: int, owner: str = "one") -> Claim:
    claim = claim_shard(shard_key, owner=owner)
    assert claim is not None
    return claim


def _ignore(finding: Finding, shard: object) -> bool:
    return True


# ---------------------------------------------------------------------------------------- limits
def test_campaign_without_any_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a limit"):
        campaign(rounds=None)  # type: ignore[arg-type]


def test_campaign_of_minutes_alone_has_no_limit_of_rounds() -> None:
    made = campaign(rounds=None, minutes=5)  # type: ignore[arg-type]
    assert (made.rounds, made.has_round_limit()) == (MOST_ROUNDS, False)
    assert campaign(rounds=3).has_round_limit()


def test_shard_whose_time_is_over_finishes_after_the_round() -> None:
    made = campaign(rounds=9, minutes=1)
    shard = made.shards.get()
    shard.seconds = 59.6  # a scripted round takes a quarter of a second
    shard.save()
    run_slice(
        shard.pk, pool=NO_POOL, pulse=Pulse(name="one"), on_finding=_ignore, engine=ScriptedEngine()
    )
    shard.refresh_from_db()
    made.refresh_from_db()
    assert (shard.recorded_rounds, shard.status) == (2, "finished")
    assert shard.finish_reason == "the time asked for is over"
    assert made.status == Campaign.Status.FINISHED


def test_share_done_follows_what_is_further() -> None:
    made = campaign(rounds=100, minutes=2)
    assert made.share_done(25, 30.0) == 0.25
    assert made.share_done(25, 60.0) == 0.5
    assert made.share_done(50, 240.0, shards=2) == 1.0
    assert campaign(rounds=10).share_done(99, 0.0) == 1.0


def test_campaign_of_one_worker_has_one_shard_claimed_at_a_time() -> None:
    made = campaign(shards=2, workers=1)
    first, second = made.shards.order_by("index")
    claim = _claimed(first.pk)
    assert claim_shard(second.pk, owner="two") is None
    finish_shard(claim, reason="done")
    assert claim_shard(second.pk, owner="two") is not None


def test_engine_is_asked_for_pool_and_operators() -> None:
    shard = campaign(pool="TFG", ops=["relu"]).shards.get()
    options = options_of(shard)
    assert (options.pool, options.ops) == ("TFG", ("relu",))


# --------------------------------------------------------------------------------------- history
def _history(made: Campaign) -> list[tuple[str, User | None, str]]:
    events = CampaignEvent.objects.filter(campaign=made)
    return [(one.kind, one.who, one.why) for one in events]


def test_history_says_who_did_what_and_why() -> None:
    ada = factories.user("ada")
    made = campaign(created_by=ada)
    services.pause_campaign(made, problem="the disk is full")
    services.resume_campaign(made, who=ada)
    services.cancel_campaign(made, who=ada)
    assert _history(made) == [
        ("created", ada, ""),
        ("paused", None, "the disk is full"),
        ("pending", ada, ""),
        ("cancelled", ada, ""),
    ]


def test_refused_move_leaves_no_line() -> None:
    made = factories.campaign(status="finished")
    with pytest.raises(services.MoveRefusedError):
        services.pause_campaign(made)
    assert [kind for kind, _, _ in _history(made)] == ["created"]


def test_end_of_a_shard_is_a_line_with_its_reason() -> None:
    made = campaign(shards=2)
    first, second = made.shards.order_by("index")
    finish_shard(_claimed(first.pk), reason="all rounds are done")
    fail_shard(_claimed(second.pk), error="Traceback\nBadInput: no such thing")
    kinds = {kind: why for kind, _, why in _history(made)}
    assert kinds["shard_finished"] == f"{first}: all rounds are done"
    assert kinds["shard_failed"] == f"{second}: BadInput: no such thing"
    assert "1 of 2 shards failed" in kinds["finished"]


def test_clone_says_what_it_comes_from() -> None:
    origin = campaign()
    clone = campaign(cloned_from=origin)
    assert _history(clone)[0][2] == "A clone of Scripted."
    assert list(origin.clones.all()) == [clone]


# ----------------------------------------------------------------------------------------- chain
def test_round_keeps_all_its_mutations_and_the_length_of_the_chain() -> None:
    claim = _claimed(campaign().shards.get().pk)
    event = round_event(
        0,
        further=("swap.right", "drop"),
        checkpoint={"format": 1, "graph": "", "lineage": ["swap.left", "swap.right", "drop"]},
    )
    record_round(claim, event=event, on_finding=_ignore)
    row = Mutant.objects.get()
    assert row.labels == ("swap.left", "swap.right", "drop")
    assert row.depth == 3
    record_round(claim, event=round_event(1), on_finding=_ignore)
    assert Mutant.objects.get(round=1).depth is None


def test_round_counts_its_new_findings_only() -> None:
    claim = _claimed(campaign().shards.get().pk)
    found = [finding(key="a"), finding(key="b")]
    record_round(
        claim,
        event=round_event(0),
        findings=found,
        on_finding=lambda one, shard: one.key == "a",
    )
    assert Mutant.objects.get().findings == 1
