"""A slider whose figures follow the thumb.

Streamlit's own slider tells the server only when it is let go, and lays out a heavy element each time. This one is the
browser's own; while it is in use the browser asks :mod:`pages.ui.ahead` for the page's figures at its other stops, and
shows them as the thumb passes. The exact answer follows from the server on release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import streamlit as st

from pages.ui import ahead, chart, pins, state
from slmopt.specs.scenario import Scenario
from slmopt.words import units

_ANSWERED = "_slmopt_answered"


@dataclass(frozen=True, slots=True)
class Stops:
    """What a slider offers: values, how each reads, and at which of them it stands. None is "no value"."""

    label: str
    values: tuple[float | int | None, ...]
    texts: tuple[str, ...]
    at: int


def slider(
    stops: Stops, *, key: str, field: str, labelled: bool, moved: Callable[[str, float | None], None]
) -> None:
    """Draw the slider of a scenario's field; `moved(field, value)` is called when its thumb has been let go."""

    def take() -> None:
        told = st.session_state[key].get("moved")
        if not isinstance(told, dict):
            return
        # Kept apart, since reading a component's own state costs as much as drawing a field.
        st.session_state.setdefault(_ANSWERED, {})[key] = told.get("stamp")
        if 0 <= int(told.get("stop", -1)) < len(stops.values):
            moved(field, stops.values[int(told["stop"])])

    data = {
        "label": stops.label,
        "labelled": labelled,
        "texts": stops.texts,
        "values": stops.values,
        "at": stops.at,
        "answered": st.session_state.get(_ANSWERED, {}).get(key),
        "ahead": _ahead(field),
    }
    _component()(key=key, data=chart.encode(data), on_moved_change=take)


def _ahead(field: str) -> dict[str, Any] | None:
    """What the browser asks for other values with: the page, the field, and all else of the scenario."""
    page = state.foretold()
    if page not in ahead.FORESEEN or state.error():
        return None
    values = {name: value for name, value in _written(state.current()).items() if name != field}
    beside = {one.name: _written(one.result) for one in pins.pinned()}
    asked: dict[str, Any] = {"page": page, "field": field, "scenario": values}
    more = {"pinned": beside, "choices": state.own_choices(), **units.now().unusual}
    return asked | {name: part for name, part in more.items() if part}


@lru_cache(maxsize=64)
def _written(scenario: Scenario) -> Mapping[str, Any]:
    return scenario.model_dump(mode="json", exclude_defaults=True)


@cache
def _component() -> Any:
    return st.components.v2.component("slmopt.slider", js=chart.loader("slider.js"), isolate_styles=False)
