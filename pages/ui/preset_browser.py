"""The presets as tables that can be searched, each with its source and how sure it is."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from pages.ui import own, state
from slmopt.reports import model_tables as tables
from slmopt.specs.library import library
from slmopt.words.measured_rows import marked

SEARCH: Final = "preset_search"
WHICH: Final = "preset_kind"
KEYS: Final = {"Models": "model", "Devices": "device"}


@st.cache_resource(max_entries=2, show_spinner=False)
def _shipped(which: str) -> pd.DataFrame:
    """The presets of a kind; once a process, since counting 200 models takes a while."""
    presets = library()
    if which == "Models":
        return tables.models(presets.models.values(), presets.caches["f16"])
    return tables.devices(presets.devices.values())


def _table(which: str) -> pd.DataFrame:
    held = (
        tables.models(own.models().values(), library().caches["f16"])
        if which == "Models"
        else tables.devices(own.devices().values())
    )
    shipped = _shipped(which)
    return shipped if held.empty else pd.concat([held, shipped], ignore_index=True)


def browser() -> None:
    """The section: which table, a search, the table, and a way to use the row that is picked."""
    st.markdown("#### Presets and their sources")
    with st.container(gap="small"):
        left, right = st.columns([2, 3], vertical_alignment="bottom", gap="medium")
        with left:
            which = st.segmented_control(
                "Show", list(KEYS), default="Models", key=WHICH, required=True, label_visibility="collapsed"
            )
        with right:
            wanted = st.text_input(
                "Search",
                key=SEARCH,
                placeholder="Search: a name, a kind of layer, a source",
                label_visibility="collapsed",
                persist_state="session",
            )
        which = str(which or "Models")
        rows = tables.searched(_table(which), wanted)
        event = st.dataframe(
            rows,
            hide_index=True,
            height=360,
            key=f"presets_{which}",
            on_select="rerun",
            selection_mode="single-row",
            placeholder="–",
            column_config=_columns(),
            alt=f"{which} that ship or were added, with their figures, source and confidence.",
        )
        picked = event["selection"]["rows"]
        if rows.empty:
            st.markdown(f"No preset holds “{marked(wanted, 60)}”.")
        elif picked and picked[0] < len(rows):
            _use_row(which, str(rows.iloc[picked[0]]["Name"]), str(rows.iloc[picked[0]]["Source"]))
        else:
            st.markdown(
                f":small[{len(rows):,} {which.lower()}; cache at 16 bits. Mark a row to use it, or add a JSON list of your "
                "own records above.]"
            )


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        "Name": st.column_config.TextColumn(width="medium", pinned=True),
        "Parameters (B)": number(format="localized"),
        "Active (B)": number(format="localized"),
        "Cache a token (kB)": number(format="localized"),
        "Context limit": number(format="localized"),
        "Bandwidth (GB/s)": number(format="localized"),
        "Kinds of layer": st.column_config.TextColumn(width="medium"),
        "Source": st.column_config.TextColumn(width="large"),
    }


def _use_row(which: str, name: str, source: str) -> None:
    left, right = st.columns([4, 1], vertical_alignment="center")
    with left:
        st.markdown(f"**{marked(name)}**: {marked(source, 300)}")
    with right:
        st.button(
            "Use in every page", key="preset_use", on_click=_take, args=(KEYS[which], name), width="stretch"
        )


def _take(key: str, name: str) -> None:
    st.session_state[key] = name
    state.forget_unknown(key)
