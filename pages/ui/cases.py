"""Ready cases: one click sets the whole scenario."""

from __future__ import annotations

import streamlit as st

from pages.ui import fields
from slmopt.specs.library import Case, library
from slmopt.specs.scenario import Scenario

_KEY = "_slmopt_case"
CHOICES = ("model", "device", "weights", "cache_k")
DEFAULT = Scenario()


def case_picker() -> None:
    """The cases as buttons, each with the question that it answers."""
    cases = library().cases
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
    show(library().cases[ident])


def show(case: Case) -> None:
    """Set the panel to the case; what the case leaves open goes back to its preset."""
    presets, wanted = library(), case.scenario
    records = {
        "model": presets.models,
        "device": presets.devices,
        "weights": presets.weights,
        "cache_k": presets.caches,
    }
    for name in CHOICES:
        st.session_state[name] = records[name][str(getattr(wanted, name))].name
    for name in fields.FIELDS:
        value = getattr(wanted, name)
        st.session_state[name] = None if value == getattr(DEFAULT, name) else value
    st.session_state["engine"] = wanted.engine
    st.session_state["fit"] = None
