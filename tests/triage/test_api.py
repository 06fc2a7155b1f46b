"""The REST API: the pages' reads and actions, for sessions and for tokens."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

from campaigns.models import Campaign
from tests import factories
from triage.models import Report

pytestmark = pytest.mark.django_db


def post(client: Client, path: str, data: dict[str, Any] | None = None) -> Any:
    return client.post(path, data or {}, content_type="application/json")


@pytest.mark.parametrize("part", ["campaigns", "shards", "buckets", "findings", "reports"])
def test_stranger_gets_nothing(client: Client, part: str) -> None:
    assert client.get(f"/api/{part}/").status_code in (401, 403)
    assert post(client, f"/api/{part}/").status_code in (401, 403)


def test_token_is_enough(client: Client) -> None:
    token = Token.objects.create(user=factories.user())
    factories.report()
    for part in ("campaigns", "shards", "buckets", "findings", "reports"):
        path = f"/api/{part}/"
        response = client.get(path, headers={"Authorization": f"Token {token.key}"})
        assert response.status_code == 200, path
        assert response.json()["count"] >= 1, path


@pytest.mark.usefixtures("person")
def test_campaign_is_started_and_steered(client: Client) -> None:
    given = {
        "name": "From a script",
        "seeds": [factories.SEED],
        "modes": ["torch-eager"],
        "policy": "random",
        "rounds": 3,
    }
    made = post(client, "/api/campaigns/", given)
    assert made.status_code == 201
    path = f"/api/campaigns/{made.json()['id']}/"
    assert client.get(path).json()["rounds_planned"] == 3
    assert post(client, f"{path}pause/").json()["status"] == "paused"
    assert post(client, f"{path}resume/").json()["status"] == "pending"
    assert post(client, f"{path}cancel/").json()["status"] == "cancelled"
    refused = post(client, f"{path}resume/")
    assert refused.status_code == 409
    assert "cannot become" in refused.json()["detail"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("name", ["seeds", "modes", "policy"])
def test_unknown_names_are_refused_with_the_known_ones(client: Client, name: str) -> None:
    given: dict[str, Any] = {
        "name": "x",
        "seeds": [factories.SEED],
        "modes": ["numpy"],
        "rounds": 1,
    }
    given[name] = "zebra" if name == "policy" else ["zebra"]
    response = post(client, "/api/campaigns/", given)
    assert response.status_code == 400
    assert "zebra" in str(response.json()[name])
    assert not Campaign.objects.exists()


@pytest.mark.usefixtures("person")
def test_buckets_are_filtered_as_the_inbox_is(client: Client) -> None:
    factories.bucket(title="one", symptom="crash")
    factories.bucket(title="two", status="fixed")
    titles = [one["title"] for one in client.get("/api/buckets/").json()["results"]]
    assert titles == ["one"]
    everything = client.get("/api/buckets/?status=all&sort=title").json()["results"]
    assert [one["title"] for one in everything] == ["one", "two"]
    assert client.get("/api/buckets/?symptom=zebra").status_code == 400


def test_buckets_are_judged_by_the_person_who_asks(client: Client, person: User) -> None:
    bucket = factories.bucket()
    path = f"/api/buckets/{bucket.uuid}/"
    assert post(client, f"{path}move/", {"to": "confirmed"}).json()["status"] == "confirmed"
    assert post(client, f"{path}move/", {"to": "fixed"}).json()["status"] == "fixed"
    assert post(client, f"{path}move/", {"to": "known_limit"}).status_code == 409
    assert post(client, f"{path}assign/", {"assignee": "ada"}).json()["assignee"] == "ada"
    assert post(client, f"{path}labels/", {"add": ["a", "b"]}).json()["labels"] == ["a", "b"]
    assert post(client, f"{path}notes/", {"text": "hello"}).status_code == 201
    # Its status hides it from the inbox, not from its own address.
    assert client.get(path).json()["status"] == "fixed"
    assert {event.who for event in bucket.events.exclude(kind="created")} == {person}
    assert client.get("/api/buckets/no-uuid/").status_code == 404


@pytest.mark.usefixtures("person")
def test_finding_has_its_script_and_drafts_a_report(client: Client) -> None:
    member = factories.finding()
    path = f"/api/findings/{member.uuid}/"
    assert client.get(path).json()["data"]["script"] == factories.SCRIPT
    made = post(client, f"{path}report/")
    assert (made.status_code, made.json()["status"]) == (201, "draft")


@pytest.mark.usefixtures("person")
def test_report_is_edited_linked_and_moved(client: Client) -> None:
    report = factories.report()
    path = f"/api/reports/{report.uuid}/"
    json = "application/json"
    edited = client.patch(path, {"texts": {"describe": "New"}}, content_type=json)
    assert edited.json()["texts"]["describe"] == "New"
    unknown = client.patch(path, {"texts": {"zebra": "New"}}, content_type=json)
    assert unknown.status_code == 400
    assert post(client, f"{path}move/", {"to": "confirmed"}).status_code == 409
    url = "https://github.com/pytorch/pytorch/issues/7"
    assert post(client, f"{path}link/", {"url": url}).json()["upstream_id"] == "7"
    assert post(client, f"{path}move/", {"to": "confirmed"}).json()["status"] == "confirmed"
    other = factories.report()
    assert post(client, f"/api/reports/{other.uuid}/link/", {"url": url}).status_code == 400
    assert Report.objects.filter(upstream_url=url).count() == 1


@pytest.mark.usefixtures("person")
def test_description_names_every_route_and_the_filters(client: Client) -> None:
    description = client.get("/api/schema/?format=json").json()
    paths = description["paths"]
    for path in (
        "/api/campaigns/{uuid}/pause/",
        "/api/shards/",
        "/api/buckets/{uuid}/move/",
        "/api/findings/{uuid}/report/",
        "/api/reports/{uuid}/link/",
    ):
        assert path in paths
    names = {one["name"] for one in paths["/api/buckets/"]["get"]["parameters"]}
    assert {"q", "symptom", "status", "op", "mode"} <= names


@pytest.mark.usefixtures("person")
def test_documentation_page_loads_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/api/docs/").content.decode()
    assert "https://" not in page
    assert 'src="/static/drf_spectacular_sidecar/' in page
