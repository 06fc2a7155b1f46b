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

from engine.finding import Reproduction
from tests import factories
from triage.models import Bucket

pytestmark = pytest.mark.django_db
INBOX = "/triage/"


def shown(client: Client, **query: Any) -> list[str]:
    return [row.bucket.title for row in client.get(INBOX, query).context["rows"]]


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
        ({"campaign": "no id"}, 0),
        ({"op": ["relu", "exp"]}, 2),
        ({"mode": ["mindspore-graph", "torch-inductor"], "op": "relu"}, 1),
        ({"assignee": ["me", "nobody"]}, 2),
        ({"assignee": "ada"}, 1),
        ({"label": ["regression", "no such label"]}, 1),
        ({"age": "-1"}, 0),
        ({"age": "-7"}, 1),
        ({"found": "7"}, 1),
        ({"symptom": "", "op": ["", "relu"]}, 1),
        ({"q": "ValueError"}, 1),
        ({"q": "qwen"}, 1),
        ({"q": "looks-like-a-tie"}, 1),
        ({"symptom": "no such symptom"}, 0),
        ({"symptom": "crash", "framework": "torch"}, 0),
    ],
)
def test_filters_narrow(client: Client, person: User, query: dict[str, Any], count: int) -> None:
    old = factories.bucket(
        title="softmax of float16",
        last_seen=factories.days_ago(9),
        first_seen=factories.days_ago(9),
    )
    old.notes.create(text="This looks-like-a-tie.")
    other = factories.bucket(
        title="Cell raises",
        verdict="It raises.",
        symptom="crash",
        accused_framework="mindspore",
        accused_modes=("mindspore-graph",),
        accused_op="relu",
        parts={"calls": "relu.module", "dtypes": "small float"},
        seed="qwen",
        key="crash|mindspore|mindspore-graph|raises in one mode|ValueError: axis",
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
    shard = factories.shard()
    factories.bucket(shard=shard)
    response = client.get(INBOX, {"campaign": shard.campaign.uuid, "status": "open"})
    # What the inbox shows anyway has no chip; a campaign is called by its name.
    assert [chip.text for chip in response.context["chips"]] == ["Quick look"]
    last = response.context["chips"][0]
    assert last.without == "status=open"


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("sort", "titles"),
    [
        ("title", ["a", "b", "c"]),
        ("-title", ["c", "b", "a"]),
        ("size", ["b", "a", "c"]),
        ("-last_seen", ["c", "a", "b"]),
        ("-size", ["c", "a", "b"]),
        ("-reproduced", ["b", "a", "c"]),
        ("status", ["b", "c", "a"]),
        ("assignee", ["c", "b", "a"]),
        ("-assignee", ["c", "b", "a"]),
        ("count", ["b", "a", "c"]),
        ("no such column", ["b", "a", "c"]),
    ],
)
def test_columns_sort(client: Client, sort: str, titles: list[str]) -> None:
    ada = User.objects.get(username="ada")
    for title, size, days, again, status, who in (
        ("a", 4, 2, 2, "fixed", None),
        ("b", 1, 3, 3, "new", None),
        ("c", 20, 1, 2, "confirmed", ada),
    ):
        factories.bucket(
            title=title,
            minimised_nodes=size,
            now=factories.days_ago(days),
            reproduction=Reproduction(again, 3),
            status=status,
            assignee=who,
        )
    assert shown(client, sort=sort, status="all") == titles


@pytest.mark.usefixtures("person")
def test_headings_tell_how_the_list_is_sorted(client: Client) -> None:
    factories.bucket()
    page = client.get(INBOX).content.decode()
    assert page.count("aria-sort") == 1
    assert 'aria-sort="descending" class="col-impact num"' in page
    columns = client.get(INBOX, {"sort": "title", "page": "3", "q": "exp"}).context["columns"]
    assert columns["title"]["order"] == "ascending"
    assert columns["title"]["query"] == "sort=-title&q=exp"
    assert columns["count"]["query"] == "sort=-count&q=exp"


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
    assert lines[0]["url"].startswith("http://testserver/triage/buckets/")
    assert "30: silent wrong result" in lines[0]["impact_reasons"]
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
@pytest.mark.parametrize("to", ["false_alarm", "duplicate", "known_limit"])
def test_row_leads_to_the_page_that_asks_for_what_a_verdict_needs(client: Client, to: str) -> None:
    bucket = factories.bucket()
    path = reverse("triage:move-bucket", args=[bucket.uuid])
    response = client.post(path, {"to": to, "row": "1"})
    asking = response["Location"]
    assert client.post(path, {"to": to, "row": "1"}, headers={"HX-Request": "true"})[
        "HX-Redirect"
    ] == (asking)
    page = client.get(asking).content.decode()
    if to == "known_limit":
        assert "Accept as a known limit" in page
    else:
        assert f'<option value="{to}" selected>' in page
        assert "autofocus" in page
    bucket.refresh_from_db()
    assert bucket.status == "new"


@pytest.mark.usefixtures("person")
def test_bulk_action_changes_those_picked(client: Client) -> None:
    one, two, three = (factories.bucket() for _ in range(3))
    client.post(
        "/triage/change/",
        {"action": "move", "to": "confirmed", "picked": [one.uuid, two.uuid], "query": ""},
    )
    assert [Bucket.objects.get(pk=b.pk).status for b in (one, two, three)] == [
        "confirmed",
        "confirmed",
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
        ({"action": "move", "to": "false_alarm", "everything": "1"}, "Say which kind"),
        ({"action": "move", "to": "duplicate", "everything": "1"}, "Merge duplicates"),
        ({"action": "move", "to": "known_limit", "everything": "1"}, "on the page of its bucket"),
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


@pytest.mark.usefixtures("person")
def test_bulk_action_on_all_that_match_stops_where_their_number_has_changed(
    client: Client,
) -> None:
    factories.bucket(symptom="state")
    page = client.get(INBOX, {"symptom": "state"}).content.decode()
    assert '<input type="hidden" name="matching" value="1">' in page
    factories.bucket(symptom="state")
    given = {"action": "move", "to": "confirmed", "everything": "1", "matching": "1"}
    given["query"] = "symptom=state"
    said = client.post("/triage/change/", given, follow=True).content.decode()
    assert "1 bucket matched when you looked, 2 do now" in said
    assert not Bucket.objects.filter(status="confirmed").exists()
    client.post("/triage/change/", given | {"matching": "2"})
    assert Bucket.objects.filter(status="confirmed").count() == 2


def test_bulk_action_keeps_the_reason_and_is_undone_as_one(client: Client, person: User) -> None:
    buckets = [factories.bucket() for _ in range(3)]
    picked = [one.uuid for one in buckets]
    given = {"action": "move", "to": "false_alarm", "false_alarm": "tie", "why": "ties"}
    given["picked"] = picked
    page = client.post("/triage/change/", given, follow=True).content.decode()
    assert "3 buckets changed." in page
    assert {(one.status_reason, one.false_alarm) for one in Bucket.objects.all()} == {
        ("ties", "tie")
    }
    undo = page.split('action="/triage/undo/')[1].split('"')[0]
    page = client.post(f"/triage/undo/{undo}", follow=True).content.decode()
    assert "Undone for 3 buckets." in page
    assert {one.status for one in Bucket.objects.all()} == {"new"}


@pytest.mark.usefixtures("person")
def test_labels_are_taken_off_in_bulk_whatever_their_case(client: Client) -> None:
    one, two = factories.bucket(), factories.bucket()
    client.post("/triage/change/", {"action": "label", "name": "Old, pt2", "everything": "1"})
    assert {label.name for label in one.labels.all()} == {"Old", "pt2"}
    given = {"action": "unlabel", "name": "old", "picked": [one.uuid]}
    assert "1 bucket changed" in client.post("/triage/change/", given, follow=True).content.decode()
    assert {label.name for label in one.labels.all()} == {"pt2"}
    assert {label.name for label in two.labels.all()} == {"Old", "pt2"}


@pytest.mark.usefixtures("person")
def test_refused_moves_are_named_and_then_counted(client: Client) -> None:
    for number in range(7):
        factories.bucket(title=f"number {number}", status="false_alarm")
    given = {"action": "move", "to": "fixed", "everything": "1", "query": "status=all"}
    page = client.post("/triage/change/", given, follow=True).content.decode()
    assert page.count("false alarm cannot become fixed") == 5
    assert "2 buckets more left for such reasons." in page


@pytest.mark.usefixtures("person")
def test_labels_change_in_place(client: Client) -> None:
    bucket = factories.bucket()
    hx = {"HX-Request": "true"}
    path = reverse("triage:add-label", args=[bucket.uuid])
    text = client.post(path, {"name": "edge case", "row": "1"}, headers=hx).content.decode()
    assert text.lstrip().startswith("<tr")
    assert "edge case" in text
    assert "1 bucket changed" in text
    path = reverse("triage:remove-label", args=[bucket.uuid, bucket.labels.get().pk])
    text = client.post(path, {"row": "1"}, headers=hx).content.decode()
    assert "edge case</a>" not in text
    assert not bucket.labels.exists()
    # Without scripts the answer is the page that the form was on.
    path = reverse("triage:add-label", args=[bucket.uuid])
    back = client.post(path, {"name": "x"}, headers={"Referer": "http://testserver/triage/?q=x"})
    assert back["Location"] == "http://testserver/triage/?q=x"
    refused = client.post(path, {"name": "x" * 41}, follow=True).content.decode()
    assert "A label has 1 to 40 characters." in refused


@pytest.mark.usefixtures("person")
def test_row_offers_the_statuses_that_may_follow_and_says_why_it_stands_here(
    client: Client,
) -> None:
    bucket = factories.bucket(status="false_alarm")
    page = client.get(INBOX, {"status": "all"})
    (row,) = page.context["rows"]
    assert set(row.moves) == {"new", "needs_work", "confirmed", "false_alarm"}
    text = page.content.decode()
    assert "silent wrong result" in text
    assert "edge case: NaN in x" in text
    assert f"{bucket.reproduced} of {bucket.attempts}" in text
    assert 'aria-label="1 in the last 14 days"' in text


@pytest.mark.usefixtures("person")
def test_menus_count_the_values_among_buckets_of_the_chosen_status(client: Client) -> None:
    shard = factories.shard()
    factories.bucket(symptom="crash", shard=shard).labels.create(name="old")
    factories.bucket(symptom="crash", status="fixed", shard=shard)
    menus = client.get(INBOX, {"op": "zebra"}).context["menus"]
    assert (menus["symptom"].count_of("crash"), menus["symptom"].count_of("state")) == (1, 0)
    assert (menus["status"].count_of("open"), menus["status"].count_of("all")) == (1, 2)
    assert (menus["label"].count_of("old"), menus["assignee"].count_of("nobody")) == (1, 1)
    assert menus["campaign"].texts == {str(shard.campaign.uuid): "Quick look"}
    # What the URL asks for can be unticked though no bucket has it.
    assert [option.value for option in menus["op"].options] == ["exp", "zebra"]
    assert (menus["op"].chosen, menus["status"].chosen) == (1, 0)
    wide = client.get(INBOX, {"status": "all"}).context["menus"]
    assert wide["symptom"].count_of("crash") == 2


@pytest.mark.usefixtures("person")
def test_inbox_where_nothing_matches_says_which_filter_to_drop(client: Client) -> None:
    for _ in range(3):
        factories.bucket(symptom="crash")
    factories.bucket(title="zebra")
    page = client.get(INBOX, {"q": "zebra", "symptom": "crash"})
    assert [(way.chip.text, way.count) for way in page.context["ways_out"]] == [
        ("zebra", 3),
        ("Crash", 1),
    ]
    assert 'href="?symptom=crash">Without Text: zebra' in page.content.decode()
    page = client.get(INBOX, {"q": "lion", "symptom": "state"})
    assert "Dropping any single filter does not help." in page.content.decode()


@pytest.mark.usefixtures("person")
def test_empty_inbox_shows_the_campaign_that_runs_or_starts_one(client: Client) -> None:
    page = client.get(INBOX).content.decode()
    assert "No campaign is running." in page
    assert reverse("campaigns:add-campaign") in page
    campaign = factories.campaign(status="running", name="Overnight")
    page = client.get(INBOX).content.decode()
    assert "Watch Overnight" in page
    assert campaign.get_absolute_url() in page


@pytest.mark.usefixtures("person")
def test_bucket_leads_back_to_the_list_one_came_from(client: Client) -> None:
    bucket = factories.bucket()
    client.get(INBOX, {"q": "exp", "sort": "title"})
    page = client.get(bucket.get_absolute_url()).content.decode()
    assert '<a href="/triage/?q=exp&amp;sort=title">Inbox</a>' in page


@pytest.mark.usefixtures("person")
def test_inbox_makes_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for size in (1, 15):
        for number in range(size):
            bucket = factories.bucket(assignee=factories.user())
            bucket.labels.create(name=f"{size} {number}")
        # Session, user, default view, navigation 3, count, page, labels, sparklines, menus 5, team,
        # views 2.
        with django_assert_num_queries(18):
            assert client.get(INBOX).status_code == 200
