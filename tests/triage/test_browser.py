"""What scripts add, in a real browser, and that everything works without them."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, open_page
from tests.triage.graphs import chain
from triage.models import Bucket

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_keys_walk_pick_and_open(browser: Browser, live_server: LiveServer) -> None:
    for title in ("one", "two", "three"):
        factories.bucket(title=title)
    page = open_page(browser, live_server)
    page.goto("/triage/?sort=title")
    for key in ("j", "j", "k", "x"):
        page.keyboard.press(key)
    expect(page.locator("tr.at .title")).to_have_text("one")
    expect(page.locator("[data-picked]")).to_have_text("1 picked:")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    expect(page.locator("h1")).to_have_text("one")


def test_status_changes_in_place_and_undo_takes_it_back(
    browser: Browser, live_server: LiveServer
) -> None:
    bucket = factories.bucket(title="exp is wrong")
    page = open_page(browser, live_server)
    page.goto("/triage/")
    page.get_by_label("Status of exp is wrong").select_option("confirmed")
    expect(page.locator("#messages")).to_contain_text("1 bucket changed.")
    assert Bucket.objects.get(pk=bucket.pk).status == "confirmed"
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("Undone for 1 bucket.")
    assert Bucket.objects.get(pk=bucket.pk).status == "new"


def test_script_is_copied_and_picture_zooms(browser: Browser, live_server: LiveServer) -> None:
    bucket = factories.bucket()
    page = open_page(browser, live_server)
    page.goto(bucket.get_absolute_url())
    page.locator("[data-copy=script-source]").click()
    expect(page.locator("[data-copy=script-source]")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == factories.SCRIPT.strip()
    picture = page.locator("[data-panzoom] svg.graph").first
    before = float(picture.get_attribute("width") or 0)
    page.locator("[data-zoom=in]").first.click()
    assert float(picture.get_attribute("width") or 0) > before
    page.locator("[data-panzoom]").first.focus()
    page.keyboard.press("-")
    assert float(picture.get_attribute("width") or 0) == pytest.approx(before)


def test_data_flow_is_walked_by_keys_and_swapped_in_place(
    browser: Browser, live_server: LiveServer
) -> None:
    long_way = {
        "parent_text": chain(40),
        "mutant_text": chain(40, changed_at=20),
        "changed": ("v20",),
    }
    record = factories.finding(**long_way)
    page = open_page(browser, live_server)
    page.goto(f"{record.get_absolute_url()}graph/")
    page.evaluate("window.stays = true")
    # One node is in the order of Tab: what changed. Arrows walk on, Enter chooses.
    page.locator("[data-panzoom]").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#graph-n-v20")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#graph-n-v21")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#graph-chosen h3")).to_contain_text("v21 = relu")
    expect(page.locator("#graph-n-v21")).to_be_focused()
    # A fold opens, and the focus is on its first node.
    page.locator("#graph-f-v23").click()
    expect(page.locator("#graph-n-v23")).to_be_focused()
    expect(page.locator("#graph-f-x")).to_be_visible()
    # Search chooses the first that is found.
    page.get_by_role("searchbox").fill("v5")
    page.keyboard.press("Enter")
    expect(page.locator("#graph-n-v5")).to_have_class("g-node same chosen hit-by-search")
    page.go_back()
    expect(page.locator("#graph-f-x")).to_be_visible()
    page.locator("body").press("[")
    expect(page.locator(".steps [aria-current]")).to_contain_text("swap_binary.sub")
    assert page.evaluate("window.stays")


def test_data_flow_needs_no_scripts(browser: Browser, live_server: LiveServer) -> None:
    record = factories.finding(parent_text=chain(40), mutant_text=chain(40, changed_at=20))
    page = open_page(browser, live_server, scripts=False)
    page.goto(f"{record.get_absolute_url()}graph/")
    page.locator("#graph-f-v23").click()
    page.locator("#graph-n-v25").click()
    expect(page.locator("#graph-chosen h3")).to_contain_text("v25 = relu")
    page.get_by_role("searchbox").fill("tanh")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("#graph-n-v20")).to_have_class("g-node changed chosen hit-by-search")
    page.get_by_role("link", name="← previous").click()
    expect(page.locator(".steps [aria-current]")).to_contain_text("swap_binary.sub")


def test_preview_follows_what_is_typed(browser: Browser, live_server: LiveServer) -> None:
    report = factories.report()
    page = open_page(browser, live_server)
    page.goto(report.get_absolute_url())
    page.locator("#id_title").fill("A better title")
    page.locator("#id_title").press("End")
    expect(page.locator("#preview")).to_contain_text("A better title")


def test_live_page_refreshes_itself_and_stops_when_the_campaign_ended(
    browser: Browser, live_server: LiveServer
) -> None:
    campaign = factories.campaign(status="running")
    page = open_page(browser, live_server)
    page.goto(campaign.get_absolute_url())
    campaign.status = "finished"
    campaign.save()
    expect(page.locator("#live .chip").first).to_have_text("Finished", timeout=20_000)
    assert page.locator("[data-poll]").count() == 0


def test_everything_can_be_done_without_scripts(browser: Browser, live_server: LiveServer) -> None:
    bucket = factories.bucket(title="exp is wrong")
    page = open_page(browser, live_server, scripts=False)
    page.goto("/triage/")
    page.get_by_label("Status of exp is wrong").select_option("confirmed")
    page.get_by_role("button", name="Set", exact=True).first.click()
    expect(page.locator("#messages")).to_contain_text("1 bucket changed.")
    page.goto(bucket.get_absolute_url())
    page.get_by_role("button", name="Draft report").click()
    expect(page.locator("h1")).to_contain_text("[torch.compile] exp is wrong")
    page.get_by_label("Address of the issue").fill("https://github.com/pytorch/pytorch/issues/7")
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.locator(".head")).to_contain_text("Reported")


def test_keys_walk_from_bucket_to_bucket(browser: Browser, live_server: LiveServer) -> None:
    for title in ("one", "three", "two"):
        factories.bucket(title=title)
    page = open_page(browser, live_server)
    page.goto("/triage/?sort=title")
    page.get_by_role("link", name="one").click()
    expect(page.locator("h1")).to_have_text("one")
    for key, title in (("n", "three"), ("n", "two"), ("n", "two"), ("p", "three")):
        page.wait_for_load_state("load")  # the script listens from then on
        page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text(title)
    expect(page.locator(".walk")).to_contain_text("2 of 3")


def test_result_of_a_rerun_comes_in_by_itself(browser: Browser, live_server: LiveServer) -> None:
    record = factories.finding()
    page = open_page(browser, live_server)
    page.goto(record.get_absolute_url())
    page.get_by_role("button", name="Run again", exact=True).click()
    said = page.locator("#rerun [role=status]")
    expect(said).to_contain_text("waits for a worker")
    rerun = record.reruns.get()
    result = {"reason": "", "seconds": 2.0, "output": "AssertionError", "returncode": 1}
    rerun.results = [{"ending": "reproduced", **result}]
    rerun.state, rerun.attempts = "finished", 1
    rerun.save()
    expect(said).to_contain_text("Reproduced 1 of 1", timeout=20_000)
    assert page.locator("[data-poll]").count() == 0
    page.get_by_text("What it printed last").click()
    expect(said.locator("pre")).to_have_text("AssertionError")


def test_rerun_needs_no_scripts(browser: Browser, live_server: LiveServer) -> None:
    record = factories.finding()
    page = open_page(browser, live_server, scripts=False)
    page.goto(record.get_absolute_url())
    page.get_by_role("button", name="Run again", exact=True).click()
    expect(page.locator("#rerun [role=status]")).to_contain_text("waits for a worker")
    page.get_by_role("link", name="Reload").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#rerun [role=status]")).to_contain_text("Cancelled")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_serious_accessibility_fault(
    browser: Browser, live_server: LiveServer, theme: str
) -> None:
    campaign = factories.campaign(status="running")
    shard = factories.shard(campaign=campaign, recorded_rounds=1, rejected_reasons={"no": 2})
    factories.mutant(shard=shard, round=0)
    report = factories.report(bucket=factories.bucket(shard=shard))
    factories.rerun(finding=report.finding, endings=["reproduced", "passed", "could not run"])
    report.bucket.notes.create(text="a", author=factories.user())
    page = open_page(browser, live_server)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    paths = [
        "/campaigns/",
        "/campaigns/new/",
        "/campaigns/environments/",
        campaign.get_absolute_url(),
        "/triage/?symptom=numerical",
        "/",
        report.bucket.get_absolute_url(),
        f"{report.finding.get_absolute_url()}graph/?node=v0",
        "/triage/reports/",
        report.get_absolute_url(),
        "/account/",
    ]
    faults = []
    for path in paths:
        page.goto(path)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        faults += [
            (path, one["id"], one["nodes"][0]["html"][:120])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is wider than the screen"
    assert faults == []
