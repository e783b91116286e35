"""A scenario put into the panel's fields (a ready case, or what a scenario file holds), and what a link says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import fields, own, state
from pages.ui.field_list import FIELDS
from pages.ui.places import DEFAULT
from pages.ui.reading import AUTO, NO_DRAFT, PLAIN, SAME
from slmopt.specs.base import Sourced, SpecError
from slmopt.specs.device import Device
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import find, library
from slmopt.specs.model import Model
from slmopt.specs.places import HOST
from slmopt.specs.scenario import Scenario
from slmopt.words.measured_rows import marked
from slmopt.words.share import not_in_panel

# Fields whose emptiness has a name of its own in the panel.
_NONE: Final = {"cache_v": SAME, "draft_model": NO_DRAFT}
_UNITS: Final = ("prefill_unit", "decode_unit")
_CHOICES: Final = ("model", "device", "weights", "cache_k", "cache_v", "draft_model")
_APART: Final = ("compute", "host", "full_windows", "calibration", "version", "name")
_PLAIN: Final = (*PLAIN, "parallel")


def take(wanted: Scenario) -> list[str]:
    """Set every field of the panel; what the scenario leaves open goes back to its preset.

    To be called from a callback, before fields are drawn. Returns a sentence of Markdown for each thing that the panel
    cannot hold.
    """
    lost: list[str] = []
    for name in _CHOICES:
        _choose(name, getattr(wanted, name), lost)
    for name in FIELDS:
        value = getattr(wanted, name)
        usual = {getattr(DEFAULT, name), state.HOUSE_TARGETS.get(name)}
        st.session_state[name] = None if value in usual else value
    for name in _PLAIN:
        st.session_state[name] = getattr(wanted, name)
    st.session_state["compute"] = wanted.compute or AUTO
    for name in _UNITS:
        # The panel stands at the first unit of a device unless told otherwise.
        unit = getattr(wanted, name)
        if unit is None:
            st.session_state.pop(name, None)
        else:
            st.session_state[name] = unit
    _take_host(wanted.host)
    st.session_state["full_windows"] = bool(wanted.full_windows)
    st.session_state["fit"] = None if wanted.calibration is None else wanted.calibration.text()
    held = {*_CHOICES, *FIELDS, *_PLAIN, *_UNITS, *_APART}
    lost += [
        not_in_panel(name, getattr(wanted, name))
        for name in Scenario.model_fields
        if name not in held and getattr(wanted, name) != getattr(DEFAULT, name)
    ]
    return lost


def address() -> dict[str, str]:
    """What the panel's fields say, as an address carries it: what stands at its default is left out.

    The address in the browser follows the fields a moment later, so it cannot be read back in the same run.
    """
    said: dict[str, str] = {}
    usual: dict[str, object] = {name: _usual(name) for name in _CHOICES}
    usual |= {name: getattr(DEFAULT, name) for name in _PLAIN} | {"compute": AUTO}
    device = find("device", {**library().devices, **own.devices()}, str(_held("device", usual)))
    usual |= dict.fromkeys(_UNITS, device.units[0].name)
    for name in (*_CHOICES, *_PLAIN, "compute", *_UNITS):
        if (held := _held(name, usual)) != usual[name]:
            said[name] = str(held)
    if st.session_state.get("full_windows"):
        said["full_windows"] = "true"
    if st.session_state.get("fit"):
        said["fit"] = str(st.session_state["fit"])
    host = st.session_state.get("host")
    if host is not None and host != library().devices[HOST].name:
        said["host"] = str(host)
    for name in FIELDS:
        value = fields.value_of(name)
        if value is not None:
            said[name] = str(int(value)) if value == int(value) else repr(value)
    return said


def _held(name: str, usual: Mapping[str, object]) -> object:
    held = st.session_state.get(name)
    return usual[name] if held is None else held


def _usual(name: str) -> str:
    """The name that a choice stands at before anybody chose."""
    default = getattr(DEFAULT, name)
    return _NONE[name] if default is None else _records(name)[default].name


def _take_host(wanted: object) -> None:
    """Put the host's choice at what the scenario names, or away, where the assumed one stands."""
    if wanted is None:
        st.session_state.pop("host", None)
    elif isinstance(wanted, Device):
        st.session_state["host"] = own.add_device(wanted)
    else:
        st.session_state["host"] = library().devices[str(wanted)].name


def _choose(name: str, wanted: object, lost: list[str]) -> None:
    """Put a choice at a record's name, taking records that no preset has into the session."""
    if wanted is None:
        st.session_state[name] = _NONE[name]
        return
    if not isinstance(wanted, str):
        for kind, add in _OWN.items():
            if isinstance(wanted, kind):
                st.session_state[name] = add(wanted)
                return
        lost.append(not_in_panel(name, getattr(wanted, "name", wanted)))
        st.session_state[name] = _usual(name)
        return
    try:
        st.session_state[name] = find(name, _records(name), wanted).name
    except SpecError as error:
        lost.append(marked(error, 300))
        st.session_state[name] = _usual(name)


def _records(name: str) -> Mapping[str, Sourced]:
    presets = library()
    records: dict[str, Mapping[str, Sourced]] = {
        "model": presets.models,
        "draft_model": presets.models,
        "device": presets.devices,
        "weights": presets.weights,
    }
    return records.get(name, presets.caches)


_OWN: Final[Mapping[type, Callable[[Any], str]]] = {
    Model: own.add_model,
    Device: own.add_device,
    WeightFormat: own.add_weights,
}
