"""The pictures of docs/screenshots.md: all there, small, of valid scenarios, and the same for the same page."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from benchmarks.gallery import document, states
from benchmarks.taking import small
from slmopt.figures import theme
from slmopt.specs.scenario import Scenario
from tests.shared import ROOT

DOCS = ROOT / "docs"
OTHERS = {"pins", "present", "sizes"}


def test_the_page_shows_every_picture_and_no_other():
    assert (DOCS / "screenshots.md").read_text(encoding="utf-8") == document(states(), "screenshots")
    kept = {one.name for one in (DOCS / "screenshots").iterdir()}
    assert kept == {state.file for state in states()}


def test_pictures_stay_small():
    sizes = [one.stat().st_size for one in (DOCS / "screenshots").iterdir()]
    assert max(sizes) < 65_000
    assert sum(sizes) < 1_500_000


@pytest.mark.parametrize("state", states(), ids=lambda state: state.name)
def test_addresses_hold_what_the_scenario_knows(state):
    assert set(state.query) <= set(Scenario.model_fields) | OTHERS
    assert len(state.see) < 130


def test_a_small_picture_keeps_rare_hues_and_its_bytes():
    pixels = np.full((80, 80, 3), 255, np.uint8)
    pixels[:, :40] = np.random.default_rng(1).integers(200, 255, (80, 40, 3))
    red = tuple(bytes.fromhex(theme.CATEGORICAL["light"][5].removeprefix("#")))
    pixels[0, 79] = red
    png = BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    written = small(png.getvalue(), "light")
    assert written == small(png.getvalue(), "light")
    with Image.open(BytesIO(written)) as read:
        shown = read.convert("RGB")
        assert shown.getpixel((79, 0)) == red
        assert shown.getpixel((60, 40)) == (255, 255, 255)
        assert len(shown.getcolors(10_000) or []) <= 64
