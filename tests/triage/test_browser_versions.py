"""Versions, environments and submitted scripts in a real browser: accessible, at every width."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests import factories
from tests.browsing import browser, logged_in, open_page
from triage.models import Bucket, Rerun, Submission

__all__ = ["browser"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VERSIONS = ("2.10.0", "2.11.0", "2.12.0", "2.14.0", "2.15.0.dev20261120+cpu")
# By bucket, what each of the versions says: as in `test_versions.ran`.
HISTORIES = {
    "torch.exp: torch.compile gives a wrong value for NaN": "p p f ppppp ppppp",
    "torch.tan loses a gradient": "f f f f f",
    "Tensor.round: raises for decimals": "p p p n n",
    "torch.nn.functional.softshrink: NaN becomes 0": "f p f p -",
    "torch.bmm: int8 becomes int64": "- - - ppppp f",
}


def rows() -> list[Bucket]:
    """Environments, and buckets whose scripts ran on them."""
    factories.environment("torch", "2.13.0+cpu")
    factories.environment("mindspore", "2.10.0")
    for version in VERSIONS:
        name = "torch nightly" if "dev" in version else f"torch {version}"
        factories.environment(name, version, spec=f"torch=={version}", folder="/srv/envs/x")
    factories.environment("torch broken", problem="environment torch broken: saw no file /x")
    return [bucket(title, history) for title, history in HISTORIES.items()]


def bucket(title: str, history: str) -> Bucket:
    words = {"f": "reproduced", "p": "passed", "n": "could not run"}
    made = factories.bucket(title=title)
    for at, (version, endings) in enumerate(zip(VERSIONS, history.split(), strict=True)):
        if endings == "-":
            continue
        factories.rerun(
            finding=made.findings.first(),
            attempts=len(endings),
            endings=[words[one] for one in endings],
            state=Rerun.State.FAILED if endings == "n" else Rerun.State.DONE,
            problem="ModuleNotFoundError: No module named 'torch.foo'" if endings == "n" else "",
            versions={"torch": version},
            ended_at=timezone.now() - timedelta(hours=10 - at),
        )
    return made


def submissions() -> Submission:
    """One that became a finding, one that is none, one that waits."""
    text = "import torch\nassert torch.exp(torch.zeros(1)) == 2, 'exp of 0 is 1'\n"
    fields = {"text": text, "kind": "script", "framework": "torch", "name": "exp.py"}
    Submission.objects.create(**fields)
    Submission.objects.create(
        **fields, state="finished", reason="The assertion holds: passed 3 of 3."
    )
    return Submission.objects.create(
        **fields,
        state="finished",
        isolation="no network",
        answers=[
            {"mode": "attempt 1", "status": "raised", "summary": "exp of 0 is 1", "detail": "..."},
            {"mode": "attempt 2", "status": "ok", "summary": "nothing is wrong", "detail": ""},
        ],
    )


def pages() -> dict[str, str]:
    one, *rest = rows()
    return {
        "versions": reverse("triage:list-versions"),
        "versions_empty": f"{reverse('triage:list-versions')}?framework=mindspore",
        "bucket": f"{one.get_absolute_url()}#versions",
        "bucket_comes_and_goes": f"{rest[2].get_absolute_url()}#versions",
        "bucket_regressed": f"{rest[3].get_absolute_url()}#versions",
        "environments": reverse("campaigns:list-environments"),
        "submissions": reverse("triage:list-submissions"),
        "submission": submissions().get_absolute_url(),
    }


@pytest.mark.parametrize(("theme", "width"), [("dark", 390), ("light", 1440)])
def test_pages_are_accessible_and_fit(
    browser: Browser, live_server: LiveServer, settings: Settings, theme: str, width: int
) -> None:
    settings.SCRIPT_UPLOAD = True
    shown = pages()
    context = browser.new_context(
        base_url=live_server.url,
        color_scheme=theme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = logged_in(context, live_server)
    _administrator()
    for name, path in shown.items():
        page.goto(path)
        _keep(page, f"{name}_{width}_{theme}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} pixels wide"
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    context.close()


def _administrator() -> None:
    User.objects.filter(username="ada").update(is_staff=True)


def _keep(page: Page, name: str) -> None:
    """A picture for a person to look at, where TEST_PICTURES names a folder."""
    folder = os.environ.get("TEST_PICTURES")
    if folder:
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)


def test_runs_are_asked_for_in_place(browser: Browser, live_server: LiveServer) -> None:
    _, known, *_, one = rows()
    page = open_page(browser, live_server)
    page.goto(known.get_absolute_url())
    panel = page.locator("#versions")
    panel.get_by_role("button", name="Search first bad and good").click()
    expect(panel.get_by_text("No installed version is left")).to_be_visible()
    page.goto(one.get_absolute_url())
    panel.locator("[name=environment]").select_option(label="torch 2.11.0 2.11.0")
    panel.get_by_role("button", name="Run there").click()
    expect(panel.get_by_text("1 run waiting")).to_be_visible()
    panel.get_by_role("button", name="Search first bad and good").click()
    expect(panel.get_by_role("button", name="Cancel the search")).to_be_visible()
    panel.get_by_role("button", name="Cancel the search").click()
    expect(panel.get_by_role("button", name="Cancel the search")).to_have_count(0)
    assert page.url == f"{live_server.url}{one.get_absolute_url()}", "the page stayed"
    page.context.close()


def test_matrix_works_without_scripts(browser: Browser, live_server: LiveServer) -> None:
    one = rows()[0]
    page = open_page(browser, live_server, scripts=False)
    page.goto(reverse("triage:list-versions"))
    page.get_by_label(f"Pick {one.title}").check()
    page.locator("[name=environment]").select_option(label="torch 2.11.0 2.11.0")
    page.get_by_role("button", name="Run the picked buckets there").click()
    expect(page.get_by_text("1 run queued.")).to_be_visible()
    page.context.close()
