"""The form that maps the columns of a table that no reader knows; only there after such a table was uploaded."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from pages.ui import uploads
from slmopt.measured import mapping_form as form
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers.mapping import Mapping, apply_mapping, guess_mapping, preview
from slmopt.measured.readers.sources import tables_in
from slmopt.measured.text import UnreadableFile
from slmopt.reports.formulas import safe
from slmopt.specs.base import SpecError
from slmopt.words import mapping as words
from slmopt.words.measured_rows import marked

_SAVED: Final = "_slmopt_mappings"
"""Mappings that this session used, by the header that they are for."""


def section() -> None:
    """The closed form."""
    files = uploads.mappable()
    if not files:
        return
    closed = st.expander("Map columns by hand", key="slm_mapping", on_change="rerun")
    if not closed.open:
        return
    with closed:
        name = st.selectbox("Table", list(files), key="mapping_file", format_func=marked) or next(iter(files))
        sheets = _sheets(name, files[name])
        if not sheets:
            st.markdown(f"{marked(name, 80)} holds no table with column names.")
            return
        at = 0
        if len(sheets) > 1:
            at = (
                st.selectbox(
                    "Which of its tables",
                    range(len(sheets)),
                    key="mapping_sheet",
                    format_func=lambda n: f"table {n + 1}: {marked(', '.join(sheets[n].header[:4]), 60)}",
                )
                or 0
            )
        _body(name, files[name], sheets[at])


@st.cache_resource(max_entries=4, scope="session", show_spinner=False)
def _sheets(name: str, content: bytes) -> list[Sheet]:
    try:
        return tables_in(name, content)
    except UnreadableFile:
        return []


def _body(name: str, content: bytes, sheet: Sheet) -> None:
    _reuse(sheet)
    base = _start(sheet)
    ident = hashlib.sha256(repr((name, sheet.header, base)).encode()).hexdigest()[:12]
    st.markdown(
        f":small[Layout: {words.LAYOUT_WORDS[base.layout]}. Change what a column means; what stands there was guessed from its name and values.]"
    )
    edited = _editor(form.form_lines(sheet, base), ident)
    constants = _constants(base, ident)
    try:
        mapping = form.from_form(base, edited, constants)
        shown = preview(sheet, mapping)
    except (SpecError, UnreadableFile) as error:
        st.markdown(f"✕ {marked(str(error), 300)}")
        return
    st.markdown("**What was understood**")
    st.dataframe(safe(shown), hide_index=True, key=f"mapping_preview_{ident}")
    left, right = st.columns(2)
    with left:
        st.button(
            "Use this mapping",
            key="mapping_use",
            on_click=_use,
            args=(name, content, sheet, mapping),
            width="stretch",
        )
    with right:
        st.download_button(
            "Save the mapping",
            form.saved(mapping),
            "slmopt-mapping.json",
            "application/json",
            key="mapping_save",
            on_click="ignore",
            width="stretch",
        )


def _start(sheet: Sheet) -> Mapping:
    """The mapping to begin with: the one used for such a header before, or a guess."""
    saved: dict[tuple[str, ...], Mapping] = st.session_state.setdefault(_SAVED, {})
    return saved.get(sheet.header) or guess_mapping(sheet)


def _editor(lines: Sequence[form.FormLine], ident: str) -> list[form.FormLine]:
    back = {word: field for field, word in words.FIELD_WORDS.items()}
    table = pd.DataFrame(
        {
            "Column": [line.column for line in lines],
            "First values": [line.first for line in lines],
            "Means": [words.FIELD_WORDS.get(line.field, words.FIELD_WORDS[""]) for line in lines],
            "Statistic": [line.statistic for line in lines],
            "Unit": [line.unit for line in lines],
        }
    )
    chosen = st.data_editor(
        table,
        hide_index=True,
        disabled=["Column", "First values"],
        key=f"mapping_editor_{ident}",
        column_config={
            "Means": st.column_config.SelectboxColumn(options=list(back), required=True),
            "Statistic": st.column_config.SelectboxColumn(options=list(form.STATISTICS)),
            "Unit": st.column_config.SelectboxColumn(options=list(form.UNITS)),
        },
    )
    return [
        form.FormLine(line.column, line.first, back.get(str(means), ""), _text(statistic), _text(unit))
        for line, means, statistic, unit in zip(
            lines, chosen["Means"], chosen["Statistic"], chosen["Unit"], strict=True
        )
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _constants(base: Mapping, ident: str) -> dict[str, str]:
    """Facts that hold for every row."""
    st.markdown(":small[For all rows, where no column says it:]")
    columns = st.columns(4)
    told = {}
    for at, name in enumerate(form.CONSTANTS):
        with columns[at % len(columns)]:
            told[name] = st.text_input(
                words.CONSTANT_WORDS[name],
                value=str(base.constants.get(name, "")),
                key=f"mapping_constant_{name}_{ident}",
            )
    return told


def _use(name: str, content: bytes, sheet: Sheet, mapping: Mapping) -> None:
    """Read the whole table with the mapping, and keep the mapping for the next file with such a header."""
    st.session_state.setdefault(_SAVED, {})[sheet.header] = mapping
    digest = hashlib.sha256(content + mapping.model_dump_json().encode()).hexdigest()
    uploads.take_in(name, digest, apply_mapping(sheet, mapping))


def _reuse(sheet: Sheet) -> None:
    """A mapping that was saved before."""
    given = st.file_uploader("Use a saved mapping, or choose below", type="json", key="mapping_load")
    if given is None:
        return
    try:
        mapping = form.loaded(given.getvalue(), sheet)
    except SpecError as error:
        st.markdown(f"✕ {marked(str(error), 300)}")
        return
    saved = st.session_state.setdefault(_SAVED, {})
    if saved.get(sheet.header) != mapping:
        saved[sheet.header] = mapping
        st.rerun()
