"""Number fields of the scenario: empty means the preset's value, a value overrides it, emptying goes back.

Every field is bound to the address under its own name. Where a quantity spans decades a 1-2-5 slider stands beside the
field; it is a view of the field and has no state of its own, so that several pages may carry it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from pages.ui import measures, slider, state
from pages.ui.field_list import FIELDS, Field
from slmopt.words import numbers
from slmopt.words.glossary import help_for


def endless() -> dict[str, str]:
    """Whole numbers of the address that are not finite, over which Streamlit's own field raises, by their names.

    A page that fields are bound to may not take them out itself, so it has to be gone to anew.
    """
    asked = st.query_params.items()
    return {name: text for name, text in asked if name in FIELDS and FIELDS[name].whole and _infinite(text)}


def _infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        # What is no number at all, the field itself drops.
        return False


def value_of(name: str) -> float | int | None:
    """What the field holds; None where it is empty."""
    held = st.session_state.get(name)
    return held if isinstance(held, int | float) else None


def reset(names: Sequence[str]) -> None:
    """Empty these fields: back to the presets' values."""
    for name in names:
        st.session_state[name] = None


def number_field(
    name: str, preset: float | None, note: str = "", *, slider: bool = False, disabled: str = ""
) -> None:
    """The field, with the preset's value as placeholder; below it, once changed, what the preset says.

    ``disabled`` is the reason why the field cannot apply; empty where it can.
    """
    field = FIELDS[name]
    _entry(field, preset, disabled)
    if slider and field.steps:
        slider_view(name, preset, place="panel", labelled=False)
    if value_of(name) is not None and (preset is not None or note):
        said = f"Preset: {_plain(_shown(preset, field), field)}" if preset is not None else "Preset: none"
        st.markdown(f":small[{said}{' · ' + note if note else ''}]")


def pair(presets: Mapping[str, float]) -> None:
    """Two fields that stand side by side; below both, once either is changed, what their presets say."""
    for name, preset in presets.items():
        _entry(FIELDS[name], preset, "")
    changed = [
        f"{FIELDS[name].label.split(' (')[0].lower()} {_plain(_shown(preset, FIELDS[name]), FIELDS[name])}"
        for name, preset in presets.items()
        if value_of(name) is not None
    ]
    if changed:
        st.markdown(f":small[Preset: {', '.join(changed)}]")


def _entry(field: Field, preset: float | None, disabled: str) -> None:
    view = measures.view(field.name, field.label)
    if view is None:
        st.number_input(
            **_look(field, field.label, preset, disabled, changed=_changed(field)),
            key=field.name,
            bind="query-params",
        )
        return
    # The scenario is in GB and ms, whatever the reader reads: the field that the address carries stays, out of sight.
    with st.container(key=f"slm_unseen_{field.name}"):
        st.number_input(field.label, value=None, key=field.name, bind="query-params", format="%.10g")
    held = value_of(field.name)
    key = f"_view_{field.name}"
    st.session_state[key] = _shown(held, field)
    look = _look(field, view.label, preset, disabled, changed=held is not None)
    st.number_input(**look, key=key, on_change=_take_view, args=(key, field.name, view))


def _look(field: Field, label: str, preset: float | None, disabled: str, *, changed: bool) -> dict[str, Any]:
    return {
        "label": f"{label} · changed" if changed else label,
        "value": None,
        "placeholder": _plain(_shown(preset, field), field) if preset is not None else "not set",
        "step": 1 if field.whole else None,
        "format": "%d" if field.whole else "%.6g",
        "help": disabled or field.help or help_for(label) or None,
        "disabled": bool(disabled),
    }


def _changed(field: Field) -> bool:
    """Whether the field that is about to be drawn will hold a value: on a visit's first run it takes the address's."""
    if state.panel_stands():
        return value_of(field.name) is not None
    try:
        asked = float(st.query_params.get(field.name, ""))
    except ValueError:
        return False
    return math.isfinite(asked)


def _shown(value: float | None, field: Field) -> float | None:
    """The field's value as the reader reads it."""
    view = measures.view(field.name, field.label)
    return value if value is None or view is None else view.shown(value)


def _take_view(key: str, name: str, view: measures.View) -> None:
    entered = st.session_state[key]
    st.session_state[name] = None if entered is None else view.entered(entered)


def _plain(value: float | None, field: Field) -> str:
    if value is None:
        return numbers.UNKNOWN
    return f"{value:,.0f}" if field.whole else numbers.trimmed(numbers.figures(value, 4))


def slider_view(name: str, preset: float | None, *, place: str, labelled: bool = True) -> None:
    """A 1-2-5 slider over the field; moving it writes the field.

    A value between the stops is a stop of its own while it lasts, so that the slider never shows another than the field.
    Where neither field nor preset has one it stands at "–", before the first stop.
    """
    now = value_of(name)
    slider.slider(
        _stops(name, now if now is not None else preset),
        key=f"_slider_{place}_{name}",
        field=name,
        labelled=labelled,
        moved=_take,
    )


@lru_cache(maxsize=512)
def _stops(name: str, at: float | None) -> slider.Stops:
    field = FIELDS[name]
    stops = list(field.steps)
    if at is not None and _plain(at, field) not in {_plain(stop, field) for stop in stops}:
        stops = sorted([*stops, at])
    values: list[float | int | None] = [_stop(stop, field) for stop in stops]
    if at is None:
        values.insert(0, None)
    texts = [_plain(value, field) for value in values]
    return slider.Stops(field.label, tuple(values), tuple(texts), texts.index(_plain(at, field)))


def _stop(value: float, field: Field) -> float | int:
    return int(value) if field.whole or value == int(value) else value


def _take(name: str, value: float | None) -> None:
    if value is not None:
        st.session_state[name] = int(value) if FIELDS[name].whole else float(value)
