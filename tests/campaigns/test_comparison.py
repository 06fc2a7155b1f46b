"""Two campaigns side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.comparison import compare
from campaigns.curves import curves
from campaigns.models import Campaign
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


def run(rounds: int, *, found_in: tuple[int, ...] = (), **fields: Any) -> Campaign:
    """A finished campaign of one shard of rounds of two seconds each."""
    campaign = factories.campaign(status="finished", **fields)
    for number in range(rounds):
        factories.mutant(
            shard=campaign.shards.get(),
            round=number,
            seconds=2.0,
            reward=0.5,
            findings=int(number in found_in),
        )
    factories.shard(
        campaign=campaign,
        recorded_rounds=rounds,
        next_round=rounds,
        accepted=(rounds + 1) // 2,
        rejected=3 * rounds,
        rejected_reasons={"too large": 3 * rounds},
        seconds=2.0 * rounds,
        crash_findings=len(found_in),
    )
    return campaign


def test_outcomes_are_measured_the_same_way() -> None:
    found = compare(run(20, found_in=(3, 12)), run(10))
    lines = {line.name: (line.first, line.second) for line in found.outcome}
    assert lines["Rounds"] == ("20", "10")
    assert lines["Accepted mutants"] == ("50.0 %", "50.0 %")
    assert lines["Refused candidates for a round"] == ("3.00", "3.00")
    assert lines["Mean reward"] == ("0.500", "0.500")
    assert lines["Seconds for a round"] == ("2.00", "2.00")
    assert lines["Findings"] == ("2", "0")
    assert lines["Findings for 100 rounds"] == ("10.00", "0.00")
    assert lines["Findings for an hour of work"] == ("180.00", "0.00")
    assert found.reasons == (("too large", 60, 30),)


def test_what_was_asked_otherwise_is_named_but_for_the_random_seed() -> None:
    first, second = run(1, random_seed=1), run(1, random_seed=2, policy="linucb")
    assert compare(first, second).differing == ("Policy",)


def test_curves_end_where_their_campaign_ended() -> None:
    figure = compare(run(20, found_in=(3, 12)), run(10)).found_by_round
    assert figure is not None
    long, short = (trace["y"] for trace in figure.plot["data"])
    assert list(figure.plot["data"][0]["x"]) == [5.0, 10.0, 15.0, 20.0]
    assert list(long) == [1.0, 1.0, 2.0, 2.0]
    assert list(short) == [0.0, 0.0, None, None]


def test_campaigns_without_rounds_have_no_curves() -> None:
    found = compare(run(0), run(0))
    assert found.found_by_round is None
    assert found.outcome[1].first == "none yet %"


def test_means_are_of_bins_of_all_shards() -> None:
    campaign = factories.campaign(shards=2)
    for shard in campaign.shards.all():
        for number in range(10):
            factories.mutant(shard=shard, round=number, accepted=number < 5, reward=float(number))
    first, second = curves(campaign, rounds=10).rounds
    assert (first.first, first.accepted, first.reward, first.rounds) == (0, 1.0, 2.0, 10)
    assert (second.first, second.accepted, second.reward, second.rounds) == (5, 0.0, 7.0, 20)
    assert second.seconds == pytest.approx(30.0)


def test_buckets_are_of_one_or_of_both() -> None:
    first, second = run(1), run(1)
    both = factories.finding(shard=first.shards.get(), signature="both")
    factories.finding(shard=second.shards.get(), signature="both")
    only = factories.finding(shard=second.shards.get(), signature="only second")
    shared = compare(first, second).shared
    assert [one.url for one in shared.both] == [both.bucket.get_absolute_url()]
    assert [(one.first_count, one.second_count) for one in shared.both] == [(1, 1)]
    assert [one.url for one in shared.only_second] == [only.bucket.get_absolute_url()]
    assert shared.only_first == ()
    assert compare(second, first).first.buckets == 2


@pytest.mark.usefixtures("person")
def test_page_claims_no_significance(client: Client) -> None:
    first, second = run(6, name="One"), run(6, name="Two")
    page = client.get("/campaigns/compare/", {"first": first.uuid, "second": second.uuid})
    text = page.content.decode()
    assert "two single runs" in text
    assert "significantly better" in text
    for part in ("Findings over rounds", "Findings over minutes", "too large", "found by both"):
        assert part in text


@pytest.mark.usefixtures("person")
def test_page_asks_for_two_different_campaigns(client: Client) -> None:
    assert "nothing to compare yet" in client.get("/campaigns/compare/").content.decode()
    first, second = run(1), run(1)
    assert "Choose two campaigns" in client.get("/campaigns/compare/").content.decode()
    asked = {"first": first.uuid, "second": first.uuid}
    assert "Choose another campaign" in client.get("/campaigns/compare/", asked).content.decode()
    asked["second"] = "no such campaign"
    assert "is not a valid UUID" in client.get("/campaigns/compare/", asked).content.decode()
    alone = client.get("/campaigns/compare/", {"first": second.uuid}).content.decode()
    assert f'value="{second.uuid}" selected' in alone


def test_comparing_makes_the_same_number_of_queries_at_any_size(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    for size in (2, 12):
        first, second = run(size), run(size)
        factories.finding(shard=first.shards.get())
        with django_assert_num_queries(5):
            compare(first, second)


def test_long_campaigns_keep_their_ends_and_totals_in_few_points() -> None:
    campaign = factories.campaign(shards=2)
    for shard in campaign.shards.all():
        for number in range(420):
            factories.mutant(
                shard=shard,
                round=number,
                findings=int(number == 400),
                created_at=factories.days_ago(2 - number / 420),
            )
    drawn = curves(campaign, rounds=420)
    assert len(drawn.rounds) <= 40
    assert drawn.rounds[-1].rounds == drawn.time[-1].rounds == 840
    assert drawn.rounds[-1].found == drawn.time[-1].found == 2
    assert len(drawn.time) <= 130
    assert [one.when for one in drawn.time] == sorted(one.when for one in drawn.time)
