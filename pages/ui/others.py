"""Reference measurements of the same chip, shown in the figure when asked for."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.ui.judging import Gathered
from slmopt.figures.measured_marks import Group
from slmopt.figures.named import Named
from slmopt.reports import measured_groups, others

KEY = "measurement_others"


def shown(found: Gathered) -> list[Named[Group]]:
    """The groups to add to the figure; none unless they are asked for, and decode is shown."""
    if not st.session_state.get(KEY) or "decode" not in measured_groups.heads(found.rows):
        return []
    return others.groups(_rows(found.ident, found))


def switch(found: Gathered) -> None:
    """The switch, where there is anything to show."""
    rows = _rows(found.ident, found)
    count = sum(len(part) for part in rows.values())
    if count:
        st.toggle(
            f"Others with this chip ({count:,} reference rows, decode)", key=KEY, persist_state="session"
        )


def sources(found: Gathered) -> list[str]:
    """Where they are from, when they are shown."""
    return others.source_lines(_rows(found.ident, found)) if st.session_state.get(KEY) else []


@st.cache_resource(max_entries=16, scope="session", show_spinner=False)
def _rows(ident: str, _found: Gathered) -> dict[str, pd.DataFrame]:
    del ident
    return others.of_rows(_found.rows)
