"""Merging, splitting and judging in a real browser, with and without scripts."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, open_page
from triage import grouping, services
from triage.models import Bucket, FindingRecord, Suppression

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PARTS = {"kind": "values", "calls": "exp.function", "dtypes": "float32"}


def found(title: str, **parts: str) -> FindingRecord:
    return factories.finding(signature=title, title=title, parts={**PARTS, **parts})


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_buckets_are_merged_from_the_inbox_and_undone(
    browser: Browser, live_server: LiveServer, *, scripts: bool
) -> None:
    one, two = found("exp of float32").bucket, found("exp of int64", dtypes="integer").bucket
    page = open_page(browser, live_server, scripts=scripts)
    page.goto("/triage/")
    page.get_by_label("Pick exp of float32", exact=True).check()
    page.get_by_label("Pick exp of int64", exact=True).check()
    page.get_by_role("button", name="Merge …").click()
    expect(page.locator("h1")).to_have_text("Merge 2 buckets")
    assert Bucket.objects.count() == 2
    page.get_by_label("Into exp of int64").check()
    page.get_by_role("button", name="Show this choice").click()
    page.get_by_label("Reason").fill("one kernel")
    page.get_by_role("button", name="Merge into exp of int64").click()
    expect(page.locator("#messages")).to_contain_text("1 bucket merged into this one.")
    assert list(Bucket.objects.all()) == [two]
    page.goto(one.get_absolute_url())
    expect(page.locator("#members")).to_contain_text("merged from “exp of float32”")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#history").get_by_role("button", name="Undo").first.click()
    expect(page.locator("#messages")).to_contain_text("Undone for 1 bucket.")
    assert Bucket.objects.count() == 2


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_member_is_split_off_and_comes_back(
    browser: Browser, live_server: LiveServer, *, scripts: bool
) -> None:
    found("s"), found("s", dtypes="integer")
    bucket = Bucket.objects.get()
    page = open_page(browser, live_server, scripts=scripts)
    page.goto(bucket.get_absolute_url())
    page.get_by_role("link", name="Split off those whose dtypes is integer").click()
    expect(page.locator("h1")).to_have_text("Split 1 of 2 findings off")
    page.get_by_role("button", name="Split off", exact=True).click()
    expect(page.locator("#messages")).to_contain_text("Split off “s”.")
    assert Bucket.objects.count() == 2
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone")
    assert Bucket.objects.get().count == 2


def test_a_rule_shows_what_it_moves_before_it_does(
    browser: Browser, live_server: LiveServer
) -> None:
    bucket = found("float").bucket
    found("integer", dtypes="integer")
    page = open_page(browser, live_server)
    page.goto(bucket.get_absolute_url())
    page.get_by_role("link", name="Set a rule").click()
    page.get_by_label("dtypes").uncheck()
    page.get_by_role("button", name="See what would move").click()
    expect(page.locator("main")).to_contain_text("Nothing would be left")
    page.get_by_role("button", name="Set the rule").click()
    expect(page.locator("#members")).to_contain_text("by the rule")
    assert Bucket.objects.get().count == 2


def test_the_form_shows_what_each_verdict_needs(browser: Browser, live_server: LiveServer) -> None:
    bucket = found("s").bucket
    other = found("other").bucket
    page = open_page(browser, live_server)
    page.goto(bucket.get_absolute_url())
    status, kind = page.get_by_label("Status", exact=True), page.get_by_label("Kind of false alarm")
    expect(kind).to_be_hidden()
    status.select_option("duplicate")
    expect(kind).to_be_hidden()
    page.get_by_label("Duplicate of").fill(live_server.url + other.get_absolute_url())
    status.select_option("false_alarm")
    expect(kind).to_be_visible()
    kind.select_option("tie")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator("#history")).to_contain_text("false alarm: tie or order of equals")
    status.select_option("confirmed")
    page.get_by_role("button", name="Set status").click()
    status.select_option("known_limit")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator("h1")).to_have_text("Accept as a known limit")
    page.get_by_label("Reason").fill("documented")
    page.get_by_label("Source").fill("https://docs.example/exp")
    page.get_by_role("button", name="Accept as a known limit").click()
    expect(page.locator("main")).to_contain_text("Suppressed until")
    page.goto(reverse("triage:list-suppressions"))
    page.get_by_role("button", name="Lift documented").click()
    expect(page.locator("main")).to_contain_text("Nothing is suppressed")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    assert Suppression.objects.get().is_active


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_have_no_serious_accessibility_fault(
    browser: Browser, live_server: LiveServer, theme: str, width: int
) -> None:
    bucket, other = found("s").bucket, found("other", dtypes="integer").bucket
    found("s", dtypes="small float")
    limit = found("limit", calls="log.function").bucket
    page = open_page(browser, live_server)
    grouping.merge_buckets(
        [found("third", dtypes="bool").bucket], into=bucket, who=factories.user()
    )
    services.move_buckets([limit], to="known_limit", who=factories.user(), why="documented")
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    one = bucket.uuid
    paths = [
        bucket.get_absolute_url(),
        limit.get_absolute_url(),
        f"{reverse('triage:preview-merge')}?picked={one}&picked={other.uuid}",
        f"{reverse('triage:preview-split', args=[one])}?part=dtypes&value=bool",
        f"{reverse('triage:preview-rule', args=[one])}?part=kind&none=1",
        f"{reverse('triage:preview-limit', args=[one])}?part=kind",
        reverse("triage:list-suppressions"),
    ]
    faults = []
    for path in paths:
        page.goto(path)
        seen = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        faults += [
            (path, one["id"], one["nodes"][0]["html"][:120])
            for one in seen
            if one["impact"] in ("serious", "critical")
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is wider than the screen"
    assert faults == []
