"""Reference measurements of the same chip, shown in the figure when asked for."""

from __future__ import annotations

import streamlit as st

from pages.ui.judging import Gathered
from slmopt.figures.measured_marks import Group
from slmopt.figures.named import Named
from slmopt.reports import measured_groups, others

KEY = "measurement_others"


def shown(found: Gathered) -> list[Named[Group]]:
    """The groups to add to the figure, on the sides that it has; none unless they are asked for."""
    if not st.session_state.get(KEY):
        return []
    return others.groups(_rows(found.ident, found), measured_groups.heads(found.rows))


def switch(found: Gathered) -> None:
    """The switch, where there is anything to show."""
    counts = others.counts(_rows(found.ident, found), measured_groups.heads(found.rows))
    if counts:
        told = ", ".join(f"{count:,} {panel}" for panel, count in counts.items())
        st.toggle(f"Others with this chip (reference rows: {told})", key=KEY, persist_state="session")


def sources(found: Gathered) -> list[str]:
    """Where they are from, when they are shown."""
    if not st.session_state.get(KEY):
        return []
    return others.source_lines(_rows(found.ident, found), measured_groups.heads(found.rows))


@st.cache_resource(max_entries=16, scope="session", show_spinner=False)
def _rows(ident: str, _found: Gathered) -> dict[str, others.Others]:
    del ident
    return others.of_rows(_found.rows)
