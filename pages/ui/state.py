"""The scenario that the pages read: what the panel's fields say, or the last valid one while an entry is wrong."""

from __future__ import annotations

from typing import Any

import streamlit as st

from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve

# What people read comfortably: half a second to a first token, and twice reading speed after it.
HOUSE_TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}

_VALID = "_slmopt_valid"
_ERROR = "_slmopt_error"
_UNKNOWN = "_slmopt_unknown"
_DRAWN = "_slmopt_panel_drawn"
_PAGE = "_slmopt_page"
_FORETOLD = "_slmopt_foretold"
_ALSO = "_slmopt_also"


def current() -> Scenario:
    """The scenario to show."""
    found = st.session_state.get(_VALID)
    return found if isinstance(found, Scenario) else scenario(dict(HOUSE_TARGETS))


def error() -> str:
    """The sentence that says what is wrong with the present entries; empty where they are right."""
    return str(st.session_state.get(_ERROR, ""))


def offer(values: dict[str, Any]) -> Scenario:
    """Take the fields' values where they make a valid scenario; else keep the last valid one and say what is wrong."""
    try:
        offered = scenario(
            {**HOUSE_TARGETS, **{name: value for name, value in values.items() if value is not None}}
        )
        resolve(offered)
    except SpecError as wrong:
        st.session_state[_ERROR] = str(wrong)
        return current()
    st.session_state[_ERROR] = ""
    st.session_state[_VALID] = offered
    return offered


def panel_stands() -> bool:
    """Whether this session has drawn the panel before, so that its fields hold what the visitor entered."""
    return bool(st.session_state.get(_DRAWN, False))


def panel_drawn() -> None:
    """The panel has been drawn."""
    st.session_state[_DRAWN] = True


def unknown() -> dict[str, str]:
    """A sentence for each choice whose record in the address this session does not have."""
    return dict(st.session_state.get(_UNKNOWN, {}))


def say_unknown(key: str, sentence: str) -> None:
    """Keep the sentence until another record of that kind is chosen."""
    st.session_state.setdefault(_UNKNOWN, {})[key] = sentence


def forget_unknown(key: str) -> None:
    """Another record of that kind was chosen."""
    st.session_state.get(_UNKNOWN, {}).pop(key, None)


def enter(page: str) -> None:
    """The page at this address is about to be drawn."""
    st.session_state[_PAGE] = page
    st.session_state[_FORETOLD] = True
    st.session_state[_ALSO] = {}


def page_shown() -> str:
    """The address of the page that is being drawn."""
    return str(st.session_state.get(_PAGE, ""))


def not_of_the_scenario_alone() -> None:
    """The page's figures also show what this visitor uploaded, so the scenario does not foretell them."""
    st.session_state[_FORETOLD] = False


def also_from(choices: dict[str, Any]) -> None:
    """The page's figures follow from the scenario and from these choices of the page's own."""
    st.session_state[_ALSO] = choices


def own_choices() -> dict[str, Any]:
    """The choices of the page that is being drawn, beside the scenario."""
    return dict(st.session_state.get(_ALSO, {}))


def foretold() -> str:
    """The address of the page that is being drawn; empty where its figures follow from more than the scenario."""
    return page_shown() if st.session_state.get(_FORETOLD) else ""
