"""The editor of templates: preview on a real finding, errors by line, versions, the API."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from triage.drafting.versions import current_version, save_version, shipped_texts
from triage.models import DraftTemplate

pytestmark = pytest.mark.django_db
FORM = "pytorch-pt2"


def sent(**texts: str) -> dict[str, str]:
    given = {**shipped_texts(FORM), **texts}
    return {f"text-{key}": text for key, text in given.items()}


def url(name: str, *rest: object) -> str:
    return reverse(f"triage:{name}", args=[FORM, *rest])


@pytest.mark.usefixtures("person")
def test_every_form_has_an_editor(client: Client) -> None:
    page = client.get(reverse("triage:list-templates")).content.decode()
    assert page.count("/triage/reports/templates/") >= 3
    for form in ("pytorch-bug", "pytorch-pt2", "mindspore-bug"):
        factories.finding(
            accused_framework="mindspore" if form == "mindspore-bug" else "torch",
        )
        address = reverse("triage:show-template", args=[form])
        page = client.get(address).content.decode()
        assert "why_wrong" in page
        assert "as shipped" in page
        assert "Human note" in page
    assert client.get("/triage/reports/templates/nothing/").status_code == 404


@pytest.mark.usefixtures("person")
def test_editor_says_what_to_do_where_there_is_no_finding(client: Client) -> None:
    page = client.get(url("show-template")).content.decode()
    assert "There is no finding of this framework to show" in page


@pytest.mark.usefixtures("person")
def test_preview_shows_the_chosen_finding_and_saves_nothing(client: Client) -> None:
    factories.finding(title="one: x")
    chosen = factories.finding(title="two: x", accused_op="relu")
    given = {**sent(title="Draft of {{ op }}"), "finding": str(chosen.uuid)}
    page = client.post(url("preview-template"), given).content.decode()
    assert "Draft of relu" in page
    assert "two: x" in page
    # Without scripts it is a button of the form, and what was typed stays.
    page = client.post(url("save-template"), {**given, "preview": "1"}).content.decode()
    assert "Draft of relu" in page
    assert "Draft of {{ op }}" in page
    assert DraftTemplate.objects.count() == 1


@pytest.mark.usefixtures("person")
def test_fault_is_shown_with_its_line_and_not_saved(client: Client) -> None:
    factories.finding()
    given = sent(describe="one\n{{ nothing }}")
    page = client.post(url("preview-template"), given).content.decode()
    assert "describe, line 2" in page
    assert "&#x27;nothing&#x27; is undefined" in page
    response = client.post(url("save-template"), given)
    assert response.status_code == 422
    assert current_version(FORM).is_shipped


def test_saved_version_says_who_and_why_and_differs(client: Client, person: User) -> None:
    factories.finding()
    client.post(url("save-template"), {**sent(title="Mine\r\n"), "why": "Shorter titles."})
    version = current_version(FORM)
    assert (version.number, version.created_by, version.why) == (2, person, "Shorter titles.")
    assert version.texts["title"] == "Mine\n"
    page = client.get(url("show-template-version", 1)).content.decode()
    assert "What going back would change" in page
    page = client.get(url("show-template-version", 2)).content.decode()
    assert "Shorter titles." in page
    assert "It holds." in page


@pytest.mark.usefixtures("person")
def test_one_goes_back_on_the_page(client: Client) -> None:
    current_version(FORM)
    save_version(FORM, texts={**shipped_texts(FORM), "title": "x"}, why="", who=factories.user())
    client.post(url("restore-template", 1))
    assert current_version(FORM).texts == shipped_texts(FORM)
    client.post(url("restore-shipped"))
    assert current_version(FORM).is_shipped
    assert DraftTemplate.objects.count() == 4


@pytest.mark.usefixtures("person")
def test_broken_template_is_told_where_a_report_is_asked_for(client: Client) -> None:
    record = factories.finding()
    broken = {**shipped_texts(FORM), "title": "{{ nothing }}"}
    save_version(FORM, texts=broken, why="", who=factories.user())
    page = client.post(
        reverse("triage:add-report", args=[record.uuid]), follow=True
    ).content.decode()
    assert "title, line 1" in page
    response = client.post(f"/api/findings/{record.uuid}/report/")
    assert response.status_code == 409


@pytest.mark.usefixtures("person")
def test_api_of_templates(client: Client) -> None:
    record = factories.finding()
    assert {one["form"] for one in client.get("/api/templates/").json()} == {
        *("pytorch-bug", "pytorch-pt2", "mindspore-bug")
    }
    address = f"/api/templates/{FORM}/"
    json = {"content_type": "application/json"}
    given = {"texts": {"title": "Mine {{ op }}"}, "why": "shorter"}
    assert client.patch(address, given, **json).json()["number"] == 2
    assert client.patch(address, {"texts": {"nothing": ""}}, **json).status_code == 400
    assert [one["number"] for one in client.get(f"{address}versions/").json()] == [2, 1]
    shown = client.post(f"{address}preview/", {"finding": str(record.uuid)}, **json).json()
    assert shown["title"] == "Mine exp"
    fault = {"finding": str(record.uuid), "texts": {"title": "{{"}}
    assert client.post(f"{address}preview/", fault, **json).json()["line"] == "1"
    assert client.post(f"{address}back/", {"number": 1}, **json).json()["number"] == 3
    assert client.post(f"{address}back/", {}, **json).json()["is_shipped"] is True
    assert client.get("/api/templates/nothing/").status_code == 404
    names = {one["name"] for one in client.get("/api/templates/variables/").json()}
    assert {"why_wrong", "script", "versions"} <= names


def test_anonymous_visitors_are_asked_to_log_in(client: Client) -> None:
    assert "/login/" in client.get(url("show-template")).headers["Location"]
    assert client.get("/api/templates/").status_code in (401, 403)
