"""The scenario panel of the sidebar: eight controls at first, the rest in closed groups that say their state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import streamlit as st

from pages.ui import beside, fields, groups, measures, own, present, reading, state
from pages.ui.fields import value_of
from pages.ui.places import DEFAULT
from slmopt.specs.base import Sourced
from slmopt.specs.library import library
from slmopt.specs.scenario import SCHEMA_VERSION, scenario
from slmopt.specs.setup import resolve
from slmopt.words.glossary import help_for
from slmopt.words.model import unknown


def scenario_panel(held: Mapping[str, Any] | None) -> None:
    """Draw the panel. ``held``: what :func:`pages.ui.reading.values` said; None on a visit's first run.

    Then all fields are drawn, since only drawn fields take what the address says; later those of a closed group stay away
    as long as none of them was changed. Which fields stand side by side says page.css: a block for each pair would cost
    the server and the browser more than the fields.
    """
    _version_mark()
    _choice("Model", "model", "models", own.models())
    _choice("Device", "device", "devices", own.devices(), forgets=(*groups.OF_THE_DEVICE, "fit"))
    _choice("Weights", "weights", "weights", own.weights(), forgets=groups.BITS)
    _choice("Cache", "cache_k", "caches")
    stands = reading.values() if held is None else held
    base = resolve(scenario({name: stands[name] for name in ("model", "device", "weights", "cache_k")}))
    for pair in (("prompt", "output"), ("batch", "context")):
        fields.pair({name: _workload_preset(name) for name in pair})
    beside.buttons()
    groups.draw(base, stands, every=held is None)
    measures.control()
    present.toggle()


def _version_mark() -> None:
    """Hidden fields that the address carries: the scenario's version, so that an old link keeps its meaning, and a fit."""
    st.session_state.setdefault("v", str(SCHEMA_VERSION))
    st.text_input("Link version", key="v", bind="query-params")
    st.text_input("Fit", value=None, key="fit", bind="query-params")


def _forget(key: str, names: Sequence[str]) -> None:
    """Another preset was chosen: what overrode the last one goes, and the word that a link's is not known."""
    state.forget_unknown(key)
    if names:
        fields.reset(names)
        st.session_state.pop("_sold", None)


def _choice(
    label: str,
    key: str,
    kind: reading.Kind,
    own_records: Mapping[str, Sourced] = MappingProxyType({}),
    forgets: Sequence[str] = (),
) -> None:
    """A searchable choice; the address carries the record's name. Own records come before the presets."""
    first, *others = _names(kind, str(getattr(DEFAULT, key)))
    names = [first, *own_records, *others]
    asked = st.query_params.get(key)
    if asked is not None and asked not in names:
        # The field drops a name that it does not know; who opened the link should hear of it.
        state.say_unknown(key, unknown(key, asked, first))
    picked = st.selectbox(
        label,
        names,
        key=key,
        bind="query-params",
        on_change=_forget,
        args=(key, forgets),
        help=help_for(label) or None,
    )
    if picked != first:
        state.forget_unknown(key)


@lru_cache(maxsize=4)
def _names(kind: reading.Kind, default: str) -> tuple[str, ...]:
    """The presets' names. The default's is first: a choice whose default is another place warns whenever the program sets it."""
    first = getattr(library(), kind)[default].name
    return (first, *(name for name in reading.idents(kind) if name != first))


def _workload_preset(name: str) -> float:
    if name != "context":
        return float(getattr(DEFAULT, name))
    return float((value_of("prompt") or DEFAULT.prompt) + (value_of("output") or DEFAULT.output))
