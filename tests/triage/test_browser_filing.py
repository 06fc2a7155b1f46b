"""A report on its way to the tracker, in a browser: keys, live previews, the linter."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, open_page
from triage.models import Report

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_key_copies_one_field_after_the_other(browser: Browser, live_server: LiveServer) -> None:
    report = factories.report()
    page = open_page(browser, live_server)
    page.goto(report.get_absolute_url())
    for wanted in (report.title, report.fields["describe"], report.fields["logs"]):
        page.keyboard.press("c")
        expect(page.locator("#edit [data-copy]", has_text="Copied").first).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").strip() == wanted.strip()


def test_rule_is_overridden_and_the_form_opens(browser: Browser, live_server: LiveServer) -> None:
    report = factories.report()
    page = open_page(browser, live_server)
    page.goto(report.get_absolute_url())
    expect(page.get_by_role("button", name="Open the tracker's form")).to_be_disabled()
    while page.locator(".lint li.blocks").count():
        before = page.locator(".lint li.blocks").count()
        first = page.locator(".lint li.blocks").first
        first.get_by_text("Override", exact=True).click()
        first.get_by_label("Why it does not matter here").fill("Looked at it by hand.")
        first.get_by_role("button", name="Override, and keep the reason").click()
        expect(page.locator(".lint li.blocks")).to_have_count(before - 1)
    expect(page.get_by_role("link", name="Open the tracker's form").first).to_be_visible()
    assert Report.objects.get(pk=report.pk).events.filter(kind="overridden").exists()


def test_template_is_previewed_while_it_is_typed(browser: Browser, live_server: LiveServer) -> None:
    factories.finding(title="torch.exp: x", parts={"kind": "values"})
    page = open_page(browser, live_server)
    page.goto(reverse("triage:show-template", args=["pytorch-pt2"]))
    page.get_by_label("Title", exact=True).fill("Draft of {{ op }}")
    expect(page.locator("#preview")).to_contain_text("Draft of exp")
    page.get_by_label("Title", exact=True).fill("one\n{{ nothing }}")
    expect(page.locator("#preview [role=alert]")).to_contain_text("title, line 2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_pages_are_accessible_and_fit(
    browser: Browser, live_server: LiveServer, scheme: str, width: int
) -> None:
    report = factories.report()
    page = open_page(browser, live_server)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    editor = reverse("triage:show-template", args=["pytorch-pt2"])
    confirm = reverse("triage:confirm-filing", args=[report.uuid])
    version = reverse("triage:show-template-version", args=["pytorch-pt2", 1])
    for path in (report.get_absolute_url(), editor, version, confirm):
        page.goto(path)
        assert Axe().run(page).response["violations"] == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
