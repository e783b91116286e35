"""Records of one's own: models, devices and weight formats that this session knows beside the presets.

They live in the session and in no link. Their names come from strangers' files: whatever takes effect somewhere (a tag,
an icon name, an address, a figure's template) is made harmless here, once, before any page shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

import streamlit as st

from slmopt.specs.base import Sourced
from slmopt.specs.device import Device
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.words.measured_rows import harmless, short

Record = TypeVar("Record", Model, Device, WeightFormat)
Kind = Literal["models", "devices", "weights"]

LONGEST_NAME: Final = 80
MOST: Final = 200
"""Records of a kind that are kept; the oldest go first."""


def models() -> Mapping[str, Model]:
    """Own models, by name."""
    return _held("models", Model)


def devices() -> Mapping[str, Device]:
    """Own devices, by name."""
    return _held("devices", Device)


def weights() -> Mapping[str, WeightFormat]:
    """Formats of the files that own models were read from, by name."""
    return _held("weights", WeightFormat)


def _held(kind: Kind, type_: type[Record]) -> dict[str, Record]:
    held: dict[str, Record] = st.session_state.setdefault(f"_slmopt_own_{kind}", {})
    return {name: record for name, record in held.items() if isinstance(record, type_)}


def add_model(model: Model) -> str:
    """Take a model in; returns the name that the panel gives it."""
    return _add("models", _clean_model(model), library().models)


def add_device(device: Device) -> str:
    """Take a device in; returns the name that the panel gives it."""
    units = tuple(unit.model_copy(update={"name": clean_name(unit.name)}) for unit in device.units)
    return _add("devices", device.model_copy(update={"units": units}), library().devices)


def add_weights(weights_: WeightFormat) -> str:
    """Take a file's weight format in; returns the name that the panel gives it."""
    return _add("weights", weights_, library().weights)


def clean_name(name: str) -> str:
    """The name as every page may show it."""
    text = (
        harmless(short(name, LONGEST_NAME)).replace("%{", "%\u2060{").replace(":material", ":\u2060material")
    )
    return text or "unnamed"


def _clean_model(model: Model) -> Model:
    """The model with the kinds of its states made harmless: pages tell layers apart by them."""
    groups = tuple(
        group
        if group.state is None
        else group.model_copy(
            update={"state": group.state.model_copy(update={"kind": clean_name(group.state.kind)})}
        )
        for group in model.groups
    )
    return model.model_copy(update={"groups": groups})


def _add(kind: Kind, record: Record, presets: Mapping[str, Sourced]) -> str:
    held: dict[str, Record] = st.session_state.setdefault(f"_slmopt_own_{kind}", {})
    taken = {preset.name for preset in presets.values()}
    stem, number = clean_name(record.name), 1
    name = stem
    while name in taken or (name in held and held[name] != record.model_copy(update={"name": name})):
        number += 1
        name = f"{stem} ({number})"
    held[name] = record.model_copy(update={"name": name})
    while len(held) > MOST:
        held.pop(next(iter(held)))
    return name
