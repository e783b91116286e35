"""The table of judged rows, its download, and the rows that were left out."""

from __future__ import annotations

import gzip
import io
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import streamlit as st

from pages.ui.judging import Gathered
from slmopt.reports import measurement_tables as tables
from slmopt.words import measured_causes as words
from slmopt.words.measured_rows import marked
from slmopt.words.numbers import NBSP
from slmopt.words.timed_names import named

_PACKED_FROM: Final = 200_000
"""Rows beyond which the download is packed with gzip."""


def table(found: Gathered) -> Any:
    """The rows with their verdicts, the download of all, and what was left out; returns the row picked, or the first."""
    if found.rows.empty:
        _left_out(found)
        return None
    listed = found.listed
    event = st.dataframe(
        listed,
        hide_index=True,
        key="measurement_rows",
        on_select="rerun",
        selection_mode="single-row",
        placeholder="–",
        # Formats, not a Styler, whose cells cost more than the rest of the page.
        column_config={
            "Share (%)": st.column_config.ProgressColumn(
                min_value=0, max_value=100, format="%.0f", width="small"
            ),
            "Measured (tokens/s)": st.column_config.NumberColumn(format="%,.3g"),
            "± (%)": st.column_config.NumberColumn(format="%.2g"),
            "Ceiling (tokens/s)": st.column_config.NumberColumn(format=f"≤{NBSP}%,.3g"),
        },
        alt="Each measured row with its ceiling, its share of it and the verdict.",
    )
    if len(listed) < len(found.rows):
        st.markdown(f":small[The first {len(listed):,} of {len(found.rows):,} rows; the download has all.]")
    st.download_button(
        "Download the joined table",
        data=lambda: _csv(found),
        file_name=f"slmopt-measurements.csv{'.gz' if _packed(found) else ''}",
        mime="application/gzip" if _packed(found) else "text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    _left_out(found)
    picked = event["selection"]["rows"]
    return _told(found.ident, picked[0] if picked and picked[0] < len(listed) else 0, found)


@st.cache_resource(max_entries=4, scope="session", show_spinner=False)
def _told(ident: str, at: int, _found: Gathered) -> Any:
    """What the listed row at that place says."""
    del ident
    return named(_found.rows.loc[[_found.listed.index[at]]]).iloc[0]


def _packed(found: Gathered) -> bool:
    return len(found.rows) > _PACKED_FROM


def _csv(found: Gathered) -> bytes:
    """All rows as CSV; many of them packed. Arrow writes a million rows in a tenth of the time that pandas takes."""
    table = pa.Table.from_pandas(tables.download(found.rows, found.read.rows), preserve_index=False)
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    written = io.BytesIO()
    pa_csv.write_csv(pa.table(columns, names=table.column_names), written)
    return gzip.compress(written.getvalue(), compresslevel=1) if _packed(found) else written.getvalue()


def _left_out(found: Gathered) -> None:
    if found.read.warnings:
        st.markdown("\n\n".join(f":small[{marked(text, 300)}]" for text in found.read.warnings[:5]))
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
