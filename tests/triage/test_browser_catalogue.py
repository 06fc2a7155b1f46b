"""Charts and the catalogue in a real browser: drawn in the theme, and readable without scripts."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, logged_in

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SEED = "/catalogue/seeds/convnextv2_tiny_compact/"
PATHS = (
    "/",
    "/catalogue/mutations/?object=tensor",
    "/catalogue/mutations/tensor.insertion.copy/",
    "/catalogue/operators/?tag=convolution",
    "/catalogue/operators/conv2d/",
    "/catalogue/seeds/",
    SEED,
    f"{SEED}graph/",
)


def _page(context: BrowserContext, live_server: LiveServer) -> Page:
    """A page of somebody who is logged in; an error in a script or a breach of policy fails."""
    page = logged_in(context, live_server)
    page.on(
        "console",
        lambda said: pytest.fail(f"{page.url}: {said.text}") if said.type == "error" else None,
    )
    return page


def _records() -> None:
    campaign = factories.campaign(status="running")
    shard = factories.shard(campaign=campaign, recorded_rounds=2)
    for number in range(2):
        factories.mutant(shard=shard, round=number, mutator="tensor.insertion.copy")
    factories.finding(shard=shard, symptom="crash", accused_op="conv2d")


def test_charts_are_drawn_in_the_colours_of_the_theme(
    browser: Browser, live_server: LiveServer
) -> None:
    _records()
    with browser.new_context(base_url=live_server.url, color_scheme="light") as context:
        page = _page(context, live_server)
        page.goto("/")
        expect(page.locator(".plot svg.main-svg").first).to_be_visible()
        assert page.locator(".figure.drawn").count() == page.locator(".figure").count() == 6
        expect(page.locator(".figure details").first).not_to_have_attribute("open", "")
        bar = page.locator("[data-figure=figure-rounds] .point path").first
        light = bar.evaluate("one => getComputedStyle(one).fill")
        page.emulate_media(color_scheme="dark")
        expect(bar).not_to_have_css("fill", light)


def test_opened_table_and_chart_survive_a_fresh_fragment(
    browser: Browser, live_server: LiveServer
) -> None:
    _records()
    with browser.new_context(base_url=live_server.url) as context:
        page = _page(context, live_server)
        page.goto(SEED)
        expect(page.locator(".plot svg.main-svg").first).to_be_visible()
        page.get_by_text("As a table").click()
        page.evaluate(
            """() => {
              const figure = document.querySelector(".figure");
              const fresh = figure.cloneNode(true);
              fresh.classList.remove("drawn");
              fresh.querySelector(".plot").replaceChildren();
              figure.replaceWith(fresh);
              fresh.dispatchEvent(
                new CustomEvent("htmx:load", { bubbles: true, detail: { elt: fresh } }));
            }"""
        )
        expect(page.locator(".plot svg.main-svg").first).to_be_visible()
        expect(page.locator(".figure details")).to_have_attribute("open", "")


def test_without_scripts_the_numbers_are_in_tables(
    browser: Browser, live_server: LiveServer
) -> None:
    _records()
    with browser.new_context(base_url=live_server.url, java_script_enabled=False) as context:
        page = _page(context, live_server)
        page.goto("/")
        expect(page.get_by_role("columnheader", name="wait for a person")).to_be_visible()
        expect(page.locator(".plot").first).to_be_hidden()
        page.goto("/catalogue/operators/")
        page.get_by_label("Text").fill("conv2d")
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="conv2d", exact=True).click()
        expect(page.locator("h1")).to_have_text("conv2d")


def test_keys_lead_to_the_inbox_and_to_the_overview(
    browser: Browser, live_server: LiveServer
) -> None:
    with browser.new_context(base_url=live_server.url) as context:
        page = _page(context, live_server)
        page.goto("/catalogue/seeds/")
        page.keyboard.press("i")
        expect(page.locator("h1")).to_have_text("Inbox")
        page.keyboard.press("h")
        expect(page.locator("h1")).to_have_text("Overview")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_pages_have_no_serious_accessibility_fault(
    browser: Browser, live_server: LiveServer, theme: str, width: int
) -> None:
    _records()
    faults = []
    with browser.new_context(
        base_url=live_server.url,
        color_scheme=theme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    ) as context:
        page = _page(context, live_server)
        for path in PATHS:
            page.goto(path)
            found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
            faults += [
                (path, one["id"], one["nodes"][0]["html"][:160])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{path} is wider than the screen"
    assert faults == []
