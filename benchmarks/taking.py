"""Takes a picture of a page in a state: the same dashboard on the same machine gives the same bytes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageColor
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.gallery import Scheme, Size, State
from slmopt.figures import theme
from tests.browser.driver import NARROW, WIDE, Driver

# A page is pictured as high as it is, up to here: enough to see its figures, and small enough to keep.
_HIGHEST = {"wide": 1480, "narrow": 1480, "stage": 1080}
_WIDTHS = {"wide": WIDE[0], "narrow": NARROW[0], "stage": 1920}
# Few colours and no dither: a page is flat areas and text, and a picture stays below 60 kB.
_COLOURS = 64
_LOOKS = 8
# Ports change from run to run, pictures must not.
_NAME_THE_USUAL_PORT = """
() => document.querySelectorAll('code, code *').forEach((code) => code.childNodes.forEach((node) => {
  if (node.nodeType === Node.TEXT_NODE) node.data = node.data.replace(/127\\.0\\.0\\.1(:\\d+)?/, 'localhost:8501');
}))
"""
# Page and panel scroll inside the window: the higher of the two is what the window must hold. A closed panel is
# narrow, and so very high.
_CONTENT_HEIGHT = """
() => Math.max(...['stMain', 'stSidebarContent'].map((id) => {
  const element = document.querySelector(`[data-testid="${id}"]`);
  return !element || element.getBoundingClientRect().right <= 1 ? 0 : element.scrollHeight;
}))
"""


def context_for(browser: Browser, size: Size, scheme: Scheme) -> BrowserContext:
    """A browser as a visitor with this window has it."""
    return browser.new_context(
        viewport={"width": _WIDTHS[size], "height": _height(size)},
        color_scheme=scheme,
        has_touch=size == "narrow",
        reduced_motion="reduce",
    )


def _height(size: Size) -> int:
    return {"wide": WIDE[1], "narrow": NARROW[1], "stage": 1080}[size]


def picture(context: BrowserContext, address: str, state: State, out: Path) -> list[str]:
    """Writes the state's picture; returns what the browser complained about."""
    page = context.new_page()
    driver = Driver(page, address)
    driver.goto(state.path, **state.query)
    state.act(driver)
    page.evaluate(_NAME_THE_USUAL_PORT)
    grow(driver, _WIDTHS[state.size], _height(state.size), highest=_HIGHEST[state.size])
    # The caret blinks, and what the mouse lies on looks pressed.
    page.mouse.move(0, 0)
    raw = _still(page)
    complaints = [f"{state.name}: {text}" for text in (*driver.exceptions(), *driver.errors)]
    page.close()
    (out / state.file).write_bytes(small(raw, state.scheme))
    return complaints


def _still(page: Page) -> bytes:
    """What the window shows once two looks at it are the same."""
    seen = b""
    for _ in range(_LOOKS):
        last, seen = seen, page.screenshot(animations="disabled", caret="hide")
        if seen == last:
            break
    return seen


def grow(driver: Driver, width: int, height: int, highest: int | None = None) -> None:
    """Makes the window as high as what it shows, and no higher than `highest`."""
    # Twice, since a taller window can lay the page out anew.
    for _ in range(2):
        needed: int = driver.page.evaluate(_CONTENT_HEIGHT)
        wanted = max(height, needed if highest is None else min(needed, highest))
        driver.page.set_viewport_size({"width": width, "height": wanted})
        driver.settle()


def small(png: bytes, scheme: Scheme) -> bytes:
    """A screenshot as WebP of few colours, the same bytes for the same picture.

    The palette holds what fills the page exactly, and the hues that carry a meaning even where they are small.
    """
    with Image.open(BytesIO(png)) as read:
        flat = read.convert("RGB")
    counted = flat.getcolors(flat.width * flat.height) or []
    frequent = [colour for _, colour in sorted(counted, reverse=True)[: _COLOURS - len(theme.SLOTS)]]
    hues = [ImageColor.getrgb(colour)[:3] for colour in theme.CATEGORICAL[scheme]]
    palette = np.array([*frequent, *hues], np.int64)
    pixels = np.asarray(flat, dtype=np.int64)
    seen, where = np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]), return_inverse=True)
    each = np.stack(np.unravel_index(seen, (256, 256, 256)), axis=1)
    nearest = ((each[:, None] - palette[None]) ** 2).sum(axis=2).argmin(axis=1)
    few = Image.fromarray(palette[nearest][where.reshape(pixels.shape[:2])].astype(np.uint8))
    written = BytesIO()
    few.save(written, "WEBP", lossless=True, quality=60, method=4)
    return written.getvalue()
