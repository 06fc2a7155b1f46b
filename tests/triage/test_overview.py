"""The overview: its periods, its charts, and what needs a person."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from campaigns.models import Environment, WorkerHeartbeat
from flowmut_web.period import Period
from tests import factories
from triage.services import move_buckets
from triage.trends import bucket_times, finding_times

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[Any]]


def campaign(**fields: Any) -> None:
    """A campaign with columns that only services set."""
    made = factories.campaign()
    for name, value in fields.items():
        setattr(made, name, value)
    made.save()


def page(client: Client, **query: Any) -> str:
    response = client.get("/", query)
    assert response.status_code == 200
    return response.content.decode()


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    for path in ("/", "/overview/live/"):
        assert client.get(path)["Location"].startswith("/account/login/")


@pytest.mark.usefixtures("person")
def test_new_installation_is_told_what_to_do(client: Client) -> None:
    text = page(client)
    assert "Nothing has run yet" in text
    assert "Nothing waits" in text
    assert "None runs" in text
    assert 'class="figure"' not in text


@pytest.mark.usefixtures("person")
def test_period_in_which_nothing_ran_says_so_instead_of_empty_charts(client: Client) -> None:
    factories.mutant(shard=factories.shard(), round=0)
    assert "Nothing ran in this period" not in page(client)
    assert "Nothing ran in this period" in page(client, since="2020-01-01", until="2020-02-01")


@pytest.mark.usefixtures("person")
def test_it_says_what_waits_and_why(client: Client) -> None:
    factories.bucket(title="exp is wrong")
    factories.bucket(title="relu dies", status="fixed", flag="seen_again", flag_reason="Round 31.")
    factories.report(
        bucket=factories.bucket(status="confirmed"),
        title="[Draft] of gelu",
        updated_at=factories.days_ago(8),
    )
    campaign(name="Night", status="paused", problem="Format 0.")
    WorkerHeartbeat.objects.create(
        name="box-1 worker 2", last_seen=timezone.now() - timedelta(minutes=3)
    )
    WorkerHeartbeat.objects.create(name="box-1 worker 1")
    Environment.objects.create(name="old", last_probe=timezone.now(), problem="No torch.")
    text = page(client)
    for said in ("exp is wrong", "relu dies", "Round 31.", "[Draft] of gelu", "Night", "Format 0."):
        assert said in text
    assert "box-1 worker 2" in text
    assert "box-1 worker 1" not in text
    assert "No torch." in text


@pytest.mark.usefixtures("person")
def test_running_campaign_shows_how_far_it_is(client: Client) -> None:
    campaign = factories.campaign(status="running", name="Quick look", rounds=10)
    factories.shard(campaign=campaign, recorded_rounds=4)
    assert 'aria-valuenow="40"' in page(client)
    assert 'aria-valuenow="40"' in client.get("/overview/live/").content.decode()


@pytest.mark.usefixtures("person")
def test_charts_carry_their_data_and_a_table(client: Client) -> None:
    shard = factories.shard()
    factories.mutant(shard=shard, round=1)
    factories.finding(shard=shard, symptom="crash")
    text = page(client)
    plots = re.findall(r'<script id="figure-[\w-]+" type="application/json">(.*?)</script>', text)
    assert len(plots) == 6
    assert all(json.loads(one)["data"] for one in plots)
    assert text.count("As a table") == 6
    assert "plotly-basic.min.js" in text


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("query", "days"),
    [
        ({}, 30),
        ({"period": "7"}, 7),
        ({"period": "nonsense"}, 30),
        ({"period": "all"}, 60),
        ({"since": "2026-01-01", "until": "2026-01-10"}, 10),
        ({"since": "2026-01-10", "until": "2026-01-01"}, 30),
    ],
)
def test_period_is_the_url_s(client: Client, query: dict[str, str], days: int) -> None:
    campaign(created_at=factories.days_ago(60))
    period = client.get("/", query).context["period"]
    assert round((period.until - period.since) / timedelta(days=1)) == days


@pytest.mark.usefixtures("person")
def test_period_begins_no_earlier_than_the_first_campaign(client: Client) -> None:
    campaign(created_at=factories.days_ago(2))
    period = client.get("/", {"period": "365"}).context["period"]
    assert period.unit == "hour"


@pytest.mark.usefixtures("person")
def test_query_count_does_not_grow(client: Client, django_assert_num_queries: Queries) -> None:
    for size in (1, 8):
        for number in range(size):
            factories.report(bucket=factories.bucket(flag="seen_again"))
            campaign = factories.campaign(status="running", shards=2)
            factories.campaign(status="paused")
            factories.mutant(shard=factories.shard(campaign=campaign), round=number)
            WorkerHeartbeat.objects.create(
                name=f"{size} {number}", last_seen=timezone.now() - timedelta(minutes=3)
            )
        with django_assert_num_queries(21):
            page(client)


def test_buckets_are_settled_when_a_person_said_so() -> None:
    person = factories.user()
    old = factories.bucket(first_seen=factories.days_ago(30))
    factories.bucket(first_seen=factories.days_ago(5))
    move_buckets([old], to="false_alarm", who=person, why="ties")
    period = Period(factories.days_ago(10), timezone.now())
    opened, settled = (period.running_totals(times) for times in bucket_times())
    assert (opened[0], opened[-1], settled[0], settled[-1]) == (1, 2, 0, 1)


def test_findings_are_those_of_the_period() -> None:
    for days, symptom in ((1, "crash"), (2, "crash"), (1, "state"), (20, "numerical")):
        factories.finding(symptom=symptom, now=factories.days_ago(days))
    found = finding_times(factories.days_ago(10), timezone.now())
    assert sorted(symptom for _, symptom in found) == ["crash", "crash", "state"]
