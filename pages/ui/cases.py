"""Ready cases: one click sets the whole scenario."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.ui import fields, reading, state
from slmopt.specs.library import Case, library
from slmopt.specs.scenario import Scenario

_KEY = "_slmopt_case"
DEFAULT = Scenario()


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
    show(library().cases[ident].scenario)


def show(wanted: Scenario) -> None:
    """Set the panel to a scenario; what it leaves open goes back to its preset."""
    presets = library()
    records = {
        "model": presets.models,
        "device": presets.devices,
        "weights": presets.weights,
        "cache_k": presets.caches,
        "cache_v": presets.caches,
        "draft_model": presets.models,
    }
    nothing = {"cache_v": reading.SAME, "draft_model": reading.NO_DRAFT}
    for name, known in records.items():
        held = getattr(wanted, name)
        if held is None:
            st.session_state[name] = nothing[name]
        else:
            st.session_state[name] = known[held].name if isinstance(held, str) else held.name
    for name in fields.FIELDS:
        value = getattr(wanted, name)
        usual = state.HOUSE_TARGETS.get(name, getattr(DEFAULT, name))
        st.session_state[name] = None if value == usual else value
    st.session_state["engine"] = wanted.engine
    st.session_state["fit"] = None if wanted.calibration is None else wanted.calibration.text()
    st.session_state["allocation"] = wanted.allocation
    st.session_state["compute"] = wanted.compute or reading.AUTO
    for name in ("prefill_unit", "decode_unit"):
        held = getattr(wanted, name)
        if held is None:
            st.session_state.pop(name, None)
        else:
            st.session_state[name] = held
    st.session_state["parallel"] = wanted.parallel
    st.session_state["full_windows"] = bool(wanted.full_windows)
    if wanted.host is None:
        st.session_state.pop("host", None)
    else:
        host = wanted.host
        st.session_state["host"] = presets.devices[host].name if isinstance(host, str) else host.name
