"""Pages of campaigns in a real browser: what scripts add, and that it works without them."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.models import Campaign
from tests import factories
from tests.browsing import browser, open_page

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def running(*, rounds: int = 12) -> Campaign:
    """A campaign in the middle of its work, with a finding."""
    campaign = factories.campaign(status="running", name="Deep look")
    shard = factories.shard(
        campaign=campaign,
        recorded_rounds=rounds,
        next_round=rounds,
        accepted=rounds // 2,
        rejected_reasons={"no such axis": 4},
        numerical_findings=1,
    )
    for number in range(rounds):
        factories.mutant(shard=shard, round=number, depth=number, findings=int(number == 3))
    factories.finding(shard=shard, round=3)
    return campaign


def test_estimate_follows_what_is_typed_and_the_campaign_starts(
    browser: Browser, live_server: LiveServer
) -> None:
    page = open_page(browser, live_server)
    page.goto("/campaigns/new/?preset=one_seed")
    expect(page.get_by_role("button", name="Show estimate")).to_be_hidden()
    page.get_by_label("Rounds per seed").fill("450")
    expect(page.locator("#estimate")).to_contain_text("about 7 h 00 min")
    page.get_by_label("Rounds per seed").fill("0")
    expect(page.locator("#estimate")).to_contain_text("in order")
    page.get_by_label("Rounds per seed").fill("3")
    page.get_by_role("button", name="Start campaign").click()
    expect(page.locator("h1")).to_have_text("One seed")
    assert Campaign.objects.get().rounds == 3


def test_question_stays_open_while_the_page_is_live_and_its_reason_is_kept(
    browser: Browser, live_server: LiveServer
) -> None:
    campaign = running()
    page = open_page(browser, live_server)
    page.goto(campaign.get_absolute_url())
    page.get_by_text("Pause …").click()
    page.get_by_label("Why").fill("the disk is full")
    page.wait_for_timeout(4000)  # longer than a poll waits
    expect(page.get_by_label("Why")).to_have_value("the disk is full")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".callout.problem")).to_contain_text("the disk is full")
    expect(page.locator(".history")).to_contain_text("Paused by ada")


def test_curves_are_drawn_and_drawn_again_after_a_poll(
    browser: Browser, live_server: LiveServer
) -> None:
    campaign = running()
    page = open_page(browser, live_server)
    page.goto(campaign.get_absolute_url())
    expect(page.locator(".figure.drawn .main-svg").first).to_be_visible()
    factories.mutant(shard=campaign.shards.get(), round=12, mutator="operator.fresh")
    expect(page.locator(".rounds")).to_contain_text("operator.fresh", timeout=20_000)
    expect(page.locator(".figure.drawn .main-svg").first).to_be_visible()


def test_campaign_is_estimated_started_and_cancelled_without_scripts(
    browser: Browser, live_server: LiveServer
) -> None:
    page = open_page(browser, live_server, scripts=False)
    page.goto("/campaigns/new/?preset=one_operator")
    page.get_by_label("Rounds per seed").fill("450")
    page.get_by_role("button", name="Show estimate").click()
    expect(page.locator("#estimate")).to_contain_text("about 7 h 00 min")
    page.get_by_role("button", name="Start campaign").click()
    expect(page.locator("form .errorlist")).to_contain_text("Name the operator")
    page.get_by_label("Only these operators").fill("softmax")
    page.get_by_role("button", name="Start campaign").click()
    expect(page.locator(".head")).to_contain_text("only softmax")
    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Cancel for good").click()
    expect(page.locator(".head .chip").first).to_have_text("Cancelled")
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_label("Only these operators")).to_have_value("softmax")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_serious_accessibility_fault_and_fit_the_screen(
    browser: Browser, live_server: LiveServer, theme: str, width: int
) -> None:
    campaign, other = running(), factories.campaign(status="paused")
    Campaign.objects.filter(pk=other.pk).update(problem="the disk is full")
    page = open_page(browser, live_server)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    paths = [
        "/campaigns/?status=live",
        "/campaigns/new/?preset=one_operator",
        f"{other.get_absolute_url()}clone/",
        campaign.get_absolute_url(),
        other.get_absolute_url(),
        f"{campaign.get_absolute_url()}rounds/",
        f"/campaigns/shards/{campaign.shards.get().uuid}/3/",
        f"/campaigns/compare/?first={campaign.uuid}&second={other.uuid}",
        "/campaigns/environments/",
    ]
    faults = []
    for path in paths:
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
