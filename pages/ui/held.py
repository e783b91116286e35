"""Memory's second half: blocks, a shared prefix, the host's memory, and sessions that wait for their user."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.figures import holding as figures
from slmopt.reports import holding_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving.holding import moving, sessions, sharing, stranded
from slmopt.serving.traffic import LONGEST, Lengths
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup
from slmopt.words import holding as words
from slmopt.words import numbers

TURNS = 10
THINK_S = 30.0
ASKED = 100
# What a server without a stated link most likely has: PCIe 4.0 x16, per direction.
LINK_GBS = 32.0


def section(scenario: Scenario, setup: Setup) -> None:
    """A closed section, drawn only when open: the page stays quick for those who came for what fits."""
    # A link that carries this section's fields opens it.
    asked = any(name.startswith("mem_") for name in st.query_params)
    part = st.expander(
        "Blocks, shared prefixes, host memory and sessions", key="slm_held", expanded=asked, on_change="rerun"
    )
    if not part.open:
        return
    with part:
        try:
            _figures(scenario, setup)
        except SpecError as wrong:
            st.markdown(str(wrong))


def _figures(scenario: Scenario, setup: Setup) -> None:
    """Four figures and the fields that only they use."""
    needed = min(LONGEST, scenario.prompt + scenario.output)
    left, right = side_by_side()
    with left:
        rows = stranded(scenario, Lengths(kind="uniform", mean=needed, spread=0.8))
        title = words.stranded_title(rows, scenario.block_tokens)
        chart(
            Picture(
                "memory_blocks",
                title,
                f"{title}. Empty share of the cache held, for blocks of 1 to 512 tokens and for the longest length.",
                figures.stranded(rows),
                partial(tables.stranded, rows),
            )
        )
    with right:
        shared = sharing(scenario)
        title = words.sharing_title(shared)
        chart(
            Picture(
                "memory_sharing",
                title,
                f"{title}. Mean first token against the share of prompts that hit, 0 to 100 %.",
                figures.sharing(shared),
                partial(tables.sharing, shared),
            )
        )
        st.markdown(f":small[{words.sharing_words(shared)}]")
    link, turns, asked, think = _fields(setup)
    left, right = side_by_side()
    with left:
        moved = moving(setup, link * 1e9)
        title = words.moving_title(moved)
        chart(
            Picture(
                "memory_host",
                title,
                f"{title}. Time against context, both logarithmic: over the link, and computed again.",
                figures.moving(moved),
                partial(tables.moving, moved),
            )
        )
        st.markdown(f":small[{words.moving_words(moved)}]")
    with right:
        talk = sessions(setup, turns, asked, scenario.output, think)
        title = words.sessions_title(talk)
        chart(
            Picture(
                "memory_sessions",
                title,
                f"{title}. First token of each turn, with the cache kept and computed again.",
                figures.sessions(talk),
                partial(tables.sessions, talk),
            )
        )
        st.markdown(f":small[{words.sessions_words(talk)}]")


def _fields(setup: Setup) -> tuple[float, int, int, float]:
    """The link to the host, and what a conversation is made of."""
    stated = setup.device.host_link
    gbs = LINK_GBS if stated is None else stated.gbs
    known = "assumed: PCIe 4.0 x16" if stated is None else f"preset: {stated.name or 'host link'}"
    one, two, three, four = st.columns(4, vertical_alignment="bottom")
    with one:
        link = st.number_input(
            f"Link to the host (GB/s), {known}",
            0.001,
            1e5,
            None,
            key="mem_link",
            bind="query-params",
            placeholder=numbers.trimmed(numbers.figures(gbs)),
            format="%.6g",
        )
    with two:
        turns = st.number_input(
            "Turns", 1, 1000, None, key="mem_turns", bind="query-params", placeholder=f"{TURNS}"
        )
    with three:
        asked = st.number_input(
            "A question (tokens)",
            1,
            100_000,
            None,
            key="mem_asked",
            bind="query-params",
            placeholder=f"{ASKED}",
        )
    with four:
        think = st.number_input(
            "Between turns (s)",
            0.0,
            1e6,
            None,
            key="mem_think",
            bind="query-params",
            placeholder=f"{THINK_S:g}",
            format="%.6g",
        )
    return (
        gbs if link is None else float(link),
        TURNS if turns is None else int(turns),
        ASKED if asked is None else int(asked),
        THINK_S if think is None else float(think),
    )
