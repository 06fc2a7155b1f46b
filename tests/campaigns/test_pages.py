"""Pages of campaigns, for a person who is logged in and for a stranger."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, WorkerHeartbeat
from campaigns.selectors import campaign_progress
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(client: Client) -> User:
    user = factories.user("ada")
    client.force_login(user)
    return user


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    campaign = factories.campaign()
    names = ("list-campaigns", "add-campaign", "show-estimate", "compare-campaigns")
    more = ("list-environments", "probe-environments")
    plain = [reverse(f"campaigns:{name}") for name in names + more]
    own = [
        reverse(f"campaigns:{name}", args=[campaign.uuid])
        for name in (
            "show-campaign",
            "show-progress",
            "list-rounds",
            "pause-campaign",
            "resume-campaign",
            "cancel-campaign",
            "clone-campaign",
        )
    ]
    own.append(reverse("campaigns:show-round", args=[campaign.shards.get().uuid, 0]))
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
    factories.environment("mindspore", problem="No module named x")
    assert "No module named x" in client.get("/campaigns/environments/").content.decode()


@pytest.mark.usefixtures("person")
def test_pause_keeps_the_reason_and_the_history_names_the_person(client: Client) -> None:
    campaign = factories.campaign(status="running")
    path = reverse("campaigns:pause-campaign", args=[campaign.uuid])
    page = client.post(path, {"why": "the disk is full"}, follow=True).content.decode()
    assert "the disk is full" in page
    event = campaign.events.get(kind="paused")
    assert (event.who and event.who.username, event.why) == ("ada", "the disk is full")


@pytest.mark.usefixtures("person")
def test_resuming_tells_a_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, tuple[int, ...]]] = []
    monkeypatch.setattr(
        "campaigns.hints.current_app.send_task", lambda name, given, **_: sent.append((name, given))
    )
    campaign = factories.campaign(status="paused")
    client.post(reverse("campaigns:resume-campaign", args=[campaign.uuid]))
    shard = campaign.shards.get()
    assert sent == [("flowmut.run_shard", (shard.pk, shard.epoch))]


@pytest.mark.usefixtures("person")
def test_live_campaign_without_a_worker_says_that_nothing_will_happen(client: Client) -> None:
    campaign = factories.campaign(status="running")
    assert "No worker is alive" in client.get(campaign.get_absolute_url()).content.decode()
    WorkerHeartbeat.objects.create(name="one")
    assert "No worker is alive" not in client.get(campaign.get_absolute_url()).content.decode()


@pytest.mark.usefixtures("person")
def test_silent_worker_is_told_from_a_living_one(client: Client) -> None:
    campaign = factories.campaign(status="running")
    shard = factories.shard(campaign=campaign)
    WorkerHeartbeat.objects.create(
        name="gone", shard=shard, last_seen=timezone.now() - timedelta(minutes=3)
    )
    WorkerHeartbeat.objects.create(name="here", shard=shard)
    progress = campaign_progress(campaign)
    assert (progress.at_work, progress.alive, progress.silent) == (1, 1, 1)
    page = client.get(campaign.get_absolute_url()).content.decode()
    assert "1 on this campaign, 1 alive, 1 silent" in page


@pytest.mark.usefixtures("person")
def test_newest_findings_are_linked_to_their_buckets(client: Client) -> None:
    campaign = factories.campaign(status="running")
    record = factories.finding(shard=factories.shard(campaign=campaign), title="exp is wrong")
    page = client.get(campaign.get_absolute_url()).content.decode()
    assert "exp is wrong" in page
    assert record.get_absolute_url() in page
    assert record.bucket.get_absolute_url() in page


def test_reasons_that_begin_alike_have_bars_of_their_own() -> None:
    long = "input: div behaves well in [0.5, 4], stage "
    reasons = {f"{long}{number} of many": 9 - number for number in range(3)}
    campaign = factories.campaign()
    factories.shard(campaign=campaign, rejected_reasons={**reasons, "short": 99})
    progress = campaign_progress(campaign)
    assert progress.reason_figure is not None
    labels = [row[0] for row in progress.reason_figure.rows]
    assert len(set(labels)) == 4
    assert labels[0] == "short"
    assert dict(progress.reasons) == {**reasons, "short": 99}


# ------------------------------------------------------------------------------------------ list
@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"Deep", "Wide", "Old"}),
        ("status=live", {"Deep", "Wide"}),
        ("status=finished", {"Old"}),
        ("status=running&status=finished", {"Deep", "Old"}),
        ("policy=linucb", {"Wide"}),
        ("seed=qwen2_5_0_5b_compact", {"Wide"}),
        ("q=softmax", {"Deep"}),
        ("q=disk", {"Old"}),
        ("q=nothing+like+it", set()),
        ("preset=overnight", {"Old"}),
    ],
)
def test_list_is_filtered_by_the_address(client: Client, query: str, names: set[str]) -> None:
    factories.campaign(name="Deep", status="running", ops=["softmax"])
    factories.campaign(name="Wide", policy="linucb", seeds=["qwen2_5_0_5b_compact"])
    old = factories.campaign(name="Old", status="finished", preset="overnight")
    Campaign.objects.filter(pk=old.pk).update(problem="the disk is full")
    found = client.get(f"/campaigns/?{query}").context["page"].object_list
    assert {one.name for one in found} == names


@pytest.mark.usefixtures("person")
def test_list_is_sorted_by_the_address_and_a_wrong_sort_is_the_newest_first(client: Client) -> None:
    for name, seconds, found in (("a", 30.0, 0), ("b", 10.0, 5), ("c", 0.0, 1)):
        campaign = factories.campaign(name=name)
        campaign.shards.update(
            recorded_rounds=5 if seconds else 0, seconds=seconds, crash_findings=found
        )

    def names(sort: str) -> str:
        page = client.get("/campaigns/", {"sort": sort}).context["page"]
        return "".join(one.name for one in page.object_list)

    assert names("-found") == "bca"
    # Those without a speed come last, whichever way it goes.
    assert (names("speed"), names("-speed")) == ("bac", "abc")
    assert names("name") == "abc"
    assert names("no such column") == names("-started") == "cba"


@pytest.mark.usefixtures("person")
def test_list_has_pages_and_says_where_it_is(client: Client) -> None:
    for _ in range(21):
        factories.campaign()
    page = client.get("/campaigns/?page=2").content.decode()
    assert "21 to 21 of 21" in page
    assert "Page 2 of 2" in page


@pytest.mark.usefixtures("person")
def test_filters_that_match_nothing_can_be_cleared(client: Client) -> None:
    factories.campaign()
    page = client.get("/campaigns/?q=zebra").content.decode()
    assert "Nothing matches" in page
    assert "Remove filter Text: zebra" in page


@pytest.mark.usefixtures("person")
def test_progress_of_a_campaign_of_minutes_is_its_time(client: Client) -> None:
    campaign = factories.campaign(rounds=None, minutes=10)
    campaign.shards.update(recorded_rounds=7, seconds=300.0)
    page = client.get("/campaigns/").content.decode()
    assert 'aria-valuenow="50"' in page
    assert "7 rounds" in page


# ---------------------------------------------------------------------------------- environments
@pytest.mark.usefixtures("person")
def test_probing_again_asks_a_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        "campaigns.hints.current_app.send_task", lambda name, given, **_: sent.append(name)
    )
    page = client.post(reverse("campaigns:probe-environments"), follow=True).content.decode()
    assert sent == ["flowmut.probe_environments"]
    assert "A worker answers" in page


# --------------------------------------------------------------------------------------- queries
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


# Session, user, the navigation's three, and the page's own; imported seeds are among the filters.
QUERIES = {"list": 8, "show": 13}


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
    assert (progress.rows[0].rounds, progress.rows[-1].rounds) == (1, 11)
    assert progress.time_figure is not None
    assert progress.time_figure.rows[-1][1:] == ("11", "6", "0", "0")
