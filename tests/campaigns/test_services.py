import pytest

from campaigns.models import Campaign, Shard
from campaigns.services import (
    MOVES,
    MoveRefusedError,
    cancel_campaign,
    create_campaign,
    move_campaign,
    pause_campaign,
    resume_campaign,
)
from tests import factories

pytestmark = pytest.mark.django_db
Status = Campaign.Status


def test_new_campaign_has_a_queued_shard_for_each_seed() -> None:
    campaign = factories.campaign(shards=3)
    assert campaign.status == Status.PENDING
    assert [(one.index, one.status) for one in campaign.shards.all()] == [
        (0, "queued"),
        (1, "queued"),
        (2, "queued"),
    ]


@pytest.mark.parametrize("missing", ["seeds", "modes"])
def test_campaign_without_seeds_or_modes_is_refused(missing: str) -> None:
    values = {"seeds": ["a"], "modes": ["torch-eager"], missing: []}
    with pytest.raises(ValueError, match="at least one seed and one mode"):
        create_campaign(name="x", policy="random", random_seed=0, rounds=1, **values)


def test_every_status_has_its_row_in_the_table() -> None:
    assert set(MOVES) == set(Status)


@pytest.mark.parametrize("start", list(Status))
@pytest.mark.parametrize("to", list(Status))
def test_a_move_succeeds_exactly_where_the_table_says_so(start: Status, to: Status) -> None:
    campaign = factories.campaign(status=start)
    if to in MOVES[start]:
        assert move_campaign(campaign, to=to).status == to
    else:
        with pytest.raises(MoveRefusedError, match="cannot become"):
            move_campaign(campaign, to=to)
        assert Campaign.objects.get(pk=campaign.pk).status == start


def test_pause_keeps_shards_as_they_are_and_resume_queues_failed_ones() -> None:
    campaign = factories.campaign(shards=2, status=Status.RUNNING)
    campaign.shards.filter(index=0).update(status=Shard.Status.FAILED, errors=3)
    pause_campaign(campaign, problem="disk is full")
    assert campaign.problem == "disk is full"
    resume_campaign(campaign)
    assert campaign.status == Status.PENDING
    assert campaign.problem == ""
    assert {one.status for one in campaign.shards.all()} == {"queued"}
    assert campaign.shards.get(index=0).errors == 0


def test_cancel_takes_the_lease_away_from_whoever_holds_it() -> None:
    campaign = factories.campaign(status=Status.RUNNING)
    shard = factories.shard(campaign=campaign)
    Shard.objects.filter(pk=shard.pk).update(
        status="running", owner="worker", lease_until=shard.created_at, epoch=4
    )
    cancel_campaign(campaign)
    shard.refresh_from_db()
    assert (shard.status, shard.owner, shard.lease_until, shard.epoch) == ("cancelled", "", None, 5)
    assert campaign.finished_at is not None
