"""What tests in a real browser share: Chromium, and pages of somebody who is logged in."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from flowmut_web import machine
from tests import factories

__all__ = ["browser", "logged_in", "open_page"]

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. Its driver runs a loop of its own, in which Django would refuse to query."""
    with sync_playwright() as driver:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        found = driver.chromium.launch(executable_path=machine.browser(), args=ARGUMENTS)
        yield found
        found.close()
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def open_page(browser: Browser, live_server: LiveServer, *, scripts: bool = True) -> Page:
    """A page of somebody who is logged in; an error in a script fails the test."""
    context = browser.new_context(java_script_enabled=scripts, base_url=live_server.url)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return logged_in(context, live_server)


def logged_in(context: BrowserContext, live_server: LiveServer) -> Page:
    """The same in a context of one's own."""
    client = Client()
    client.force_login(factories.user("ada"))
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"{page.url}: {error}"))
    return page
