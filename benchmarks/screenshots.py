"""`make screenshots`: the pictures of docs/screenshots.md, each page in its main states, and that page itself.

    python -m benchmarks.screenshots [--only NAME]
    python -m benchmarks.screenshots --all [--out FOLDER] [--page NAME] [--query 'batch=8'] [--open]

The same dashboard on the same machine gives the same files. `--all` pictures every page for a look at them, wide and
narrow, light and dark, as high as the page is, into screenshots/, which is not kept. On narrow screens the panel starts
closed, so it is pictured once more, open.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks import gallery
from benchmarks.gallery import Scheme
from benchmarks.taking import context_for, grow, picture
from tests.browser import chromium
from tests.browser.driver import NARROW, WIDE, Driver, launch
from tests.browser.pages import URL_PATHS, name
from tests.browser.server import dashboard
from tests.shared import ROOT

SIZES = {"wide": WIDE, "narrow": NARROW}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
KEPT = ROOT / "docs" / "screenshots"


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
            grow(driver, width, height)
            driver.screenshot(self.out / f"{name(path)}-{size}-{scheme}.png")
            complaints += [f"{name(path)}, {size}, {scheme}: {text}" for text in driver.exceptions()]
        if size == "narrow":
            driver.open_sidebar()
            grow(driver, width, height)
            driver.screenshot(self.out / f"panel-{size}-{scheme}.png")
        complaints += driver.errors
        context.close()
        return complaints


def _tour(browser: Browser, address: str, asked: argparse.Namespace) -> list[str]:
    paths = [path for path in URL_PATHS if not asked.page or name(path) in asked.page]
    tour = Tour(address, paths, dict(parse_qsl(asked.query)), asked.open, asked.out)
    complaints: list[str] = []
    for size in SIZES:
        for scheme in SCHEMES:
            found = tour.take(browser, size, scheme)
            print("\n".join([f"  {len(paths)} pages, {size}, {scheme}", *(f"    {text}" for text in found)]))
            complaints += found
    return complaints


def _keep(browser: Browser, address: str, asked: argparse.Namespace) -> list[str]:
    states = gallery.states()
    complaints: list[str] = []
    contexts: dict[tuple[gallery.Size, Scheme], BrowserContext] = {}
    for state in states:
        if not asked.only or state.name in asked.only:
            window = (state.size, state.scheme)
            if window not in contexts:
                contexts[window] = context_for(browser, *window)
            complaints += picture(contexts[window], address, state, asked.out)
            print(f"  {state.file}, {(asked.out / state.file).stat().st_size / 1e3:,.0f} kB")
    print("\n".join(f"    {text}" for text in complaints))
    if asked.out == KEPT:
        for gone in {one.name for one in KEPT.glob("*.webp")} - {state.file for state in states}:
            (KEPT / gone).unlink()
        KEPT.with_suffix(".md").write_text(gallery.document(states, KEPT.name), encoding="utf-8")
    return complaints


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Pictures the dashboard.")
    parser.add_argument("--all", action="store_true", help="every page in full, to look at and not to keep")
    parser.add_argument(
        "--out", type=Path, help="folder (default: docs/screenshots/; with --all screenshots/)"
    )
    parser.add_argument(
        "--only", action="append", choices=[state.name for state in gallery.states()], help="only this one"
    )
    tour = parser.add_argument_group("with --all")
    tour.add_argument(
        "--page", action="append", choices=[name(path) for path in URL_PATHS], help="only this page"
    )
    tour.add_argument("--query", default="", help="scenario, as in the address after the question mark")
    tour.add_argument("--open", action="store_true", help="with closed sections opened")
    asked = parser.parse_args()
    asked.out = asked.out or (ROOT / "screenshots" if asked.all else KEPT)
    return asked


def main() -> int:
    """Pictures what was asked for; returns the exit code."""
    asked = _arguments()
    executable = chromium.find()
    if executable is None:
        print("No Chromium: no pictures.", file=sys.stderr)
        return 1
    asked.out.mkdir(parents=True, exist_ok=True)
    with dashboard() as address, sync_playwright() as playwright:
        browser = launch(playwright, executable)
        complaints = (_tour if asked.all else _keep)(browser, address, asked)
        browser.close()
    print(f"Pictures are in {asked.out}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
