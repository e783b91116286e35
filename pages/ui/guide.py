"""The guide of a first visit: three steps in the product's own words, closed for good in the browser that closed it."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from pages.ui import chart, sitemap
from slmopt.words import guide as words


def steps() -> None:
    """The three steps. They show once the browser has said that they were not closed before."""
    with st.container(key="slm_guide", border=True):
        _component()(key="slm_guide_close", data="close")
        for number, step in enumerate(words.STEPS, start=1):
            st.markdown(f"**{number} · {step.name}**  \n:small[{step.text}]")
        entry = sitemap.entry(words.LEADS_TO)
        st.page_link(entry.file, label=f":small[{entry.title} →]")


def again() -> None:
    """The way back to a guide that was closed."""
    with st.container(key="slm_guide_again"):
        _component()(key="slm_guide_open", data="again")


@cache
def _component() -> Any:
    return st.components.v2.component("slmopt.guide", js=chart.loader("guide.js"), isolate_styles=False)
