"""The inbox: filters, sorts, pages, bulk actions, exports, saved views."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from triage.models import Bucket, SavedView

pytestmark = pytest.mark.django_db
INBOX = "/triage/"


def shown(client: Client, **query: Any) -> list[str]:
    return [bucket.title for bucket, _, _ in client.get(INBOX, query).context["rows"]]


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    bucket = factories.bucket()
    member = bucket.findings.get()
    paths = [
        INBOX,
        "/triage/export.csv",
        "/triage/export.json",
        "/triage/change/",
        "/triage/reports/",
        bucket.get_absolute_url(),
        member.get_absolute_url(),
        reverse("triage:download-script", args=[member.uuid]),
        reverse("triage:move-bucket", args=[bucket.uuid]),
    ]
    for path in paths:
        for response in (client.get(path), client.post(path)):
            assert response.status_code == 302, path
            assert response["Location"].startswith("/account/login/"), path


@pytest.mark.usefixtures("person")
def test_empty_inbox_says_what_will_come(client: Client) -> None:
    assert "Nothing found yet" in client.get(INBOX).content.decode()
    factories.bucket(status="fixed")
    assert "Nothing waits for you" in client.get(INBOX).content.decode()
    assert "Nothing matches" in client.get(INBOX, {"q": "zebra"}).content.decode()


@pytest.mark.usefixtures("person")
def test_it_shows_what_needs_a_person_first(client: Client) -> None:
    for status in Bucket.Status:
        factories.bucket(title=status.value, status=status)
    factories.bucket(title="flagged", status="fixed", flag="seen_again")
    assert set(shown(client)) == {"new", "needs_work", "confirmed", "flagged"}
    assert len(shown(client, status="all")) == 9
    assert shown(client, status="false_alarm") == ["false_alarm"]
    assert shown(client, status="flagged") == ["flagged"]
    assert set(shown(client, status=["fixed", "reported"])) == {"fixed", "reported", "flagged"}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"q": "softmax"}, 1),
        ({"q": "SOFTMAX float16"}, 1),
        ({"q": "softmax zebra"}, 0),
        ({"symptom": "crash"}, 1),
        ({"symptom": ["crash", "numerical"]}, 2),
        ({"framework": "mindspore"}, 1),
        ({"op": "relu"}, 1),
        ({"mode": "mindspore-graph"}, 1),
        ({"call_form": "module"}, 1),
        ({"dtype": "small float"}, 1),
        ({"seed": "qwen"}, 1),
        ({"mutator": "swap"}, 1),
        ({"label": "Regression"}, 1),
        ({"assignee": "me"}, 1),
        ({"assignee": "nobody"}, 1),
        ({"assignee": "bob"}, 0),
        ({"age": "1"}, 1),
        ({"campaign": "00000000-0000-0000-0000-000000000000"}, 0),
        ({"symptom": "no such symptom"}, 0),
        ({"symptom": "crash", "framework": "torch"}, 0),
    ],
)
def test_filters_narrow(client: Client, person: User, query: dict[str, Any], count: int) -> None:
    factories.bucket(title="softmax of float16", last_seen=factories.days_ago(3))
    other = factories.bucket(
        title="Cell raises",
        verdict="It raises.",
        symptom="crash",
        accused_framework="mindspore",
        accused_modes=("mindspore-graph",),
        accused_op="relu",
        parts={"calls": "relu.module", "dtypes": "small float"},
        seed="qwen",
        mutator="swap",
        assignee=person,
    )
    other.labels.create(name="regression")
    assert len(shown(client, **query)) == count


@pytest.mark.usefixtures("person")
def test_filter_by_campaign_finds_its_members(client: Client) -> None:
    shard = factories.shard()
    factories.bucket(title="inside", shard=shard)
    factories.bucket(title="outside")
    assert shown(client, campaign=shard.campaign.uuid) == ["inside"]


@pytest.mark.usefixtures("person")
def test_every_filter_in_the_url_has_a_chip_that_removes_it(client: Client) -> None:
    response = client.get(INBOX, {"q": "a b", "symptom": ["crash", "state"], "page": "2"})
    chips = {chip.text: chip.without for chip in response.context["chips"]}
    assert set(chips) == {"a b", "Crash", "State"}
    assert chips["Crash"] == "q=a+b&symptom=state"


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("sort", "titles"),
    [
        ("title", ["a", "b", "c"]),
        ("-title", ["c", "b", "a"]),
        ("size", ["b", "a", "c"]),
        ("-last_seen", ["c", "a", "b"]),
        ("no such column", ["b", "a", "c"]),
    ],
)
def test_columns_sort(client: Client, sort: str, titles: list[str]) -> None:
    for title, size, days in (("a", 4, 2), ("b", 1, 3), ("c", 20, 1)):
        factories.bucket(title=title, minimised_nodes=size, now=factories.days_ago(days))
    assert shown(client, sort=sort) == titles


@pytest.mark.usefixtures("person")
def test_pages_hold_every_bucket_once(client: Client) -> None:
    for number in range(23):
        factories.bucket(title=f"{number}")
    first, second = shown(client), shown(client, page=2)
    assert (len(first), len(second)) == (20, 3)
    assert len(set(first + second)) == 23
    assert len(shown(client, size=50)) == 23
    assert shown(client, page=99) == second


@pytest.mark.usefixtures("person")
def test_exports_hold_exactly_what_the_filters_show(client: Client) -> None:
    for number in range(25):
        factories.bucket(title=f"=cell {number}", symptom="state")
    factories.bucket(title="another", symptom="crash")
    query = {"symptom": "state", "sort": "title"}
    text = b"".join(client.get("/triage/export.csv", query).streaming_content).decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 25
    # A spreadsheet must not run what a title says.
    assert all(line["title"].startswith("'=cell") for line in lines)
    data = json.loads(b"".join(client.get("/triage/export.json", query).streaming_content))
    assert [one["title"] for one in data] == sorted(f"=cell {number}" for number in range(25))


@pytest.mark.usefixtures("person")
def test_status_changes_in_place_and_can_be_undone(client: Client) -> None:
    bucket = factories.bucket()
    path = reverse("triage:move-bucket", args=[bucket.uuid])
    page = client.post(path, {"to": "confirmed", "row": "1"}, headers={"HX-Request": "true"})
    text = page.content.decode()
    assert text.lstrip().startswith("<tr")
    assert "<html" not in text
    assert "1 bucket changed" in text
    undo = text.split('action="/triage/undo/')[1].split('"')[0]
    client.post(f"/triage/undo/{undo}")
    bucket.refresh_from_db()
    assert bucket.status == "new"


@pytest.mark.usefixtures("person")
def test_forms_work_without_scripts(client: Client) -> None:
    bucket = factories.bucket()
    path = reverse("triage:move-bucket", args=[bucket.uuid])
    response = client.post(path, {"to": "confirmed", "row": "1", "next": "/triage/?q=x"})
    assert (response.status_code, response["Location"]) == (302, "/triage/?q=x")
    elsewhere = client.post(path, {"to": "new", "next": "https://elsewhere.example/"})
    assert elsewhere["Location"] == bucket.get_absolute_url()


@pytest.mark.usefixtures("person")
def test_bulk_action_changes_those_picked(client: Client) -> None:
    one, two, three = (factories.bucket() for _ in range(3))
    client.post(
        "/triage/change/",
        {"action": "move", "to": "false_alarm", "picked": [one.uuid, two.uuid], "query": ""},
    )
    assert [Bucket.objects.get(pk=b.pk).status for b in (one, two, three)] == [
        "false_alarm",
        "false_alarm",
        "new",
    ]


@pytest.mark.usefixtures("person")
def test_bulk_action_on_all_that_match_reaches_other_pages_and_nothing_else(
    client: Client,
) -> None:
    for _ in range(22):
        factories.bucket(symptom="state")
    other = factories.bucket(symptom="crash")
    client.post(
        "/triage/change/",
        {"action": "label", "name": "old", "everything": "1", "query": "symptom=state"},
    )
    assert Bucket.objects.filter(labels__name="old").count() == 22
    assert not other.labels.exists()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"action": "move", "to": "fixed"}, "Pick at least one bucket."),
        ({"action": "move", "to": "", "everything": "1"}, "Choose a status."),
        ({"action": "label", "name": "", "everything": "1"}, "Say which label."),
        ({"action": "assign", "assignee": "nobody-of-that-name", "everything": "1"}, "valid"),
    ],
)
def test_incomplete_bulk_action_changes_nothing(
    client: Client, fields: dict[str, str], said: str
) -> None:
    bucket = factories.bucket()
    page = client.post("/triage/change/", fields, follow=True).content.decode()
    assert said in page
    bucket.refresh_from_db()
    assert bucket.status == "new"


def test_views_are_saved_shown_and_deleted_by_their_owner(client: Client, person: User) -> None:
    response = client.post("/triage/views/", {"name": "Crashes", "query": "symptom=crash"})
    assert response["Location"] == "/triage/?symptom=crash"
    assert "Saved as" in client.get(INBOX).content.decode()
    view = SavedView.objects.get()
    bob = factories.user("bob")
    client.force_login(bob)
    assert "Crashes" not in client.get(INBOX).content.decode()
    SavedView.objects.update(shared=True)
    assert "Crashes" in client.get(INBOX).content.decode()
    assert client.post(reverse("triage:delete-view", args=[view.pk])).status_code == 404
    client.force_login(person)
    client.post(reverse("triage:delete-view", args=[view.pk]))
    assert not SavedView.objects.exists()


@pytest.mark.usefixtures("person")
def test_inbox_makes_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for size in (1, 15):
        for number in range(size):
            bucket = factories.bucket(assignee=factories.user())
            bucket.labels.create(name=f"{size} {number}")
        # Session, user, navigation 3, count, page, labels, sparklines, facets, statuses, team,
        # views.
        with django_assert_num_queries(13):
            assert client.get(INBOX).status_code == 200
