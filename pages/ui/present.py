"""The presentation: one question a page in large type, turned by keys, with the page's own controls still live."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import chart, sitemap, state

KEY = "present"
_STYLE = Path(__file__).resolve().parent / "assets" / "present.css"


def presenting() -> bool:
    """Whether the pages are being presented."""
    if KEY in st.session_state:
        return bool(st.session_state[KEY])
    # On a visitor's first run the switch is drawn only later.
    return st.query_params.get(KEY) == "true"


def toggle() -> None:
    """The panel's switch; the address carries it, so that a link can open a presentation."""
    st.toggle(
        "Present",
        key=KEY,
        bind="query-params",
        help="Large type and nothing but the page. PageUp and PageDown, or the arrow keys, turn pages; Escape ends.",
    )


def stage() -> None:
    """While presenting: the large style, hidden links to the pages before and after, and the keys that follow them."""
    if not presenting():
        return
    st.html(_STYLE)
    paths = [page.url_path for page in sitemap.PAGES]
    here = state.page_shown()
    at = paths.index(here) if here in paths else 0
    for name, step in (("back", -1), ("on", 1)):
        with st.container(key=f"slm_turn_{name}"):
            st.page_link(sitemap.PAGES[(at + step) % len(paths)].file, label=name)
    _component()(key="slm_keys", data="", on_leave_change=_leave)


def _leave() -> None:
    st.session_state[KEY] = False


@cache
def _component() -> Any:
    return st.components.v2.component("slmopt.present", js=chart.loader("present.js"), isolate_styles=False)
