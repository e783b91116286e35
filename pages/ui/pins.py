"""Pinned scenarios: up to three stand beside the present one, in every figure that can hold them and in one table.

They live in the address, written small, so that a link brings them along; those with a model or device of this
visitor's own stay in the session.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import streamlit as st

from pages.ui import state
from slmopt.figures.named import Named
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import SCHEMA_VERSION, Scenario, scenario
from slmopt.specs.setup import resolve

Result = TypeVar("Result")

LETTERS = ("A", "B", "C")
KEY = "pins"
_HELD = "_slmopt_pins"
_WRITTEN = "_slmopt_pins_written"
# A link that someone has tampered with must not fill the memory.
_LARGEST = 100_000


def pinned() -> list[Named[Scenario]]:
    """The pinned scenarios with their letters; those of the address where it has changed."""
    text = st.session_state.get(KEY) or ""
    if text != st.session_state.get(_WRITTEN, ""):
        found, lost = read(text)
        st.session_state[_HELD], st.session_state[_WRITTEN] = found, text
        if lost:
            state.say_unknown(KEY, lost)
    return [Named(letter, one) for letter, one in zip(LETTERS, st.session_state.get(_HELD, ()), strict=False)]


def results(of: Callable[[Scenario], Result]) -> list[Named[Result]]:
    """What a function makes of each pinned scenario, under its letter."""
    return [Named(one.name, of(one.result)) for one in pinned()]


def write(scenarios: list[Scenario]) -> str:
    """The scenarios as a parameter of the address; empty where there are none to write."""
    kept = [
        one.model_dump(mode="json", exclude_defaults=True)
        for one in scenarios
        if all(isinstance(getattr(one, name), str) for name in ("model", "device", "weights"))
    ]
    if not kept:
        return ""
    packed = zlib.compress(json.dumps([SCHEMA_VERSION, *kept], separators=(",", ":")).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


@lru_cache(maxsize=64)
def read(text: str) -> tuple[list[Scenario], str]:
    """The scenarios that an address carries, and a sentence about what could not be restored."""
    if not text:
        return [], ""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpack = zlib.decompressobj()
        raw = unpack.decompress(packed, _LARGEST)
        version, *kept = list(json.loads(raw))
        kept = [dict(one) for one in kept]
        # A string or an object unpacks too.
        int(version)
    except (ValueError, TypeError, OverflowError, zlib.error, RecursionError):
        return [], "The pinned scenarios of this link could not be read: copy the link again, in full."
    found, lost = [], []
    for one in kept[: len(LETTERS)]:
        try:
            restored = scenario(one)
            resolve(restored)
        except SpecError as wrong:
            lost.append(str(wrong))
        else:
            found.append(restored)
    if lost and version != SCHEMA_VERSION:
        return found, f"A pinned scenario of this older link could not be restored: {lost[0]}"
    return found, f"A pinned scenario of this link could not be restored: {lost[0]}" if lost else ""


def keep(scenarios: list[Scenario]) -> None:
    """Pin these and no others."""
    st.session_state[_HELD] = scenarios
    st.session_state[KEY] = st.session_state[_WRITTEN] = write(scenarios)
    state.forget_unknown(KEY)
