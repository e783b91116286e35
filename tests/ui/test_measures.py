"""The reader's units on every page: no page shows two, the address carries the choice, the scenario does not change."""

from __future__ import annotations

import html
import re

import pytest

from pages.ui import ahead, fields
from pages.ui.sitemap import PAGES
from slmopt.words import units
from tests.pages.app import figures, go, open_page, said

DECIMAL = re.compile(r"\b[kMGT]B\b(?!/s)")
BINARY = re.compile(r"\b[KMGT]iB\b")
# Method tells the two apart, and explains in the units of its sources; Share names the files' own limits.
BOTH = {"method"}


def _words(app: object) -> str:
    text = said(app) + figures(app)  # type: ignore[arg-type]
    return html.unescape(text.replace("\\302\\240", " "))


@pytest.mark.parametrize("page", [page.url_path for page in PAGES if page.url_path not in BOTH])
@pytest.mark.parametrize("sizes", ["GB", "GiB"])
def test_no_page_mixes_units(page: str, sizes: str):
    app = open_page(f"{page.replace('-', '_')}_page", sizes=sizes, capacity_gb="30")
    wrong = (DECIMAL if sizes == "GiB" else BINARY).findall(_words(app))
    assert wrong == []
    assert app.session_state["capacity_gb"] == 30
    labels = [field.label for field in app.sidebar.number_input if "slm_unseen" not in str(field.proto)]
    assert f"Memory ({sizes}) · changed" in labels


def test_a_field_in_gib_writes_the_scenario_in_gb():
    app = open_page("memory_page", sizes="GiB")
    view = app.sidebar.number_input(key="_view_capacity_gb")
    assert view.value is None
    view.set_value(24.0).run()
    assert app.session_state["capacity_gb"] == pytest.approx(24 * 2**30 / 1e9)
    assert app.sidebar.number_input(key="_view_capacity_gb").value == pytest.approx(24.0)
    go(app, "overview_page")
    assert "24 GiB" in said(app)
    app.sidebar.button_group(key="sizes").set_value("GB").run()
    assert app.sidebar.number_input(key="capacity_gb").value == pytest.approx(25.769803776)
    assert "25.8 GB" in said(app)


def test_what_a_slider_foresees_is_in_the_reader_s_units():
    held = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
    with units.using(units.Units("GiB")):
        (drawn,) = ahead.foreseen("memory", held, "batch", [8])
    assert "GiB" in drawn["memory_what_ifs"]
    assert "slm_unseen" not in drawn
    assert fields.FIELDS["capacity_gb"].label.endswith("(GB)")


def test_readers_of_different_units_share_no_cached_words():
    for sizes, wrong in (("GB", BINARY), ("GiB", DECIMAL), ("GB", BINARY)):
        assert wrong.findall(_words(open_page("plan_page", sizes=sizes))) == []
