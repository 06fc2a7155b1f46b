"""The REST API of campaigns: the same filters, presets, estimates and steps as the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.choices import PRESETS
from campaigns.models import Campaign
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Messages to workers, which are kept from the broker."""
    taken: list[str] = []
    monkeypatch.setattr(
        "campaigns.hints.current_app.send_task", lambda name, given, **_: taken.append(name)
    )
    return taken


def post(client: Client, path: str, data: dict[str, Any] | None = None) -> Any:
    return client.post(f"/api/campaigns/{path}", data or {}, content_type="application/json")


def names(client: Client, query: str) -> list[str]:
    return [one["name"] for one in client.get(f"/api/campaigns/?{query}").json()["results"]]


def test_list_has_the_filters_and_sorts_of_the_page(client: Client) -> None:
    factories.campaign(name="a", status="running")
    factories.campaign(name="b", policy="linucb")
    factories.campaign(name="c", status="finished")
    assert names(client, "sort=name") == ["a", "b", "c"]
    assert names(client, "status=live&sort=-name") == ["b", "a"]
    assert names(client, "policy=linucb") == ["b"]
    assert names(client, "q=c") == ["c"]
    assert client.get("/api/campaigns/?status=zebra").status_code == 400


def test_preset_fills_what_is_left_out_and_what_is_sent_replaces_it(
    client: Client, sent: list[str]
) -> None:
    made = post(client, "", {"preset": "overnight", "rounds": 9, "name": "Mine"}).json()
    assert (made["name"], made["preset"]) == ("Mine", "overnight")
    assert (made["rounds"], made["minutes"]) == (9, None)
    assert len(made["seeds"]) >= 2
    assert sent == ["flowmut.run_shard"] * len(made["seeds"])
    timed = post(client, "", {"preset": "overnight"}).json()
    assert timed["minutes"] > 0


def test_new_campaign_has_the_rules_of_the_form(client: Client) -> None:
    wrong = post(client, "", {"preset": "one_operator"})
    assert wrong.status_code == 400
    assert "Name the operator" in str(wrong.json()["ops"])
    assert "no_such" in str(post(client, "", {"preset": "one_seed", "ops": ["no_such"]}).json())
    nothing = post(client, "", {}).json()
    assert {"name", "seeds", "modes", "rounds"} <= set(nothing)
    assert not Campaign.objects.exists()
    made = post(client, "", {"preset": "one_operator", "ops": ["softmax", "relu"]})
    assert made.json()["ops"] == ["softmax", "relu"]


def test_estimate_starts_nothing(client: Client) -> None:
    made = post(client, "estimate/", {"preset": "quick_look"}).json()
    quick_look = PRESETS[Campaign.Preset.QUICK_LOOK]
    assert made["rounds"] == (quick_look.rounds or 0) * len(made["seeds"])
    assert made["wall_seconds"] > 0
    assert {"seed", "scale", "seconds_per_round", "seen", "rounds"} == set(made["seeds"][0])
    assert not Campaign.objects.exists()
    assert post(client, "estimate/", {"preset": "one_seed", "seeds": ["zebra"]}).status_code == 400


def test_clone_takes_options_and_replaces_what_is_sent(client: Client) -> None:
    origin = factories.campaign(name="Deep", policy="random", ops=["relu"], random_seed=5)
    made = post(client, f"{origin.uuid}/clone/", {"rounds": 3})
    assert made.status_code == 201
    clone = made.json()
    assert (clone["policy"], clone["ops"], clone["rounds"]) == ("random", ["relu"], 3)
    assert clone["cloned_from"] == str(origin.uuid)
    assert clone["random_seed"] != 5


def test_history_names_who_did_what(client: Client) -> None:
    campaign = factories.campaign()
    post(client, f"{campaign.uuid}/pause/")
    post(client, f"{campaign.uuid}/resume/")
    lines = client.get(f"/api/campaigns/{campaign.uuid}/history/").json()
    assert [(one["kind"], one["who"]) for one in lines] == [
        ("created", None),
        ("paused", "ada"),
        ("pending", "ada"),
    ]


def test_rounds_are_paged_and_filtered(client: Client) -> None:
    shard = factories.shard()
    for number in range(4):
        factories.mutant(shard=shard, round=number, further=["drop.edge"])
    path = f"/api/campaigns/{shard.campaign.uuid}/rounds/"
    page = client.get(path, {"limit": 2}).json()
    assert page["count"] == 4
    assert [one["round"] for one in page["results"]] == [3, 2]
    assert page["results"][0]["mutations"] == ["insert_unary.exp", "drop.edge"]
    assert client.get(path, {"accepted": "true"}).json()["count"] == 2


def test_two_campaigns_are_compared(client: Client) -> None:
    first, second = factories.campaign(), factories.campaign()
    factories.finding(shard=first.shards.get())
    asked = {"first": str(first.uuid), "second": str(second.uuid)}
    found = client.get("/api/campaigns/compare/", asked).json()
    assert {line["name"] for line in found["outcome"]} >= {"Rounds", "Distinct buckets"}
    assert len(found["buckets"]["only_first"]) == 1
    asked["second"] = asked["first"]
    assert client.get("/api/campaigns/compare/", asked).status_code == 400


def test_environments_are_listed_and_asked_again(client: Client, sent: list[str]) -> None:
    factories.environment("torch", "2.13.0")
    listed = client.get("/api/environments/").json()["results"]
    assert [(one["name"], one["versions"]) for one in listed] == [("torch", {"torch": "2.13.0"})]
    asked = client.post("/api/environments/probe/", {}, content_type="application/json")
    assert asked.status_code == 202
    assert sent == ["flowmut.probe_environments"]


def test_description_names_what_is_new(client: Client) -> None:
    paths = client.get("/api/schema/?format=json").json()["paths"]
    for path in ("estimate/", "compare/", "{uuid}/clone/", "{uuid}/rounds/", "{uuid}/history/"):
        assert f"/api/campaigns/{path}" in paths
    asked = {one["name"] for one in paths["/api/campaigns/"]["get"]["parameters"]}
    assert {"q", "status", "seed", "policy"} <= asked
