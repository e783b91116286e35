"""`make screenshots`: pictures every page, wide and narrow, light and dark, as high as the page is.

    python -m benchmarks.screenshots [--out FOLDER] [--page NAME] [--query 'batch=8'] [--open]

Looks at the dashboard as a person does: the browser prefers a light or a dark scheme and Streamlit follows. On narrow
screens the panel starts closed, so it is pictured once more, open.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl

from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium
from tests.browser.driver import NARROW, WIDE, Driver, launch
from tests.browser.pages import URL_PATHS, name
from tests.browser.server import dashboard
from tests.shared import ROOT

SIZES = {"wide": WIDE, "narrow": NARROW}
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

# Page and panel scroll inside the window: the higher of the two is what the window must hold.
_CONTENT_HEIGHT = """
() => Math.max(...['stMain', 'stSidebarContent'].map(
  (id) => document.querySelector(`[data-testid="${id}"]`)?.scrollHeight ?? 0
))
"""


@dataclass(frozen=True)
class Tour:
    """Which pages are pictured, with which scenario, and where the pictures go."""

    address: str
    paths: list[str]
    query: dict[str, str]
    opened: bool
    out: Path

    def take(self, browser: Browser, size: str, scheme: Scheme) -> list[str]:
        """Pictures all pages in one window; returns what the browser complained about."""
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=size == "narrow"
        )
        driver = Driver(context.new_page(), self.address)
        complaints: list[str] = []
        for path in self.paths:
            driver.page.set_viewport_size({"width": width, "height": height})
            driver.goto(path, **self.query)
            if self.opened:
                driver.open_sections()
            _grow(driver, width, height)
            driver.screenshot(self.out / f"{name(path)}-{size}-{scheme}.png")
            complaints += [f"{name(path)}, {size}, {scheme}: {text}" for text in driver.exceptions()]
        if size == "narrow":
            driver.open_sidebar()
            _grow(driver, width, height)
            driver.screenshot(self.out / f"panel-{size}-{scheme}.png")
        complaints += driver.errors
        context.close()
        return complaints


def _grow(driver: Driver, width: int, height: int) -> None:
    # Twice, since a taller window can lay the page out anew.
    for _ in range(2):
        needed: int = driver.page.evaluate(_CONTENT_HEIGHT)
        driver.page.set_viewport_size({"width": width, "height": max(height, needed)})
        driver.settle()


def main() -> int:
    """Pictures the pages asked for, all by default; returns the exit code."""
    parser = argparse.ArgumentParser(description="Pictures every page of the dashboard.")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "screenshots", help="folder (default: screenshots/)"
    )
    parser.add_argument(
        "--page", action="append", choices=[name(path) for path in URL_PATHS], help="only this page"
    )
    parser.add_argument("--query", default="", help="scenario, as in the address after the question mark")
    parser.add_argument("--open", action="store_true", help="with closed sections opened")
    asked = parser.parse_args()
    executable = chromium.find()
    if executable is None:
        print("No Chromium: no pictures.", file=sys.stderr)
        return 1
    asked.out.mkdir(parents=True, exist_ok=True)
    paths = [path for path in URL_PATHS if not asked.page or name(path) in asked.page]
    complaints: list[str] = []
    with dashboard() as address, sync_playwright() as playwright:
        browser = launch(playwright, executable)
        tour = Tour(address, paths, dict(parse_qsl(asked.query)), asked.open, asked.out)
        for size in SIZES:
            for scheme in SCHEMES:
                found = tour.take(browser, size, scheme)
                print(
                    "\n".join([f"  {len(paths)} pages, {size}, {scheme}", *(f"    {text}" for text in found)])
                )
                complaints += found
        browser.close()
    print(f"Pictures are in {asked.out}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
