"""Fields of the panel that apply to some engines, models or numbers of devices only: which do, and drawing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import streamlit as st

from pages.ui import own
from pages.ui.fields import number_field, value_of
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.places import HOST
from slmopt.specs.scenario import Parallel, Scenario
from slmopt.specs.setup import Setup
from slmopt.theory.engine_llama import MICRO_BATCH
from slmopt.theory.engines import MEMORY_SHARE

DEFAULT: Final = Scenario()
NUMBERS: Final = (
    "devices",
    "link_gbs",
    "link_latency_us",
    "gpu_layers",
    "cpu_moe_layers",
    "micro_batch",
    "gpu_memory_utilization",
)
"""Number fields that are drawn here."""


def applying(engine: str, model: Model) -> frozenset[str]:
    """The fields that apply, of those that do not always."""
    found = {"devices"}
    several = (value_of("devices") or 1) > 1
    if several:
        found |= {"parallel", "link_gbs", "link_latency_us"}
    if engine == "llama.cpp":
        found.add("micro_batch")
        if not several and model.layer_count:
            found.add("gpu_layers")
            found |= {"cpu_moe_layers"} if _experts(model) else set()
            if value_of("gpu_layers") is not None or (_experts(model) and value_of("cpu_moe_layers")):
                found |= {"host", "link_gbs"}
    if engine in MEMORY_SHARE:
        found.add("gpu_memory_utilization")
    if engine != "exact" and any(g.attention is not None and g.attention.window for g in model.groups):
        found.add("full_windows")
    return frozenset(found)


def _experts(model: Model) -> bool:
    return any(group.moe is not None for group in model.groups)


def values(engine: str, model: Model) -> Mapping[str, Any]:
    """What the fields hold, by the scenario's names; None where one does not apply."""
    apply = applying(engine, model)
    held: dict[str, Any] = {name: value_of(name) if name in apply else None for name in NUMBERS}
    state = st.session_state
    chosen = state.get("parallel")
    chooses = "parallel" in apply and chosen in _ways(model) and chosen != DEFAULT.parallel
    held["parallel"] = chosen if chooses else None
    held["full_windows"] = True if "full_windows" in apply and state.get("full_windows") else None
    held["host"] = _host(state.get("host")) if "host" in apply else None
    return held


def _ways(model: Model) -> list[str]:
    return [way for way in get_args(Parallel) if way != "expert" or _experts(model)]


def _hosts() -> dict[str, Any]:
    """What may run the rest, by name: the host that is assumed first, then this session's own devices and all CPUs."""
    devices = library().devices
    cpus = {one.name: one.id for one in devices.values() if one.device_class == "cpu" and one.id != HOST}
    return {devices[HOST].name: None, **own.devices(), **cpus}


def _host(name: object) -> Any:
    return _hosts().get(name) if isinstance(name, str) else None


def draw(engine: str, base: Setup) -> None:
    """Those that apply, the engine's first."""
    apply = applying(engine, base.model)
    shares = {str(name): share for name, share in MEMORY_SHARE.items()}
    _number(apply, "gpu_memory_utilization", shares.get(engine))
    _number(apply, "micro_batch", float(MICRO_BATCH))
    if "full_windows" in apply:
        st.checkbox("Windows kept in full", key="full_windows", bind="query-params")
    _number(apply, "gpu_layers", None if base.model.by_count else base.model.layer_count + 1.0)
    _number(apply, "cpu_moe_layers", 0.0)
    if "host" in apply:
        _choice("Host", "host", list(_hosts()))
    _number(apply, "devices", 1.0)
    if "parallel" in apply:
        _choice("Shared out as", "parallel", _ways(base.model))
    link = base.device.link if "parallel" in apply else base.device.host_link
    _number(apply, "link_gbs", None if link is None else link.gbs, "" if link is None else link.name)
    _number(apply, "link_latency_us", None if link is None else link.latency_us)


def _number(apply: frozenset[str], name: str, preset: float | None, note: str = "") -> None:
    if name in apply:
        number_field(name, preset, note)


def _choice(label: str, key: str, options: list[str]) -> None:
    # Before the first drawing the address may hold a choice, which an own value would hide.
    if key in st.session_state and st.session_state[key] not in options:
        st.session_state[key] = options[0]
    st.selectbox(label, options, key=key, bind="query-params")
