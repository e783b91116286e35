"""Ready cases: one click sets the whole scenario."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.ui import restore
from slmopt.specs.library import Case, library

_KEY = "_slmopt_case"


def case_picker() -> None:
    """The cases as buttons, each with the question that it answers."""
    cases = library().cases
    with st.container(key="slm_cases"):
        _pills(cases)


def _pills(cases: Mapping[str, Case]) -> None:
    st.pills(
        "Try another case",
        list(cases),
        format_func=lambda ident: cases[ident].name,
        key=_KEY,
        on_change=_take,
    )


def _take() -> None:
    ident = st.session_state.get(_KEY)
    if ident is None:
        return
    restore.take(library().cases[ident].scenario)
