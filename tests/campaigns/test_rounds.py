"""Recorded rounds: one with the way that led to it, and the list of a campaign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from campaigns.models import GraphText, Mutant, Shard
from campaigns.rounds import round_page
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


def chain(shard: Shard, *accepted_and_depth: tuple[bool, int | None]) -> list[Mutant]:
    """Rounds of a shard: whether each was accepted, and the chain's length after it."""
    return [
        factories.mutant(
            shard=shard,
            round=number,
            accepted=accepted,
            depth=depth,
            digest=f"digest {number}",
            further=["drop.edge"],
        )
        for number, (accepted, depth) in enumerate(accepted_and_depth)
    ]


def test_way_leads_over_accepted_rounds_since_the_chain_began_again() -> None:
    shard = factories.shard()
    rounds = chain(
        shard, (True, 2), (False, 0), (True, 2), (False, 2), (True, 4), (False, 4), (True, 0)
    )
    page = round_page(rounds[5])
    assert page.lineage is not None
    assert [one.round for one in page.lineage] == [2, 4]
    assert page.mutations_before == 4
    assert (page.before, page.after) == (4, 6)


def test_first_round_mutates_the_seed_itself() -> None:
    rounds = chain(factories.shard(), (True, 2))
    page = round_page(rounds[0])
    assert (page.lineage, page.before, page.after) == ((), None, None)


def test_way_of_rounds_of_an_older_version_is_unknown(client: Client) -> None:
    shard = factories.shard()
    rounds = chain(shard, (True, None), (True, 4), (False, 0), (True, 2))
    assert round_page(rounds[1]).lineage is None
    # Since the chain began again everything is known.
    assert round_page(rounds[3]).lineage == ()
    assert "An older version" in client.get(rounds[1].get_absolute_url()).content.decode()


def test_graph_that_was_mutated_is_shown_where_it_is_kept(client: Client) -> None:
    rounds = chain(factories.shard(), (True, 2), (True, 4))
    GraphText.objects.create(digest="digest 0", packed=GraphText.pack("graph of round 0"))
    assert round_page(rounds[1]).graph == "graph of round 0"
    assert round_page(rounds[0]).graph == ""
    assert "graph of round 0" in client.get(rounds[1].get_absolute_url()).content.decode()


def test_page_shows_mutations_site_refusals_statuses_and_findings(client: Client) -> None:
    shard = factories.shard()
    record = factories.finding(shard=shard, round=0, title="exp is wrong")
    mutant = factories.mutant(
        shard=shard,
        round=0,
        verdict="fail",
        reason="inductor disagrees",
        site={"nodes": ["v3"], "consumer": "v4", "detail": {"framework": "torch"}},
        further=["operator.deletion.view"],
        rejected={"kernel too large": 3, "no such axis": 9},
        statuses={"torch-eager": "ok", "torch-inductor": "raised"},
        reward=0.125,
    )
    page = client.get(mutant.get_absolute_url()).content.decode()
    for text in (
        "insert_unary.exp",
        "operator.deletion.view",
        "inductor disagrees",
        "framework torch",
        "no such axis",
        "raised",
        "0.125",
        "exp is wrong",
        record.get_absolute_url(),
        record.bucket.get_absolute_url(),
    ):
        assert text in page, text
    assert page.index("no such axis") < page.index("kernel too large")


def test_round_without_a_mutant_says_that_nothing_fitted(client: Client) -> None:
    shard = factories.shard()
    mutant = factories.mutant(
        shard=shard, round=0, mutator="", variant="", verdict="rejected", statuses={}
    )
    page = client.get(mutant.get_absolute_url()).content.decode()
    assert "No candidate fitted" in page
    assert "Nothing was run" in page


def test_round_that_is_not_recorded_is_not_found(client: Client) -> None:
    shard = factories.shard()
    path = reverse("campaigns:show-round", args=[shard.uuid, 5])
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [3, 2, 1, 0]),
        ("verdict=fail", [1]),
        ("accepted=true", [2, 0]),
        ("accepted=false", [3, 1]),
        ("found=true", [1]),
        ("q=deletion", [2]),
        ("q=noise+floor", [3]),
        (f"seed={factories.SEED}", [3, 2, 1, 0]),
    ],
)
def test_rounds_are_filtered_by_the_address(client: Client, query: str, numbers: list[int]) -> None:
    shard = factories.shard()
    factories.mutant(shard=shard, round=0)
    factories.mutant(shard=shard, round=1, verdict="fail", findings=1)
    factories.mutant(shard=shard, round=2, further=["operator.deletion.view"])
    factories.mutant(shard=shard, round=3, reason="below the noise floor")
    factories.mutant(shard=factories.shard(), round=7)
    path = reverse("campaigns:list-rounds", args=[shard.campaign.uuid])
    page = client.get(f"{path}?{query}").context["page"]
    assert [one.round for one in page.object_list] == numbers


def test_rounds_that_do_not_match_and_rounds_that_are_not_there_say_so(client: Client) -> None:
    path = reverse("campaigns:list-rounds", args=[factories.campaign().uuid])
    assert "No round yet" in client.get(path).content.decode()
    assert "Nothing matches" in client.get(f"{path}?q=zebra").content.decode()


def test_pages_of_rounds_make_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for size in (2, 9):
        shard = factories.shard()
        rounds = chain(shard, *[(True, 2 * number + 2) for number in range(size)])
        path = reverse("campaigns:list-rounds", args=[shard.campaign.uuid])
        # Session, user, the navigation's three; then campaign, count and rows.
        with django_assert_num_queries(8):
            client.get(path)
        # The round, its neighbours, the way, the graph and the findings.
        with django_assert_num_queries(10):
            client.get(rounds[-1].get_absolute_url())
