"""The section that sets two uploads, or two sides of one, side by side; only there where rows part into sides."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.ui.chart import chart
from pages.ui.judging import Gathered
from slmopt.figures import before_after as figures
from slmopt.figures.named import Named
from slmopt.measured.before_after import BeforeAfter, Quality, before_after, side, sides
from slmopt.reports.formulas import safe
from slmopt.reports.picture import Picture
from slmopt.words import before_after as words
from slmopt.words.measured_rows import marked
from slmopt.words.timed_names import named

MOST_ROWS = 200_000
"""Rows beyond which nobody compares by eye."""


_EVERYDAY = {"weight_format", "model", "device"}
"""What rows of one run differ in anyhow: by itself no before and after."""


def section(found: Gathered) -> None:
    """The closed section."""
    if found.sample or len(found.rows) > MOST_ROWS:
        return
    rows = _rows(found)
    parts = sides(rows)
    if not set(parts) - _EVERYDAY:
        return
    closed = st.expander("Before and after", key="slm_change", on_change="rerun")
    if not closed.open:
        return
    with closed:
        _body(rows, parts)


def _rows(found: Gathered) -> pd.DataFrame:
    """The judged rows with the columns that may part them."""
    own = found.read.rows.loc[found.rows.index]
    more = [
        name
        for name in (
            "weight_format",
            "backend",
            "tool_version",
            "threads",
            "flash_attention",
            "cache_k",
            "chunk_tokens",
            "gpu_layers",
        )
        if name in own
    ]
    return found.rows.assign(**{name: own[name] for name in more})


def _body(rows: pd.DataFrame, parts: dict[str, tuple[str, ...]]) -> None:
    left, middle, right = st.columns(3)
    with left:
        column = st.selectbox(
            "Told apart by", list(parts), format_func=words.COLUMN_WORDS.__getitem__, key="change_column"
        ) or next(iter(parts))
    values = parts[column]
    with middle:
        before = (
            st.selectbox("Before", values, index=0, key=f"change_before_{column}", format_func=marked)
            or values[0]
        )
    with right:
        after = (
            st.selectbox("After", values, index=1, key=f"change_after_{column}", format_func=marked)
            or values[1]
        )
    found = before_after(*(named(rows[side(rows, column, value)]) for value in (before, after)))
    st.markdown(words.answer(found))
    if len(found.rows):
        chart(
            Picture(
                "measurement_change",
                words.title(found),
                words.alt(found),
                figures.ratios([Named("", found)]),
                lambda: safe(words.table(found)),
                kinds=("measured",),
            )
        )
        st.dataframe(words.table(found), hide_index=True, key="change_rows")
    st.markdown("\n".join(f"- :small[{marked(text, 300)}]" for text in words.notes(found)))
    _rule(found)


def _rule(found: BeforeAfter) -> None:
    """Quality before and after, and whether to keep the change."""
    st.markdown(f"**{words.RULE}**")
    left, middle, right = st.columns(3)
    with left:
        before = st.number_input(
            "Quality before",
            value=None,
            key="quality_before",
            help="Of your own evaluation; higher is better.",
        )
    with middle:
        after = st.number_input("Quality after", value=None, key="quality_after")
    with right:
        error = st.number_input(
            "Chance (±)",
            value=0.0,
            min_value=0.0,
            key="quality_error",
            help="A difference that repeats of the evaluation show.",
        )
    quality = (
        None if before is None or after is None else Quality(float(before), float(after), float(error or 0.0))
    )
    st.markdown(words.verdict(found, quality))
