"""Scenarios side by side: the panel's buttons, and the page's table."""

from __future__ import annotations

import html
from functools import partial

import streamlit as st

from pages.ui import pins, restore, state
from slmopt.figures.named import PRESENT, Named
from slmopt.reports import comparison
from slmopt.theory.evaluation import evaluate


def _pin() -> None:
    pins.keep([*(one.result for one in pins.pinned()), state.current()])


def _unpin(letter: str) -> None:
    pins.keep([one.result for one in pins.pinned() if one.name != letter])


def _go(letter: str) -> None:
    for one in pins.pinned():
        if one.name == letter:
            restore.take(one.result)


def buttons() -> None:
    """The panel's part: pin the present scenario; return to a pinned one; let it go."""
    st.text_input("Pinned scenarios", key=pins.KEY, bind="query-params")
    held = pins.pinned()
    if len(held) < len(pins.LETTERS):
        st.button(
            f"Pin this scenario as {pins.LETTERS[len(held)]}",
            key="pin",
            on_click=_pin,
            icon=":material/keep:",
            width="stretch",
            disabled=bool(state.error()),
        )
    for one in held:
        st.button(f"Go to {one.name}", key=f"go_{one.name}", on_click=partial(_go, one.name), width="stretch")
        st.button(
            f"Unpin {one.name}", key=f"unpin_{one.name}", on_click=partial(_unpin, one.name), width="stretch"
        )


def table() -> None:
    """The page's part: a row for each pinned scenario and for the present one, held against the first."""
    held = pins.pinned()
    if not held:
        return
    shown = [*held, Named(PRESENT, state.current())]
    rows = comparison.rows([Named(one.name, evaluate(one.result)) for one in shown])
    heads = "".join(f"<th>{html.escape(head)}</th>" for head in comparison.heads())
    body = "".join(map(_row, rows))
    st.html(
        f'<div class="slm-beside" tabindex="0" role="region" aria-label="Scenarios side by side"><table><thead><tr>'
        f"<th>Scenario</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: comparison.Row) -> str:
    cells = "".join(
        f"<td>{html.escape(cell.text)}<small>{html.escape(cell.against)}</small></td>" for cell in row.cells
    )
    hue = row.name if row.name in pins.LETTERS else PRESENT
    return (
        f'<tr><th scope="row"><b class="slm-hue-{hue}">{html.escape(row.name)}</b> '
        f"{html.escape(row.about)}</th>{cells}</tr>"
    )
