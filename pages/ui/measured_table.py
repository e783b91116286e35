"""The table of judged rows, its download, and the rows that were left out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.ui.asked import Gathered
from slmopt.reports import measurement_tables as tables
from slmopt.words import measured_causes as words
from slmopt.words.measured_rows import short
from slmopt.words.scenario_line import escape


def table(found: Gathered) -> Any:
    """The rows with their verdicts, the download of all, and what was left out; returns the row picked, or the first."""
    if found.rows.empty:
        _left_out(found)
        return None
    listed = tables.listed(found.rows)
    event = st.dataframe(
        tables.styled(listed),
        hide_index=True,
        key="measurement_rows",
        on_select="rerun",
        selection_mode="single-row",
        placeholder="–",
        column_config={
            "Share (%)": st.column_config.ProgressColumn(
                min_value=0, max_value=100, format="%.0f", width="small"
            ),
        },
        alt="Each measured row with its ceiling, its share of it and the verdict.",
    )
    if len(listed) < len(found.rows):
        st.markdown(f":small[The first {len(listed):,} of {len(found.rows):,} rows; the download has all.]")
    st.download_button(
        "Download the joined table",
        data=lambda: tables.download(found.rows, found.read.rows).to_csv(index=False),
        file_name="slmopt-measurements.csv",
        mime="text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    _left_out(found)
    picked = event["selection"]["rows"]
    return found.rows.loc[listed.index[picked[0] if picked and picked[0] < len(listed) else 0]]


def _left_out(found: Gathered) -> None:
    if found.read.warnings:
        st.markdown("\n\n".join(f":small[{escape(short(text, 300))}]" for text in found.read.warnings[:5]))
    if found.skipped.empty:
        return
    with st.expander(words.left_out(len(found.skipped)), key="slm_skipped"):
        few = found.skipped.head(tables.MOST_LISTED)
        st.dataframe(
            few,
            hide_index=True,
            column_config={"source_file": "File", "row": "Row", "why": "Why"},
            key="measurement_skipped",
        )
