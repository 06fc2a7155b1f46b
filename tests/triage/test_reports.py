"""Reports: from the button to verified fixed."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from triage import reporting
from triage.models import Bucket, Report
from triage.reporting import MOVES, allowed_moves
from triage.services import MoveRefusedError

pytestmark = pytest.mark.django_db
URL = "https://github.com/pytorch/pytorch/issues/123456"
Status = Report.Status


def test_button_drafts_a_report(client: Client, person: User) -> None:
    member = factories.finding()
    response = client.post(reverse("triage:add-report", args=[member.uuid]), follow=True)
    report = Report.objects.get()
    assert (report.status, report.created_by, report.bucket) == ("draft", person, member.bucket)
    page = response.content.decode()
    assert "Fields of the form" in page
    assert "Open the tracker's form" in page
    assert "keep it from being filed" in page


@pytest.mark.usefixtures("person")
def test_fields_are_edited_and_history_names_them(client: Client) -> None:
    report = factories.report()
    edited = {**report.fields, "title": "Better title", "describe": "Better\r\ntext"}
    client.post(reverse("triage:edit-report", args=[report.uuid]), edited)
    report.refresh_from_db()
    assert (report.title, report.fields["describe"]) == ("Better title", "Better\ntext")
    assert report.events.get(kind="edited").after == "title, describe"


@pytest.mark.usefixtures("person")
def test_saving_without_a_change_leaves_no_trace(client: Client) -> None:
    report = factories.report()
    client.post(
        reverse("triage:edit-report", args=[report.uuid]), {**report.fields, "title": report.title}
    )
    assert not report.events.filter(kind="edited").exists()


@pytest.mark.usefixtures("person")
def test_field_that_the_form_requires_cannot_be_emptied(client: Client) -> None:
    report = factories.report()
    fields = {**report.fields, "title": report.title, "versions": ""}
    response = client.post(reverse("triage:edit-report", args=[report.uuid]), fields)
    assert response.status_code == 422
    assert "This field is required." in response.content.decode()
    # What was typed is still there.
    assert response.context["form"]["describe"].value() == report.fields["describe"]


@pytest.mark.usefixtures("person")
def test_preview_renders_without_saving(client: Client) -> None:
    report = factories.report()
    response = client.post(
        reverse("triage:preview-report", args=[report.uuid]),
        {"title": "New", "describe": "**loud** <script>x</script>"},
    )
    page = response.content.decode()
    assert "<strong>loud</strong>" in page
    assert "<script>" not in page
    report.refresh_from_db()
    assert "loud" not in report.fields["describe"]


@pytest.mark.usefixtures("person")
def test_linking_the_issue_makes_a_draft_reported_and_its_bucket_too(client: Client) -> None:
    report = factories.report()
    client.post(reverse("triage:link-report", args=[report.uuid]), {"url": URL})
    report.refresh_from_db()
    assert (report.status, report.upstream_id) == ("reported", "123456")
    assert report.bucket.status == Bucket.Status.REPORTED
    assert [event.kind for event in report.events.all()] == ["drafted", "linked", "moved"]
    page = client.get("/triage/reports/").content.decode()
    assert URL in page


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("url", ["", "no address", "javascript:alert(1)", "ftp://a.example/1"])
def test_what_is_no_address_is_refused(client: Client, url: str) -> None:
    report = factories.report()
    response = client.post(reverse("triage:link-report", args=[report.uuid]), {"url": url})
    assert response.status_code == 422
    report.refresh_from_db()
    assert report.status == "draft"


@pytest.mark.usefixtures("person")
def test_one_issue_is_linked_to_one_report(client: Client) -> None:
    factories.report(status="reported", upstream_url=URL)
    other = factories.report()
    response = client.post(reverse("triage:link-report", args=[other.uuid]), {"url": URL})
    assert "Already linked to the report" in response.content.decode()


@pytest.mark.parametrize("start", list(Status))
@pytest.mark.parametrize("to", list(Status))
def test_a_move_succeeds_exactly_where_the_table_says_so(start: Status, to: Status) -> None:
    report = factories.report(status=start, upstream_url="" if start == "draft" else URL)
    if to in allowed_moves(start):
        if to == "fixed":
            factories.verified(report.bucket)
        moved = reporting.move_report(report, to=to, who=factories.user(), why="seen")
        assert moved.status == to
        assert moved.events.last().why == "seen"
    else:
        with pytest.raises(MoveRefusedError, match="cannot become"):
            reporting.move_report(report, to=to, who=factories.user())


def test_fix_is_claimed_before_it_is_verified() -> None:
    assert Status.FIXED not in MOVES[Status.REPORTED] | MOVES[Status.CONFIRMED]
    assert Status.FIXED in MOVES[Status.FIX_CLAIMED]
    # A fix that did not hold comes back.
    assert MOVES[Status.FIXED] == {Status.REGRESSED}
    assert Status.REGRESSED in MOVES[Status.FIX_CLAIMED]


def test_every_status_but_a_draft_is_reached_and_left() -> None:
    reached = set().union(*MOVES.values()) | {Status.REPORTED}
    assert reached == set(Status) - {Status.DRAFT}
    assert all(MOVES[status] for status in Status if status != Status.DRAFT)
    assert all(status not in MOVES[status] for status in Status)


@pytest.mark.usefixtures("person")
def test_whole_life_is_walked_on_the_page(client: Client) -> None:
    report = factories.report()
    client.post(reverse("triage:link-report", args=[report.uuid]), {"url": URL})
    move = reverse("triage:move-report", args=[report.uuid])
    for to in ("confirmed", "fix_claimed", "fixed"):
        if to == "fixed":
            early = client.post(move, {"to": to}, follow=True).content.decode()
            assert "Nothing has verified the fix yet" in early
            factories.verified(report.bucket)
        client.post(move, {"to": to, "why": f"now {to}"})
    page = client.get(report.get_absolute_url()).content.decode()
    assert all(f"now {to}" in page for to in ("confirmed", "fix_claimed", "fixed"))
    report.refresh_from_db()
    assert report.bucket.status == Bucket.Status.FIXED
    refused = client.post(move, {"to": "draft"}, follow=True).content.decode()
    assert "cannot become draft" in refused


@pytest.mark.usefixtures("person")
def test_list_is_filtered_by_status_and_says_when_it_is_empty(client: Client) -> None:
    assert "No report yet" in client.get("/triage/reports/").content.decode()
    factories.report(title="Mine")
    assert "Mine" in client.get("/triage/reports/?status=draft").content.decode()
    assert "No report matches" in client.get("/triage/reports/?status=fixed").content.decode()
