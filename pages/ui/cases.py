"""Ready cases as cards: what each comes to in one line, and one click that sets the whole scenario."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from pages.ui import restore, state
from slmopt.specs.library import library
from slmopt.theory.evaluation import evaluate
from slmopt.words import units
from slmopt.words.guide import finding

_KEY = "_slmopt_case"


def case_picker() -> None:
    """The cases, each with its finding; the page's style makes cards of the options."""
    cases, read_in = library().cases, units.now()
    with st.container(key="slm_cases"):
        st.pills(
            "Ready cases",
            list(cases),
            format_func=lambda ident: f"**{cases[ident].name}** {_finding(ident, read_in)}",
            key=_KEY,
            on_change=_take,
        )


@lru_cache(maxsize=64)
def _finding(ident: str, _: units.Units) -> str:
    # The units are part of the key, since a finding may name a quantity that they name otherwise.
    asked = library().cases[ident].scenario
    open_targets = {
        name: value for name, value in state.HOUSE_TARGETS.items() if getattr(asked, name) is None
    }
    return finding(evaluate(asked.change(**open_targets)))


def _take() -> None:
    ident = st.session_state.get(_KEY)
    if ident is None:
        return
    restore.take(library().cases[ident].scenario)
