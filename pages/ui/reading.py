"""What the panel's fields hold, read without drawing them.

A page can then be drawn before the panel, and the figure that a key press changes is painted before thirty fields that it
does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from pages.ui import fields, own, places
from pages.ui.field_list import FIELDS
from pages.ui.places import DEFAULT
from slmopt.specs.base import Sourced
from slmopt.specs.library import find, library

SAME = "same as K"
AUTO = "the engine's own"
NO_DRAFT = "none"
SAME_DEVICE = "the same device"
Kind = Literal["models", "devices", "weights", "caches"]
PLAIN = ("engine", "allocation", "batching", "residency", "attention_kernels")


def values() -> dict[str, Any]:
    """Every field's value by the scenario's names; None where the preset's stands, drawn or not."""
    presets = library()
    chosen: dict[str, Any] = {
        "model": picked("model", "models", DEFAULT.model, own.models()),
        "device": picked("device", "devices", DEFAULT.device, own.devices()),
        "weights": picked("weights", "weights", DEFAULT.weights, own.weights()),
        "cache_k": picked("cache_k", "caches", DEFAULT.cache_k),
        "draft_model": picked("draft_model", "models", None, own.models()),
        "cache_v": picked("cache_v", "caches", None),
        "compute": _unless(AUTO, st.session_state.get("compute")),
        **{name: _unless(getattr(DEFAULT, name), st.session_state.get(name)) for name in PLAIN},
    }
    if chosen["draft_model"] is not None:
        chosen["draft_device"] = picked("draft_device", "devices", None)
    units = [unit.name for unit in find("device", presets.devices, chosen["device"]).units]
    for name in ("prefill_unit", "decode_unit"):
        held = st.session_state.get(name)
        chosen[name] = held if held in units[1:] else None
    chosen["calibration"] = st.session_state.get("fit") or None
    numbers = {name: fields.value_of(name) for name in FIELDS if name not in places.NUMBERS}
    model = find("model", presets.models, chosen["model"])
    return {**chosen, **numbers, **places.values(chosen["engine"] or DEFAULT.engine, model)}


def picked(
    key: str,
    kind: Kind,
    default: object,
    own_records: Mapping[str, Sourced] = MappingProxyType({}),
) -> Any:
    """The record that a choice stands at: an own record itself, a preset's id, or the default where nothing was chosen."""
    name = st.session_state.get(key)
    if not isinstance(name, str):
        return default
    return own_records[name] if name in own_records else idents(kind).get(name, default)


@lru_cache(maxsize=4)
def idents(kind: Kind) -> Mapping[str, str]:
    """The presets' ids by their names, in the order in which they are offered."""
    records: Mapping[str, Sourced] = getattr(library(), kind)
    return MappingProxyType({record.name: ident for ident, record in records.items()})


def _unless(none: str, held: Any) -> Any:
    return None if held == none else held
