"""The whole life of reports in a real browser, against a tracker on this machine.

From the draft to verified fixed and back; beside it one that is a duplicate, one that is refused
and one that moves. Without scripts the same forms are sent by `test_life.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import LazySettings
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, open_page
from tests.tracker_server import Fault, Issue, Pull, TrackerServer, tracker_settings, tracking
from triage.following import FollowHint
from triage.models import Following, Report
from triage.polling import follow_report

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PLACE = "pytorch/pytorch"


@pytest.fixture
def tracker(settings: LazySettings) -> Iterator[TrackerServer]:
    with tracking() as running:
        settings.TRACKERS = tracker_settings(running)
        yield running


def poll() -> None:
    """What workers do in the course of an hour."""
    Following.objects.update(next_at=timezone.now())
    for one in Following.objects.all():
        hint = FollowHint.of(one)
        assert follow_report(hint.following, due=hint.due)


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


def draft_and_link(page: Page, tracker: TrackerServer, number: str, title: str) -> Issue:
    """From the bucket's button to the linked issue, which a person has filed meanwhile."""
    bucket = factories.bucket(title=title, status="confirmed")
    page.goto(bucket.get_absolute_url())
    page.get_by_role("button", name="Draft report").first.click()
    issue = tracker.add("github", PLACE, number, title)
    page.get_by_label("Address of the issue").fill(tracker.address(issue))
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.locator(".head .chip").first).to_have_text("Reported")
    return issue


def take_over(page: Page, status: str) -> None:
    """The tracker has said something: one click makes it ours."""
    poll()
    page.reload()
    callout = page.locator(".callout.flag", has_text=f"{status}?")
    expect(callout).to_be_visible()
    callout.get_by_role("button", name="Take it over").click()
    expect(page.locator(".head .chip").first).to_have_text(status)
    expect(page.locator(".callout.flag")).to_have_count(0)


def move_on_the_board(page: Page, report: Report, to: str) -> None:
    """With the keyboard alone."""
    page.goto("/triage/reports/board/")
    card = page.locator(f"#report-{report.uuid}")
    card.locator("summary").focus()
    page.keyboard.press("Enter")
    button = card.get_by_role("button", name=to, exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if button.evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/board/?*#report-{report.uuid}")


def live_to_verified_and_back(page: Page, tracker: TrackerServer) -> None:
    issue = draft_and_link(page, tracker, "101", "exp of NaN")
    report = Report.objects.get(upstream_id="101")
    check(page)
    issue.labels = ["triaged"]
    take_over(page, "Routed")
    issue.labels = ["triaged", "needs reproduction"]
    take_over(page, "Needs info")
    issue.labels = ["triaged", "actionable"]
    take_over(page, "Confirmed")
    issue.mention(Pull(9, "Mend exp", "Fixes #101"))
    take_over(page, "In progress")
    expect(page.locator("#upstream")).to_contain_text("Mend exp")
    check(page)
    issue.close("completed")
    take_over(page, "Fix claimed")
    move_on_the_board(page, report, "Fixed, verified")
    expect(page.locator("#messages")).to_contain_text("Nothing has verified the fix yet")
    factories.verified(report.bucket)
    move_on_the_board(page, report, "Fixed, verified")
    lane = page.get_by_role("region", name="Fixed, verified")
    expect(lane).to_contain_text("exp of NaN")
    check(page)
    issue.pulls[0].state = "closed"
    issue.reopen()
    page.goto(report.get_absolute_url())
    take_over(page, "Regressed")
    history = page.locator(".history").last
    for said in ("Linked", "Observed", "Proposed", "Moved: fixed → regressed"):
        expect(history).to_contain_text(said)


def be_a_duplicate(page: Page, tracker: TrackerServer) -> None:
    original = tracker.add("github", PLACE, "50", "the original")
    issue = draft_and_link(page, tracker, "102", "log of zero")
    issue.say("maintainer", "Duplicate of #50")
    issue.close("duplicate")
    take_over(page, "Duplicate")
    expect(page.locator("#upstream")).to_contain_text(tracker.address(original))
    original.close("completed")
    take_over(page, "Fix claimed")


def be_refused_and_disagree(page: Page, tracker: TrackerServer) -> None:
    issue = draft_and_link(page, tracker, "103", "sin of infinity")
    issue.close("not_planned")
    poll()
    page.reload()
    page.get_by_role("button", name="Keep “reported”").click()
    expect(page.locator(".callout.flag")).to_have_count(0)
    expect(page.locator(".head .chip").first).to_have_text("Reported")
    expect(page.locator("#upstream")).to_contain_text("We say “reported”.")
    move_on_the_board(page, Report.objects.get(upstream_id="103"), "Rejected")
    expect(page.get_by_role("region", name="Rejected")).to_contain_text("sin of infinity")


def move_away_and_vanish(page: Page, tracker: TrackerServer) -> None:
    issue = draft_and_link(page, tracker, "104", "cos of nothing")
    old = tracker.address(issue)
    tracker.move(issue, place="pytorch/inductor", number="31")
    poll()
    page.reload()
    page.get_by_role("button", name="Link it there").click()
    expect(page.locator("#messages")).to_contain_text("the old one is kept")
    expect(page.locator("#upstream")).to_contain_text(old)
    expect(page.locator(".head .chips")).to_contain_text("31 upstream")
    tracker.faults.append(Fault("issues/31", 410))
    poll()
    page.reload()
    expect(page.locator("#upstream .callout.problem")).to_contain_text("410")
    expect(page.locator("#upstream")).to_contain_text("What is shown was seen")
    check(page)


def test_life(browser: Browser, live_server: LiveServer, tracker: TrackerServer) -> None:
    page = open_page(browser, live_server)
    page.set_viewport_size({"width": 1440, "height": 900})
    live_to_verified_and_back(page, tracker)
    be_a_duplicate(page, tracker)
    be_refused_and_disagree(page, tracker)
    move_away_and_vanish(page, tracker)
    statuses = dict(Report.objects.values_list("upstream_id", "status"))
    assert statuses == {
        "101": "regressed",
        "102": "fix_claimed",
        "103": "rejected",
        "31": "reported",
    }
    page.goto("/triage/reports/")
    expect(page.locator("tr[data-row]")).to_have_count(4)
    expect(page.get_by_role("region", name="Asks for a person")).to_contain_text(
        "cannot be followed"
    )
    check(page)
    page.goto("/triage/reports/mapping/")
    check(page)
    page.context.close()
