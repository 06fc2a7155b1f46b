"""The form that starts a campaign: presets, clones, and what it will cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from campaigns.choices import PRESETS, policy_texts, pool_texts
from campaigns.estimates import DEFAULT_SECONDS, DISK_PER_ROUND, estimate
from campaigns.forms import CampaignForm, clone_values, preset_values
from campaigns.models import MOST_ROUNDS, Campaign, WorkerHeartbeat
from engine.selection import POLICIES
from tests import factories

pytestmark = pytest.mark.django_db
QWEN = "qwen2_5_0_5b_compact"


@pytest.fixture
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, ...]]]:
    """Messages to workers, which are kept from the broker."""
    taken: list[tuple[str, tuple[int, ...]]] = []
    monkeypatch.setattr(
        "campaigns.hints.current_app.send_task",
        lambda name, given, **_: taken.append((name, given)),
    )
    return taken


def form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "Mine",
        "seeds": [factories.SEED],
        "modes": ["torch-inductor", "torch-eager"],
        "policy": "random",
        "pool": "CG",
        "rounds": "5",
        "random_seed": "7",
        "preset": "one_seed",
        **fields,
    }


def sendable(values: dict[str, Any]) -> dict[str, Any]:
    """What a browser sends of a form's first values."""
    return {name: "" if one is None else one for name, one in values.items()}


def test_form_starts_a_campaign_of_the_person_and_tells_a_worker(
    client: Client, person: User, sent: list[tuple[str, tuple[int, ...]]]
) -> None:
    response = client.post("/campaigns/new/", form(ops="relu, softmax", workers="2"))
    campaign = Campaign.objects.get()
    assert response.status_code == 302
    assert response["Location"] == campaign.get_absolute_url()
    assert campaign.created_by == person
    # In the order of the catalogue, whatever the browser sent.
    assert campaign.modes == ["torch-eager", "torch-inductor"]
    assert (campaign.preset, campaign.random_seed, campaign.rounds) == ("one_seed", 7, 5)
    assert (campaign.pool, campaign.ops, campaign.workers) == ("CG", ["relu", "softmax"], 2)
    assert sent == [("flowmut.run_shard", (campaign.shards.get().pk, 0))]


@pytest.mark.usefixtures("person")
def test_broker_that_takes_nothing_delays_the_start_and_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr("campaigns.hints.current_app.send_task", refuse)
    page = client.post("/campaigns/new/", form(), follow=True).content.decode()
    assert "It begins with the next worker" in page
    assert Campaign.objects.count() == 1


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"seeds": []}, "This field is required."),
        ({"seeds": ["no_such_seed"]}, "There is no no_such_seed here. Known: "),
        ({"rounds": "0"}, "greater than or equal to 1"),
        ({"rounds": ""}, "Give a number of rounds, of minutes, or both."),
        ({"random_seed": "-1"}, "greater than or equal to 0"),
        ({"policy": "no_such_policy"}, "no_such_policy"),
        ({"workers": "0"}, "greater than or equal to 1"),
        ({"ops": "sofmax"}, "There is no operator sofmax. Did you mean softmax"),
        ({"preset": "one_operator"}, "Name the operator"),
    ],
)
def test_form_says_what_is_wrong_and_starts_nothing(
    client: Client, fields: dict[str, Any], said: str
) -> None:
    page = client.post("/campaigns/new/", form(**fields)).content.decode()
    assert said in page
    assert "It was not started" in page
    assert not Campaign.objects.exists()


@pytest.mark.usefixtures("person")
def test_folded_part_is_open_where_it_holds_the_error(client: Client) -> None:
    wrong = client.post("/campaigns/new/", form(random_seed="-1")).content.decode()
    assert "<details open><summary>Advanced" in wrong
    plain = client.get("/campaigns/new/").content.decode()
    assert "<details><summary>Advanced" in plain


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("preset", [*PRESETS, "no such preset"])
def test_each_preset_fills_a_form_that_can_be_sent_as_it_is(client: Client, preset: str) -> None:
    page = client.get("/campaigns/new/", {"preset": preset})
    given = sendable(page.context["form"].initial)
    if preset == "one_operator":
        given["ops"] = "softmax"
    response = client.post("/campaigns/new/", given)
    assert response.status_code == 302, response.context["form"].errors


def test_overnight_shares_ten_hours_among_its_seeds() -> None:
    preset = PRESETS["overnight"]
    assert preset.minutes(seeds=2, workers=2) == 600
    assert preset.minutes(seeds=8, workers=2) == 150
    assert preset.minutes(seeds=1, workers=4) == 600
    assert PRESETS["quick_look"].minutes(seeds=2, workers=2) is None
    assert preset_values(preset)["rounds"] is None


def test_every_policy_and_pool_is_offered_with_what_it_is() -> None:
    assert {name for name, _ in policy_texts()} == set(POLICIES)
    assert all(len(text) > len(name) for name, text in policy_texts() + pool_texts())


# ----------------------------------------------------------------------------------------- clone
@pytest.mark.usefixtures("person")
def test_clone_has_the_same_options_and_another_random_seed(client: Client) -> None:
    origin = factories.campaign(
        name="Deep", rounds=None, minutes=30, pool="TFG", ops=["relu"], random_seed=5, workers=1
    )
    path = reverse("campaigns:clone-campaign", args=[origin.uuid])
    page = client.get(path)
    assert "Clone of Deep" in page.content.decode()
    response = client.post(path, sendable(page.context["form"].initial))
    assert response.status_code == 302, response.context["form"].errors
    clone = Campaign.objects.exclude(pk=origin.pk).get()
    for name in ("seeds", "modes", "policy", "pool", "ops", "minutes", "rounds", "workers"):
        assert getattr(clone, name) == getattr(origin, name), name
    assert clone.rounds == MOST_ROUNDS
    assert clone.random_seed != 5
    assert (clone.cloned_from, clone.name) == (origin, "Deep, again")
    shown = client.get(clone.get_absolute_url()).content.decode()
    assert "a clone of" in shown
    assert origin.get_absolute_url() in shown


def test_long_name_is_cut_for_a_clone() -> None:
    assert len(clone_values(factories.campaign(name="x" * 120))["name"]) <= 120


# -------------------------------------------------------------------------------------- estimate
def test_estimate_uses_the_mean_of_recorded_rounds_by_seed(settings: LazySettings) -> None:
    settings.WORKER_PROCESSES = 2
    factories.shard(recorded_rounds=20, seconds=60.0)
    made = estimate([factories.SEED, QWEN], rounds=10, minutes=None)
    assert [(one.seconds_per_round, one.seen) for one in made.seeds] == [
        (3.0, 20),
        (DEFAULT_SECONDS["compact"], 0),
    ]
    assert made.rounds == 20
    assert made.core_seconds == 30.0 + 10 * DEFAULT_SECONDS["compact"]
    # Two side by side, and the longer one decides.
    assert made.wall_seconds == 10 * DEFAULT_SECONDS["compact"]
    assert made.memory == 2 * (3 << 30)
    assert made.disk == 20 * DISK_PER_ROUND


def test_too_few_rounds_say_nothing_of_the_mean() -> None:
    factories.shard(recorded_rounds=4, seconds=400.0)
    assert estimate([factories.SEED], rounds=1, minutes=None).seeds[0].seen == 0


def test_estimate_of_minutes_is_what_fits_into_them() -> None:
    factories.shard(recorded_rounds=10, seconds=20.0)
    made = estimate([factories.SEED], rounds=None, minutes=10)
    assert (made.rounds, made.core_seconds) == (300, 600.0)
    assert estimate([factories.SEED], rounds=7, minutes=10).rounds == 7


def test_estimate_counts_workers_that_live_and_the_campaigns_limit(settings: LazySettings) -> None:
    settings.WORKER_PROCESSES = 2
    seeds = [factories.SEED, QWEN]
    assert (estimate(seeds, rounds=1, minutes=None).workers) == 2
    for number in range(5):
        WorkerHeartbeat.objects.create(name=f"worker {number}")
    old = timezone.now() - timedelta(minutes=5)
    WorkerHeartbeat.objects.create(name="gone", last_seen=old)
    made = estimate(seeds, rounds=1, minutes=None)
    assert (made.workers, made.is_alive, made.at_once) == (5, True, 2)
    assert estimate(seeds, rounds=1, minutes=None, workers=1).at_once == 1


@pytest.mark.usefixtures("person")
def test_button_shows_the_estimate_and_starts_nothing(client: Client) -> None:
    page = client.post("/campaigns/new/", form(rounds="450", name="", estimate="1"))
    assert not Campaign.objects.exists()
    text = page.content.decode()
    assert "about 1 h 00 min" in text  # of eight seconds each
    assert "It was not started" not in text


@pytest.mark.usefixtures("person")
def test_estimate_alone_is_a_fragment_that_says_what_it_waits_for(client: Client) -> None:
    path = reverse("campaigns:show-estimate")
    assert "<html" not in client.post(path, form()).content.decode()
    assert "core-hours" in client.post(path, form()).content.decode()
    assert "in order" in client.post(path, form(rounds="many")).content.decode()


def test_estimate_makes_the_same_number_of_queries_for_any_number_of_seeds(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    factories.shard(recorded_rounds=20, seconds=60.0)
    for seeds in ([factories.SEED], [factories.SEED, QWEN]):
        with django_assert_num_queries(6):
            CampaignForm(form(seeds=seeds)).estimate_cost()
