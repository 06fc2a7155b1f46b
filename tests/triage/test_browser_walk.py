"""A day's work in one go: from a new campaign to verdicts, with keys, and again without scripts."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.models import Campaign
from tests import factories
from tests.browsing import browser, open_page
from triage.models import Bucket, FindingRecord

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PARTS = {"kind": "values", "calls": "exp.function", "dtypes": "float32"}


def found(title: str, **parts: str) -> FindingRecord:
    return factories.finding(
        signature=title,
        title=title,
        accused_op=title.split()[0],
        parts={**PARTS, **parts},
        shard=Campaign.objects.get().shards.get(),
    )


def check(page: Page) -> None:
    """Nothing serious for axe, and no wider than the screen."""
    result = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    faults = [
        (one["id"], one["nodes"][0]["html"][:120])
        for one in result
        if one["impact"] in ("serious", "critical")
    ]
    assert faults == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url


def start_a_campaign(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="New campaign").first.click()
    page.get_by_role("link", name="One seed").click()
    page.get_by_label("Rounds per seed").fill("3")
    page.get_by_role("button", name="Start campaign").click()
    expect(page.locator("h1")).to_have_text("One seed")


def filter_the_inbox_and_save_a_view(page: Page) -> None:
    page.locator(".top nav").get_by_role("link", name="Inbox").click()
    expect(page.locator("tr[data-row]")).to_have_count(4)
    check(page)
    page.locator("summary", has_text="Operator").click()
    page.locator(".menu[open] .options label", has_text="exp").locator("input").check()
    page.locator(".menu[open] button", has_text="Apply").click()
    expect(page.locator("tr[data-row]")).to_have_count(2)
    page.locator("summary", has_text="Save this view").click()
    page.get_by_label("Name", exact=True).fill("Only exp")
    page.locator(".pop button", has_text="Save").click()
    expect(page.locator(".views [aria-current]")).to_contain_text("Only exp")


def read_a_bucket_and_its_data_flow(page: Page) -> None:
    page.get_by_role("link", name="exp of float32").click()
    summary = page.locator("#summary")
    for question in (
        "What is wrong",
        "Accused",
        "Why it is believed",
        "How to run it",
        "What to do next",
    ):
        expect(summary.locator("dt", has_text=question)).to_be_in_viewport()
    check(page)
    bucket = page.url
    page.locator("a[href*='/graph/']").first.click()
    expect(page.locator("#graph-n-m0")).to_be_visible()
    page.locator("#graph-n-m0").click()
    expect(page.locator("#graph-chosen")).to_contain_text("exp")
    check(page)
    page.goto(bucket)


def judge_and_take_it_back(page: Page) -> None:
    page.get_by_label("Status", exact=True).select_option("confirmed")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator(".head .chip").first).to_contain_text("Confirmed")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.locator(".head .chip").first).to_contain_text("New")


def judge_from_the_row_what_needs_more(page: Page) -> None:
    page.goto("/triage/?status=open")
    page.get_by_label("Status of log of bool").select_option("false_alarm")
    expect(page.locator("h1")).to_have_text("log of bool")
    kind = page.get_by_label("Kind of false alarm")
    expect(kind).to_be_focused()
    kind.select_option("tie")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator(".head .chip").first).to_contain_text("False alarm")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.locator(".head .chip").first).to_contain_text("New")


def merge_with_a_preview_and_undo(page: Page) -> None:
    page.goto("/triage/?status=open")
    page.get_by_label("Pick exp of float32", exact=True).check()
    page.get_by_label("Pick exp of int64", exact=True).check()
    page.get_by_role("button", name="Merge …").click()
    expect(page.locator("h1")).to_have_text("Merge 2 buckets")
    page.get_by_label("Into exp of int64").check()
    page.get_by_role("button", name="Show this choice").click()
    page.get_by_role("button", name="Merge into exp of int64").click()
    expect(page.locator("#messages")).to_contain_text("1 bucket merged into this one.")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone")


def split_with_a_preview_and_undo(page: Page) -> None:
    page.goto("/triage/?status=open")
    page.get_by_role("link", name="sin of both").click()
    page.get_by_role("link", name="Split off those whose dtypes is integer").click()
    expect(page.locator("h1")).to_have_text("Split 1 of 2 findings off")
    page.get_by_role("button", name="Split off", exact=True).click()
    expect(page.locator("#messages")).to_contain_text("Split off “sin of both”.")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone")


def change_many_and_take_it_back(page: Page) -> None:
    page.goto("/triage/?status=open")
    page.get_by_label("all 4 that match").check()
    page.locator("#bulk-to").select_option("needs_work")
    page.get_by_label("Reason").fill("later")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator("#messages")).to_contain_text("4 buckets changed.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone for 4 buckets.")


def go_by_keys(page: Page) -> None:
    page.goto("/triage/?sort=title")
    for key in ("j", "j", "k", "x"):
        page.keyboard.press(key)
    expect(page.locator("tr.at .title")).to_have_text("exp of float32")
    expect(page.locator("[data-picked]")).to_have_text("1 picked:")
    page.keyboard.press("o")
    expect(page.locator("h1")).to_have_text("exp of float32")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_walk(browser: Browser, live_server: LiveServer, theme: str) -> None:
    page = open_page(browser, live_server)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("dialog", lambda dialog: dialog.accept())
    start_a_campaign(page)
    check(page)
    for title, parts in (
        ("exp of float32", {}),
        ("exp of int64", {"dtypes": "integer"}),
        ("log of bool", {"dtypes": "bool", "calls": "log.function"}),
        ("sin of both", {"calls": "sin.function"}),
        ("sin of both", {"calls": "sin.function", "dtypes": "integer"}),
    ):
        found(title, **parts)
    filter_the_inbox_and_save_a_view(page)
    read_a_bucket_and_its_data_flow(page)
    judge_and_take_it_back(page)
    judge_from_the_row_what_needs_more(page)
    merge_with_a_preview_and_undo(page)
    split_with_a_preview_and_undo(page)
    change_many_and_take_it_back(page)
    go_by_keys(page)
    assert {one.status for one in Bucket.objects.all()} == {"new"}
    cookies = page.context.cookies()
    page.context.close()
    walk_without_scripts(browser, live_server, cookies, theme)


def walk_without_scripts(
    browser: Browser, live_server: LiveServer, cookies: object, theme: str
) -> None:
    context = browser.new_context(
        java_script_enabled=False,
        base_url=live_server.url,
        color_scheme=theme,  # type: ignore[arg-type]
        viewport={"width": 390, "height": 844},
    )
    context.add_cookies(cookies)  # type: ignore[arg-type]
    page = context.new_page()
    start_a_campaign(page)
    page.goto("/triage/?status=open")
    page.locator("summary", has_text="Operator").click()
    page.locator(".menu[open] .options label", has_text="log").locator("input").check()
    page.locator(".menu[open] button", has_text="Apply").click()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("summary", has_text="Save this view").click()
    page.get_by_label("Name", exact=True).fill("Only log")
    page.locator(".pop button", has_text="Save").click()
    expect(page.locator(".views [aria-current]")).to_contain_text("Only log")
    page.get_by_label("Status of log of bool").select_option("false_alarm")
    page.get_by_role("button", name="Set", exact=True).first.click()
    page.get_by_label("Kind of false alarm").select_option("tie")
    page.get_by_role("button", name="Set status").click()
    expect(page.locator(".head .chip").first).to_contain_text("False alarm")
    page.locator("#messages").get_by_role("button", name="Undo").click()
    page.locator("a[href*='/graph/']").first.click()
    expect(page.locator("svg.graph").first).to_be_visible()
    merge_with_a_preview_and_undo(page)
    split_with_a_preview_and_undo(page)
    change_many_and_take_it_back(page)
    context.close()
