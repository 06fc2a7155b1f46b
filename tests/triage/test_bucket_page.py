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
            bucket.labels.create(name=f"{size} {number}")
            bucket.notes.create(text="a", author=factories.user())
        with django_assert_num_queries(31):
            assert client.get(path).status_code == 200
