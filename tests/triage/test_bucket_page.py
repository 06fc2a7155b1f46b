"""One bucket: evidence, decisions, notes, downloads."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from triage.models import Bucket

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("person")
def test_page_says_what_is_wrong_who_is_accused_and_why_it_is_believed(client: Client) -> None:
    bucket = factories.bucket()
    page = client.get(bucket.get_absolute_url()).content.decode()
    for text in (
        "torch-inductor returns 0.0 where float64 and eager return NaN.",
        "accused",
        "3 of 3, each in a fresh process",
        "graphs compiled 1",
        "1 added, 2 changed nodes",
        "AssertionError",
        "insert_unary.exp",
    ):
        assert text in page


@pytest.mark.usefixtures("person")
def test_page_shows_the_smallest_member_unless_another_is_asked_for(client: Client) -> None:
    large = factories.finding(minimised_nodes=7, signature="s")
    small = factories.finding(minimised_nodes=2, signature="s")
    shown = client.get(small.bucket.get_absolute_url()).context["record"]
    assert shown == small
    assert client.get(large.get_absolute_url()).context["record"] == large


@pytest.mark.usefixtures("person")
def test_texts_of_a_finding_cannot_become_markup(client: Client) -> None:
    evil = "<script>alert(1)</script>"
    bucket = factories.bucket(
        title=evil, verdict=evil, script=evil, script_output=evil, seed=evil, mutator=evil
    )
    note = reverse("triage:add-note", args=[bucket.uuid])
    client.post(note, {"text": f"{evil} [a](javascript:x)"})
    for path in (bucket.get_absolute_url(), "/triage/"):
        page = client.get(path).content.decode()
        assert "<script>alert" not in page
        assert 'href="javascript' not in page


@pytest.mark.usefixtures("person")
def test_unreadable_graph_text_is_named_and_the_page_still_works(client: Client) -> None:
    bucket = factories.bucket(parent_text="graph broken\n  v0: what is this")
    response = client.get(bucket.get_absolute_url())
    assert response.status_code == 200
    assert "cannot be read" in response.content.decode()
    member = bucket.findings.get()
    assert client.get(reverse("triage:download-picture", args=[member.uuid])).status_code == 404


@pytest.mark.usefixtures("person")
def test_downloads_are_the_script_the_data_and_the_picture(client: Client) -> None:
    member = factories.finding()
    script = client.get(reverse("triage:download-script", args=[member.uuid]))
    assert script.content.decode() == factories.SCRIPT
    assert script["Content-Disposition"].endswith('.py"')
    data = client.get(reverse("triage:download-data", args=[member.uuid])).json()
    assert data["verdict"] == member.bucket.verdict
    picture = client.get(reverse("triage:download-picture", args=[member.uuid]))
    assert picture["Content-Type"] == "image/svg+xml"
    assert b"<style>" in picture.content


def test_decisions_are_made_on_the_page(client: Client, person: User) -> None:
    bucket = factories.bucket(flag="seen_again", flag_reason="round 3")

    def post(route: str, **fields: str) -> str:
        path = reverse(f"triage:{route}", args=[bucket.uuid])
        assert client.get(path).status_code == 405
        return client.post(path, fields, follow=True).content.decode()

    post("move-bucket", to="confirmed", why="seen by hand")
    post("assign-bucket", assignee="ada")
    post("add-label", name="regression, empty tensors")
    post("add-note", text="**bold**")
    page = post("clear-flag")
    bucket.refresh_from_db()
    assert (bucket.status, bucket.assignee, bucket.flag) == ("confirmed", person, "")
    assert bucket.labels.count() == 2
    assert "<strong>bold</strong>" in page
    assert "seen by hand" in page
    assert "cannot become" not in page


@pytest.mark.usefixtures("person")
def test_forbidden_move_is_explained(client: Client) -> None:
    bucket = factories.bucket(status="fixed", title="Old")
    page = client.post(
        reverse("triage:move-bucket", args=[bucket.uuid]), {"to": "known_limit"}, follow=True
    ).content.decode()
    assert "Old: fixed cannot become known limit" in page


@pytest.mark.usefixtures("person")
def test_similar_buckets_share_operators(client: Client) -> None:
    bucket = factories.bucket(title="This")
    factories.bucket(title="Sibling")
    factories.bucket(
        title="Stranger", accused_op="relu", accused_modes=("torch-aot",), parts={}, symptom="crash"
    )
    similar = client.get(bucket.get_absolute_url()).context["page"].similar
    assert [one.bucket.title for one in similar] == ["Sibling"]


@pytest.mark.usefixtures("person")
def test_page_makes_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    bucket: Bucket = factories.bucket()
    path = bucket.get_absolute_url()
    for size in (1, 8):
        for number in range(size):
            factories.finding(bucket=bucket)
            factories.bucket()
            factories.report(bucket=bucket)
            factories.rerun(finding=bucket.findings.first(), asked_by=factories.user())
            bucket.labels.create(name=f"{size} {number}")
            bucket.notes.create(text="a", author=factories.user())
        with django_assert_num_queries(37):
            assert client.get(path).status_code == 200


# ------------------------------------------------------------------------------------- empty panels
@pytest.mark.usefixtures("person")
def test_panels_show_the_referee_the_ablations_and_where_it_begins(client: Client) -> None:
    page = client.get(factories.bucket().get_absolute_url()).content.decode()
    for text in (
        "torch-inductor is beyond what is allowed, 180,000 times it",
        "20.085536923187668",
        "goes away with emulate_precision_casts",
        "there is no such function",
        "0 where float64 has nan",
    ):
        assert text in page


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        (
            factories.OLD,
            ("carries no figures of the referee", "carries no ablations", "were not looked at"),
        ),
        (
            factories.OLD | {"symptom": "crash", "divergence": "", "script_output": ""},
            ("Nothing to weigh: a mode raises", "No tensor is wrong", "It printed nothing"),
        ),
        (
            {"parent_text": "", "answers": (), "environment": {}, "minimised_text": "nonsense"},
            ("No picture:", "No answers are recorded", "No versions are recorded"),
        ),
    ],
)
def test_empty_panels_say_why(
    client: Client, fields: dict[str, Any], texts: tuple[str, ...]
) -> None:
    response = client.get(factories.bucket(**fields).get_absolute_url())
    assert response.status_code == 200
    page = response.content.decode()
    for text in texts:
        assert text in page


@pytest.mark.usefixtures("person")
def test_finding_of_another_version_is_named_and_the_page_still_works(client: Client) -> None:
    record = factories.finding()
    del record.data["verdict"]
    record.data["later"] = 1
    record.save()
    page = client.get(record.get_absolute_url()).content.decode()
    assert "This finding cannot be read" in page
    assert "TypeError" in page
    assert "Run again now" in page


@pytest.mark.usefixtures("person")
def test_long_output_is_folded_with_its_length_and_a_raw_link(client: Client) -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    record = factories.finding(script_output=text)
    page = client.get(record.get_absolute_url()).content.decode()
    assert "70 earlier lines; the last 30 are below" in page
    assert "100 lines, 789" in page
    raw = client.get(reverse("triage:download-output", args=[record.uuid]))
    assert raw["Content-Type"].startswith("text/plain")
    assert raw.content.decode() == text


@pytest.mark.usefixtures("person")
def test_answer_of_a_mode_is_plain_text(client: Client) -> None:
    record = factories.finding()
    path = reverse("triage:download-answer", args=[record.uuid, "torch-inductor"])
    assert "20.0855" in client.get(path).content.decode()
    path = reverse("triage:download-answer", args=[record.uuid, "torch-none"])
    assert client.get(path).status_code == 404


# -------------------------------------------------------------------------------------------- notes
def test_own_note_is_edited_and_deleted_with_undo(client: Client, person: User) -> None:
    bucket = factories.bucket()
    client.post(reverse("triage:add-note", args=[bucket.uuid]), {"text": "first\nmore"})
    note = bucket.notes.get()
    edit = reverse("triage:edit-note", args=[bucket.uuid, note.pk])
    page = client.post(edit, {"text": "**second**"}, follow=True).content.decode()
    assert "<strong>second</strong>" in page
    assert "edited" in page
    event = bucket.events.get(kind="note_edited")
    assert (event.before, event.after, event.who) == ("first", "**second**", person)
    delete = reverse("triage:delete-note", args=[bucket.uuid, note.pk])
    response = client.post(delete, follow=True)
    assert "<strong>second</strong>" not in response.content.decode()
    batch = bucket.events.get(kind="note_deleted").batch
    page = client.post(reverse("triage:undo-batch", args=[batch]), follow=True).content.decode()
    assert "Undone for 1 bucket" in page
    assert bucket.notes.get().deleted_in is None


@pytest.mark.usefixtures("person")
def test_notes_of_others_stay(client: Client) -> None:
    bucket = factories.bucket()
    note = bucket.notes.create(text="theirs", author=factories.user("grace"))
    for route in ("edit-note", "delete-note"):
        path = reverse(f"triage:{route}", args=[bucket.uuid, note.pk])
        assert client.post(path, {"text": "mine"}).status_code == 404
    note.refresh_from_db()
    assert (note.text, note.deleted_in) == ("theirs", None)
    page = client.get(bucket.get_absolute_url()).content.decode()
    assert reverse("triage:edit-note", args=[bucket.uuid, note.pk]) not in page


# --------------------------------------------------------------------------------------------- walk
@pytest.mark.usefixtures("person")
def test_list_that_one_came_from_is_walked(client: Client) -> None:
    first, second, third = (factories.bucket(title=title) for title in ("one", "three", "two"))
    factories.bucket(title="another", symptom="crash")
    query = "symptom=numerical&sort=title"
    here = client.get(second.get_absolute_url(), {"list": query}).context["walk"]
    assert (here.number, here.total) == (2, 3)
    assert here.list_url == f"/triage/?{query}"
    assert here.previous.startswith(first.get_absolute_url())
    assert here.following.startswith(third.get_absolute_url())
    last = client.get(here.following).context["walk"]
    assert (last.number, last.following) == (3, "")


@pytest.mark.usefixtures("person")
def test_place_in_the_list_stays_after_a_decision(client: Client) -> None:
    first, second, third = (factories.bucket(title=title) for title in ("one", "three", "two"))
    page = f"{second.get_absolute_url()}?list=sort%3Dtitle"
    move = reverse("triage:move-bucket", args=[second.uuid])
    fields = {"to": "false_alarm", "next": page}
    response = client.post(move, fields, headers={"Referer": f"http://testserver{page}"})
    assert response.headers["Location"].endswith(page)
    here = client.get(page).context["walk"]
    assert (here.number, here.total) == (0, 2)
    assert here.previous.startswith(first.get_absolute_url())
    assert here.following.startswith(third.get_absolute_url())


@pytest.mark.usefixtures("person")
def test_without_a_list_the_inbox_is_walked_as_it_was_last_seen(client: Client) -> None:
    crash = factories.bucket(symptom="crash")
    factories.bucket()
    client.get("/triage/?symptom=crash")
    here = client.get(crash.get_absolute_url()).context["walk"]
    assert (here.number, here.total) == (1, 1)
