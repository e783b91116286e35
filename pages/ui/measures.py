"""Which units this visitor reads: the panel's switches, carried by the address, and what holds for one run of a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

import streamlit as st

from slmopt.specs.device import GB
from slmopt.words import pace, units

KEYS: Final = ("sizes", "speed")
"""The switches' names, in the session and in the address."""


def chosen() -> units.Units:
    """The units of this session; on a visitor's first run, when switches are drawn only later, those of the address."""
    return units.chosen(*(st.session_state.get(key, st.query_params.get(key)) for key in KEYS))


def control() -> None:
    """The switches at the panel's foot."""
    _switch(
        "Sizes in",
        get_args(units.Sizes),
        "sizes",
        "GB is 10⁹ bytes, as makers sell memory; GiB is 2³⁰, as operating systems count. Bandwidths stay in GB/s.",
    )
    _switch(
        "A user's speed in",
        get_args(units.Speed),
        "speed",
        "How fast a reply comes after its first token: the time per token in ms, or each user's tokens/s.",
    )


def _switch(label: str, names: Sequence[str], key: str, about: str) -> None:
    st.segmented_control(
        label,
        names,
        default=getattr(units.USUAL, key),
        required=True,
        key=key,
        bind="query-params",
        help=about,
    )


@dataclass(frozen=True, slots=True)
class View:
    """A field as its reader reads it: its label, what it shows of the field's value, and what an entry makes of it."""

    label: str
    shown: Callable[[float], float]
    entered: Callable[[float], float]


def view(name: str, label: str) -> View | None:
    """The view of a scenario's field in the units in use; None where they are the scenario's own."""
    if name == "target_tpot_ms" and pace.as_speed():
        return View(pace.label(), _inverse, _inverse)
    read_in = units.now()
    if label.endswith("(GB)") and read_in.sizes != "GB":
        ratio = read_in.giga / GB
        return View(
            label.replace("(GB)", f"({read_in.sizes})"),
            lambda value: value / ratio,
            lambda value: value * ratio,
        )
    return None


def _inverse(value: float) -> float:
    """Tokens/s of ms a token, and the reverse; what is no speed stays, so that the page can say so."""
    return 1e3 / value if value > 0 else value
