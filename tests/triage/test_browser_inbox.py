"""The inbox in a real browser: filters, views, rows that change in place, keys, many at once."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, open_page
from triage.models import Bucket

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_row_that_changes_in_place_keeps_pick_place_and_focus(
    browser: Browser, live_server: LiveServer
) -> None:
    for title in ("one", "two"):
        factories.bucket(title=title)
    page = open_page(browser, live_server)
    page.goto("/triage/?sort=title")
    for key in ("j", "x", "e"):
        page.keyboard.press(key)
    expect(page.get_by_label("Status of one")).to_be_focused()
    page.get_by_label("Status of one").select_option("confirmed")
    expect(page.locator("#messages")).to_contain_text("1 bucket changed.")
    expect(page.get_by_label("Status of one")).to_be_focused()
    expect(page.locator("tr.at .title")).to_have_text("one")
    expect(page.get_by_label("Pick one")).to_be_checked()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("tr.at .title")).to_have_text("two")


def test_labels_and_assignee_change_in_place(browser: Browser, live_server: LiveServer) -> None:
    bucket = factories.bucket(title="exp")
    page = open_page(browser, live_server)
    page.goto("/triage/")
    page.get_by_label("Add a label to exp").click()
    expect(page.locator("tr").get_by_label("Label", exact=True)).to_be_focused()
    page.keyboard.type("edge case")
    page.keyboard.press("Enter")
    expect(page.locator(".chip.label")).to_contain_text("edge case")
    page.get_by_label("Remove the label edge case from exp").click()
    expect(page.locator(".chip.label")).to_have_count(0)
    # The fresh row listens once it has settled.
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    with page.expect_response("**/assign/"):
        page.get_by_label("Assignee of exp").select_option("ada")
    assert Bucket.objects.get(pk=bucket.pk).assignee is not None


def test_filters_are_chosen_dropped_and_kept_as_a_view(
    browser: Browser, live_server: LiveServer
) -> None:
    for op in [f"op{number}" for number in range(14)]:
        factories.bucket(accused_op=op, title=op, parts={})
    page = open_page(browser, live_server)
    page.goto("/triage/")
    page.locator("summary", has_text="Operator").click()
    expect(page.get_by_label("Find in Operator")).to_be_focused()
    page.keyboard.type("op1")
    options = page.locator(".menu[open] .options label:visible")
    expect(options).to_have_count(5)
    for number in (0, 1):
        options.nth(number).locator("input").check()
    page.locator(".menu[open] button", has_text="Apply").click()
    expect(page.locator("tr[data-row]")).to_have_count(2)
    assert "age=" not in page.url, "blanks stay out of the address"
    page.get_by_label("Remove filter Operator: op1", exact=True).click()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("summary", has_text="Save this view").click()
    page.get_by_label("Name", exact=True).fill("Mine alone")
    page.locator(".pop button", has_text="Save").click()
    expect(page.locator(".views [aria-current]")).to_contain_text("Mine alone")
    page.get_by_role("link", name="Clear all").click()
    expect(page.locator("tr[data-row]")).to_have_count(14)
    page.locator("summary", has_text="Status").first.click()
    page.keyboard.press("Escape")
    expect(page.locator(".menu[open]")).to_have_count(0)


def test_many_change_at_once_after_a_question_and_are_undone(
    browser: Browser, live_server: LiveServer
) -> None:
    for number in range(3):
        factories.bucket(title=f"number {number}")
    page = open_page(browser, live_server)
    page.goto("/triage/")
    asked: list[str] = []

    def answer(dialog: object) -> None:
        asked.append(dialog.message)  # type: ignore[attr-defined]
        dialog.accept()  # type: ignore[attr-defined]

    page.on("dialog", answer)
    expect(page.get_by_label("Kind of false alarm")).to_be_hidden()
    page.locator("#bulk-to").select_option("false_alarm")
    page.get_by_label("Kind of false alarm").select_option("tie")
    page.get_by_label("all 3 that match").check()
    page.get_by_role("button", name="Set status").click()
    expect(page.locator("#messages")).to_contain_text("3 buckets changed.")
    assert asked == ["Change all 3 that match?"]
    assert set(Bucket.objects.values_list("false_alarm", flat=True)) == {"tie"}
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone for 3 buckets.")
    page.get_by_label("Pick number 2").click()
    page.get_by_label("Pick number 0").click(modifiers=["Shift"])
    expect(page.locator("[data-picked]")).to_have_text("3 picked:")
    expect(page.get_by_label("Pick all on this page")).to_be_checked()


def test_keys_that_are_switched_off_do_nothing(browser: Browser, live_server: LiveServer) -> None:
    factories.bucket()
    page = open_page(browser, live_server)
    page.goto("/account/")
    page.get_by_label("off").check()
    page.locator("form", has_text="Keys").get_by_role("button", name="Save").click()
    page.goto("/triage/")
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert page.locator("tr.at, dialog[open]").count() == 0


def test_inbox_is_filtered_and_viewed_without_scripts(
    browser: Browser, live_server: LiveServer
) -> None:
    factories.bucket(title="one", symptom="crash")
    factories.bucket(title="two", symptom="state")
    page = open_page(browser, live_server, scripts=False)
    page.goto("/triage/")
    page.locator("summary", has_text="Symptom").click()
    page.locator(".menu[open] label", has_text="Crash").locator("input").check()
    page.locator(".menu[open] button", has_text="Apply").click()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("summary[aria-label^=Impact]").click()
    expect(page.locator(".why .pop")).to_be_visible()
    page.locator("summary", has_text="Save this view").click()
    page.get_by_label("Name", exact=True).fill("Crashes")
    page.locator(".pop button", has_text="Save").click()
    expect(page.locator(".views [aria-current]")).to_contain_text("Crashes")
    page.get_by_role("link", name="Manage views").click()
    page.get_by_role("button", name="Open the inbox with Crashes").click()
    page.goto("/triage/")
    expect(page.locator("tr[data-row]")).to_have_count(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_inbox_has_no_serious_accessibility_fault(
    browser: Browser, live_server: LiveServer, theme: str, width: int
) -> None:
    bucket = factories.bucket(status="fixed", flag="seen_again", flag_reason="Found again.")
    bucket.labels.create(name="edge case")
    factories.bucket(symptom="crash")
    page = open_page(browser, live_server)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/triage/?status=open")
    page.locator("summary", has_text="Save this view").click()
    page.get_by_label("Name", exact=True).fill("x")
    page.locator(".pop button", has_text="Save").click()
    faults = []
    for path, opened in (
        ("/triage/?status=open&sort=-count&found=7", "summary:has-text('Symptom')"),
        ("/triage/?q=zebra", ""),
        ("/triage/?status=duplicate", ""),
        ("/triage/views/", ""),
    ):
        page.goto(path)
        if opened:
            page.locator(opened).click()
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        faults += [
            (path, one["id"], one["nodes"][0]["html"][:120])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is wider than the screen"
    assert faults == []
