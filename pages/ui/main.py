"""The entry script: the frame around every page. Streamlit runs it on each interaction, then the page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.ui import (
    beginning,
    chart,
    fields,
    handing,
    login,
    measures,
    panel,
    parts,
    present,
    reading,
    sitemap,
    state,
    turns,
)
from slmopt.words import units
from slmopt.words.measured_rows import marked

HERE = Path(__file__).resolve().parent


def navigation() -> st.Page:
    """The top bar; the page that the address asks for."""
    first, *others = sitemap.PAGES
    pages = [
        st.Page(first.file, title=first.title, url_path="start", default=True),
        *(st.Page(page.file, title=page.title, url_path=page.url_path) for page in others),
    ]
    # The default page answers at the root only; links to its own address are as good.
    named = st.Page(first.file, title=first.title, url_path=first.url_path, visibility="hidden")
    return st.navigation([*pages, named], position="top")


def main() -> None:
    """Draw the frame, the page and the panel: the page first, so that its figures are painted before the fields."""
    st.set_page_config(page_title="slmopt", page_icon=str(HERE / "assets" / "icon.svg"), layout="wide")
    login.ask()
    page = navigation()
    beginning.settle()
    units.use(measures.chosen())
    # By its address: the picture itself would come along with every run.
    st.logo("/app/static/logo.svg")
    st.html(beginning.style())
    endless = fields.endless()
    if endless:
        _go_anew(page, endless)
    chart.begin_page()
    # The default page's own address is empty.
    state.enter(page.url_path or sitemap.PAGES[0].url_path)
    present.stage()
    if not state.panel_stands():
        # Only drawn fields take what the address says.
        _panel(None)
        state.offer(reading.values())
        _page(page)
        return
    held = reading.values()
    state.offer(held)
    try:
        _page(page)
    finally:
        _panel(held)
    if reading.values() != held:
        st.rerun()


def _go_anew(page: st.Page, without: Mapping[str, str]) -> None:
    """To the page, these left out of its address; where that cannot be, a sentence says why: no field could be drawn."""
    kept = {name: text for name, text in st.query_params.items() if name not in without}
    try:
        st.switch_page(page, query_params=kept)
    except StreamlitAPIException:
        # Back in the browser's history, while fields that stand in the address hold something.
        told = " and ".join(f"{name} = {marked(text, 40)}" for name, text in without.items())
        parts.error_box(
            f"This address says {told}, which no field can hold: go forward again, or take it out."
        )
        st.stop()


def _panel(held: Mapping[str, Any] | None) -> None:
    with st.sidebar:
        panel.scenario_panel(held)
    state.panel_drawn()


def _page(page: st.Page) -> None:
    with st.container(key="slm_page", width=1100, gap=26):
        # The page keeps its place whether or not something is said above it, and its figures the reader's zoom.
        notices = st.container(gap=26)
        problem = state.error()
        with notices:
            for key, sentence in state.unknown().items():
                parts.error_box(sentence, f"slm_unknown_{key}")
            handing.arrival()
            if problem:
                parts.error_box(problem)
                parts.last_valid()
        with st.container(key="slm_body", gap=26):
            page.run()


with turns.TURNS.turn():
    main()
