"""Pages of campaigns, for a person who is logged in and for a stranger."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Environment, WorkerHeartbeat
from campaigns.selectors import campaign_progress
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


def form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "Mine",
        "seeds": [factories.SEED],
        "modes": ["torch-inductor", "torch-eager"],
        "policy": "random",
        "rounds": "5",
        "random_seed": "7",
        "preset": "one_seed",
        **fields,
    }


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    campaign = factories.campaign()
    plain = [reverse("campaigns:list-campaigns"), reverse("campaigns:add-campaign")]
    own = [
        reverse(f"campaigns:{name}", args=[campaign.uuid])
        for name in ("show-campaign", "show-progress", "pause-campaign", "cancel-campaign")
    ]
    for path in plain + own:
        for response in (client.get(path), client.post(path)):
            assert response.status_code == 302, path
            assert response["Location"].startswith("/account/login/"), path


@pytest.mark.usefixtures("person")
def test_empty_list_says_how_to_begin(client: Client) -> None:
    page = client.get("/campaigns/").content.decode()
    assert "No campaign yet" in page
    assert reverse("campaigns:add-campaign") in page


@pytest.mark.usefixtures("person")
def test_list_shows_what_the_shards_counted(client: Client) -> None:
    campaign = factories.campaign(name="Deep look", rounds=10, shards=2)
    campaign.shards.update(recorded_rounds=4, accepted=3, crash_findings=1, state_findings=2)
    page = client.get("/campaigns/").content.decode()
    assert "Deep look" in page
    assert "8 of 20" in page
    assert "2 crash" in page
    assert "4 state" in page


def test_form_starts_a_campaign_of_the_person(client: Client, person: User) -> None:
    response = client.post("/campaigns/new/", form())
    campaign = Campaign.objects.get()
    assert response.status_code == 302
    assert response["Location"] == campaign.get_absolute_url()
    assert campaign.created_by == person
    # In the order of the catalogue, whatever the browser sent.
    assert campaign.modes == ["torch-eager", "torch-inductor"]
    assert (campaign.preset, campaign.random_seed, campaign.rounds) == ("one_seed", 7, 5)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"seeds": []}, "This field is required."),
        ({"seeds": ["no_such_seed"]}, "no_such_seed"),
        ({"rounds": "0"}, "greater than or equal to 1"),
        ({"random_seed": "-1"}, "greater than or equal to 0"),
        ({"policy": "no_such_policy"}, "no_such_policy"),
    ],
)
def test_form_says_what_is_wrong_and_starts_nothing(
    client: Client, fields: dict[str, Any], said: str
) -> None:
    page = client.post("/campaigns/new/", form(**fields)).content.decode()
    assert said in page
    assert not Campaign.objects.exists()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("preset", ["quick_look", "overnight", "one_seed", "no such preset"])
def test_each_preset_fills_a_form_that_can_be_sent_as_it_is(client: Client, preset: str) -> None:
    given = client.get("/campaigns/new/", {"preset": preset}).context["form"].initial
    response = client.post("/campaigns/new/", given)
    assert response.status_code == 302, response.context["form"].errors


@pytest.mark.usefixtures("person")
def test_page_shows_progress_reasons_findings_and_workers(client: Client) -> None:
    campaign = factories.campaign(status="running")
    shard = factories.shard(
        campaign=campaign,
        recorded_rounds=2,
        accepted=1,
        rejected=5,
        rejected_reasons={"conv2d: kernel is larger": 5},
        numerical_findings=3,
    )
    factories.mutant(shard=shard, round=0, reason="within the noise floor")
    factories.mutant(shard=shard, round=1, verdict="fail", statuses={"torch-inductor": "raised"})
    WorkerHeartbeat.objects.create(name="worker-1", what="round 2", shard=shard)
    page = client.get(campaign.get_absolute_url()).content.decode()
    for text in ("conv2d: kernel is larger", "within the noise floor", "worker-1", "raised"):
        assert text in page
    assert "data-poll" in page


@pytest.mark.usefixtures("person")
def test_fragment_of_a_finished_campaign_stops_the_polling(client: Client) -> None:
    campaign = factories.campaign(status="finished")
    page = client.get(reverse("campaigns:show-progress", args=[campaign.uuid])).content.decode()
    assert "data-poll" not in page
    assert "<html" not in page


@pytest.mark.usefixtures("person")
def test_buttons_pause_resume_and_cancel(client: Client) -> None:
    campaign = factories.campaign(status="running")
    for name, status in (("pause", "paused"), ("resume", "pending"), ("cancel", "cancelled")):
        path = reverse(f"campaigns:{name}-campaign", args=[campaign.uuid])
        assert client.get(path).status_code == 405
        response = client.post(path, follow=True)
        campaign.refresh_from_db()
        assert campaign.status == status
        assert response.status_code == 200
    refused = client.post(reverse("campaigns:resume-campaign", args=[campaign.uuid]), follow=True)
    assert "cannot become" in refused.content.decode()


@pytest.mark.usefixtures("person")
def test_environments_show_health_and_problems(client: Client) -> None:
    assert "No environment is known yet" in client.get("/campaigns/environments/").content.decode()
    Environment.objects.create(name="mindspore", interpreter="/py", problem="No module named x")
    assert "No module named x" in client.get("/campaigns/environments/").content.decode()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("page", ["list", "show"])
def test_pages_make_the_same_number_of_queries_at_any_size(
    client: Client,
    page: str,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    counts = []
    for size in (1, 4):
        campaign = factories.campaign(shards=size)
        for shard in campaign.shards.all():
            WorkerHeartbeat.objects.create(name=f"{campaign.uuid}-{shard.index}", shard=shard)
            for number in range(3 * size):
                factories.mutant(shard=shard, round=number)
        path = "/campaigns/" if page == "list" else campaign.get_absolute_url()
        with django_assert_num_queries(QUERIES[page]) as counted:
            assert client.get(path).status_code == 200
        counts.append(len(counted))
    assert counts[0] == counts[1]


# Session, user, the navigation's three, and the page's own.
QUERIES = {"list": 6, "show": 11}


def test_speed_counts_the_last_minutes_only() -> None:
    campaign = factories.campaign(status="running", rounds=100)
    Campaign.objects.filter(pk=campaign.pk).update(started_at=factories.days_ago(1))
    campaign.refresh_from_db()
    shard = factories.shard(campaign=campaign, recorded_rounds=11)
    factories.mutant(shard=shard, round=0, created_at=factories.days_ago(0.5))
    for number in range(1, 11):
        factories.mutant(shard=shard, round=number)
    progress = campaign_progress(campaign)
    assert progress.per_minute == pytest.approx(2.0)
    assert progress.seconds_left == pytest.approx(89 / 2 * 60)
    assert [row.rounds for row in progress.rows] == [1, 11]
    assert progress.chart is not None
