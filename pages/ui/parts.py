"""The anatomy that pages share: scenario line, answer, tiles, key, and the three closed sections at the end."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd
import streamlit as st

from pages.ui import chart, sitemap
from slmopt.reports.columns import in_units
from slmopt.reports.formulas import safe
from slmopt.words.glossary import help_for
from slmopt.words.scenario_line import escape

Choice = TypeVar("Choice", bound=str)

# Numbers stay on one line with their units.
_BOLD = re.compile(r"\*\*.+?\*\*")


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure at a glance: its label with the unit, its value, a note, and help on request."""

    label: str
    value: str
    note: str = ""
    help: str = ""


def scenario_line(markdown: str) -> None:
    """What the page is about, small: model · weights · cache · device …, changes in bold."""
    with st.container(key="slm_scenario"):
        st.markdown(f":small[{markdown}]")


def answer(markdown: str) -> None:
    """The page's one sentence; `**…**` for its numbers, three at most."""
    with st.container(key="slm_answer"):
        st.header(_BOLD.sub(lambda bold: bold[0].replace(" ", "\u00a0"), markdown), anchor=False)


def tiles(shown: Sequence[Tile]) -> None:
    """Two to four tiles: in a row on wide screens, two a row on phones."""
    st.html(f'<div class="slm-tiles slm-tiles-{len(shown)}" role="list">{"".join(map(_tile, shown))}</div>')


def _tile(tile: Tile) -> str:
    """A tile's HTML."""
    label, value, note = (html.escape(text) for text in (tile.label, tile.value, tile.note))
    about = html.escape(tile.help or help_for(tile.label), quote=True)
    told = (
        f'<span class="slm-help" tabindex="0" role="note" aria-label="{about}" data-help="{about}">?</span>'
    )
    return (
        f'<div class="slm-tile" role="listitem"><div class="slm-tile-label">{label}{told if about else ""}</div>'
        f'<div class="slm-tile-value">{value}</div><div class="slm-tile-note">{note}</div></div>'
    )


def segments(label: str, names: Mapping[Choice, str], default: Choice, key: str) -> Choice:
    """One of a few choices, shown under their names; it outlives a change of page."""
    picked = st.segmented_control(
        label,
        list(names),
        default=default,
        required=True,
        format_func=lambda name: names[name],
        key=key,
        persist_state="session",
    )
    return picked or default


def arithmetic(lines: Callable[[], Sequence[str]]) -> None:
    """The closed section that shows how the numbers came about; one line of Markdown a step, asked for once it is open."""
    section = st.expander("Show the arithmetic", key="slm_arithmetic", on_change="rerun")
    if section.open:
        section.markdown("\n\n".join(lines()))


def data_section() -> None:
    """The closed section with the numbers of every figure that was drawn with `data=`."""
    pictures = st.session_state.get(chart.TABLES_KEY, {})
    section = st.expander("Data", key="slm_data", on_change="rerun")
    if not section.open:
        return
    with section:
        for key, picture in pictures.items():
            st.markdown(f"**{escape(picture.heading)}**")
            data_table(picture.numbers(), f"slmopt-{key}.csv")


def data_table(table: pd.DataFrame, file_name: str) -> None:
    """A table and its download, which is written only when asked for."""
    table = in_units(table)
    st.dataframe(table, hide_index=True, key=f"table {file_name}")
    st.download_button(
        "Download CSV",
        data=lambda: safe(table).to_csv(index=False),
        file_name=file_name,
        mime="text/csv",
        key=f"download {file_name}",
        on_click="ignore",
        icon=":material/download:",
    )


def sources(lines: Callable[[], Sequence[str]]) -> None:
    """The closed section that says where numbers come from; one source a line of Markdown, asked for once it is open."""
    section = st.expander("Sources", key="slm_sources", on_change="rerun")
    if section.open:
        section.markdown("\n".join(f"- {line}" for line in lines()))


def next_link(label: str, page: str, *, share: bool = True) -> None:
    """The link to the next question; `page` is its address, such as "roofline". Beside it the way to hand this over."""
    with st.container(key=f"slm_next_{page}", horizontal=True, gap="medium"):
        st.page_link(sitemap.entry(page).file, label=f"{label} →")
        if share:
            st.page_link(
                sitemap.entry("share").file, label="Share: link, report, slides", icon=":material/share:"
            )


def listed(head: str, lines: Sequence[str], most: int = 8) -> None:
    """A short list under its head, small; of a long one the rest stands closed."""
    if not head:
        return
    with st.container(gap="small"):
        st.markdown(f":small[{head}]")
        if lines:
            st.markdown("\n".join(f"- :small[{line}]" for line in lines[:most]))
        if lines[most:]:
            with st.expander(f"{len(lines) - most:,} more"):
                st.markdown("\n".join(f"- :small[{line}]" for line in lines[most:]))


def error_box(sentence: str, key: str = "slm_error") -> None:
    """What is wrong and what would be right, in ink beside the mark of what is missed."""
    with st.container(key=key, border=True):
        st.markdown(f"✕ {sentence}")


def last_valid() -> None:
    """What stands above the pale page while the present entry is wrong."""
    st.markdown(":small[The last valid answer:]")
