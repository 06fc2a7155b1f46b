"""Takes pictures of every page of a running product, as PNG files of few colours.

    python scripts/screenshots.py http://127.0.0.1:8000 docs/screenshots --user admin

The password is read from FLOWMUT_PASSWORD, else asked for. Pages are found as a person finds
them, by following links; one that the product has nothing to show on is passed over.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getpass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from flowmut_web import machine

__all__ = ["main"]

WIDTHS = (1440, 390)
HEIGHT = {1440: 900, 390: 844}
COLOURS = 96
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class Shot:
    """A page: a path, or what an element says that is found on another page.

    `on`: a path, or the name of an earlier shot. `address` is made of what the element says
    (`found`), the page it stands on (`here`) and earlier shots. Without themes there is no picture.
    """

    name: str
    path: str
    on: str = ""
    themes: tuple[str, ...] = ("light",)
    address: str = "{found}"


BOTH = ("light", "dark")
_ROW = "tr[data-row] a.title"
SHOTS = (
    Shot("overview", "/", themes=BOTH),
    Shot("inbox", "/triage/?status=all", themes=BOTH),
    Shot("bucket", _ROW, "inbox", BOTH),
    Shot("diff", "a[href*='/graph/']", "bucket", BOTH),
    Shot("known_limit", "a[href$='/rule/']", "bucket", address="{here}limit/"),
    Shot("full_bucket", _ROW, "/triage/?status=all&sort=-count", ()),
    Shot("rule", "a[href$='/rule/']", "full_bucket"),
    Shot("split", "[name=member]", "full_bucket", address="{here}split/?member={found}"),
    Shot("first", "[name=picked]", "inbox", (), "/triage/merge/?picked={found}"),
    Shot("merge", "[name=picked] >> nth=1", "inbox", address="{first}&picked={found}"),
    Shot("suppressions", "/triage/suppressions/"),
    Shot("saved_views", "/triage/views/"),
    Shot("reports", "/triage/reports/"),
    Shot("report", _ROW, "reports", BOTH),
    Shot("report_board", "/triage/reports/board/"),
    Shot("report_mapping", "/triage/reports/mapping/"),
    Shot("templates", "/triage/reports/templates/"),
    Shot("template", _ROW, "templates", BOTH),
    Shot("template_version", "#versions a.title", "template"),
    Shot("campaigns", "/campaigns/", themes=BOTH),
    Shot("new_campaign", "/campaigns/new/", themes=BOTH),
    Shot("live_campaign", _ROW, "/campaigns/?status=running", BOTH),
    Shot("campaign", f"{_ROW} >> nth=-1", "/campaigns/?status=finished"),
    Shot("rounds", "a[href$='/rounds/']", "campaign"),
    Shot("failing", "a[href$='/rounds/']", "campaign", (), "{found}?verdict=fail"),
    Shot("round", "[data-row] a[href*='/shards/']", "failing"),
    Shot("one", "a[href*='/compare/?']", "campaign", ()),
    Shot("compare", "[name=second] option >> nth=1", "one", address="{here}&second={found}"),
    Shot("environments", "/campaigns/environments/"),
    Shot("versions", "/triage/versions/"),
    Shot("submissions", "/triage/submissions/"),
    Shot("mutations", "/catalogue/mutations/?sort=-findings", themes=BOTH),
    Shot("mutation", _ROW, "mutations"),
    Shot("operators", "/catalogue/operators/?sort=-findings"),
    Shot("operator", _ROW, "operators"),
    Shot("seeds", "/catalogue/seeds/"),
    Shot("seed", "tr[data-row] a[href$='_compact/']", "seeds"),
    Shot("seed_graph", "a[href*='/graph/']", "seed"),
    Shot("account", "/account/"),
    Shot("api", "/api/docs/"),
)


def found_paths(page: Page) -> dict[str, str]:
    """Where each shot is in this product; those that it has nothing for are left out."""
    paths: dict[str, str] = {}
    for shot in SHOTS:
        if not shot.on:
            paths[shot.name] = shot.path
            continue
        here = paths.get(shot.on, shot.on)
        if not here.startswith("/"):
            continue
        page.goto(here)
        elements = page.locator(shot.path)
        if not elements.count():
            print(f"nothing to show: {shot.name}")
            continue
        found = elements.first.get_attribute("href") or elements.first.get_attribute("value")
        paths[shot.name] = shot.address.format(here=here, found=found, **paths)
    return paths


def log_in(page: Page, *, user: str, password: str) -> None:
    page.goto("/account/login/")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(password)
    page.locator("main button").click()
    page.wait_for_url(lambda address: "/login/" not in address)


_SWAP = """(pairs) => {
  const swap = (text) => pairs.reduce((now, [from, to]) => now.replaceAll(from, to), text);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = swap(walk.currentNode.data);
  for (const one of document.querySelectorAll("textarea")) one.value = swap(one.value);
}"""


def take(page: Page, path: str, target: Path, *, swaps: list[list[str]], tallest: int) -> None:
    """One picture, as high as the page is but not above `tallest`."""
    page.goto(path, wait_until="networkidle")
    page.evaluate(_SWAP, swaps)
    size = page.viewport_size
    assert size is not None
    high = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(high, tallest)}
    seen = page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
    image = Image.open(BytesIO(seen)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


def shots(
    browser: Browser, address: str, *, user: str, password: str
) -> Iterator[tuple[str, Page, str]]:
    """Name of the file, the page to take it with, and the path."""
    for theme in BOTH:
        for width in WIDTHS:
            context = browser.new_context(
                base_url=address,
                color_scheme=theme,  # type: ignore[arg-type]
                viewport={"width": width, "height": HEIGHT[width]},
            )
            page = context.new_page()
            yield f"login_{width}_{theme}", page, "/account/login/"
            log_in(page, user=user, password=password)
            paths = found_paths(page)
            for shot in SHOTS:
                if shot.name in paths and theme in shot.themes:
                    yield f"{shot.name}_{width}_{theme}", page, paths[shot.name]
            context.close()


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    given.add_argument("address", help="of the product, such as http://127.0.0.1:8000")
    given.add_argument("folder", type=Path, help="where the pictures go")
    given.add_argument("--user", default="admin")
    given.add_argument(
        "--swap", nargs="*", default=[], metavar="TEXT=TEXT", help="shown in place of another"
    )
    given.add_argument(
        "--tallest", type=int, default=2000, help="pixels; what is further down is cut off"
    )
    given.add_argument("--only", nargs="*", default=[], help="names of pages, such as inbox")
    options = given.parse_args()
    password = os.environ.get("FLOWMUT_PASSWORD") or getpass(f"Password of {options.user}: ")
    swaps = [one.split("=", 1) for one in options.swap]
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=machine.browser(), args=ARGUMENTS)
        pages = shots(browser, options.address, user=options.user, password=password)
        for name, page, path in pages:
            if not options.only or name.rsplit("_", 2)[0] in options.only:
                target = options.folder / f"{name}.png"
                take(page, path, target, swaps=swaps, tallest=options.tallest)
                print(f"{target} {target.stat().st_size // 1024} KB")
        browser.close()


if __name__ == "__main__":
    main()
