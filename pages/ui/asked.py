"""Facts that benchmark files lack and that their user knows: found, asked for, and kept while pages change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from pages.ui import own
from slmopt.measured.compare import Comparison, compare
from slmopt.measured.placed import Facts
from slmopt.measured.table import ReadResult
from slmopt.reports import measurement_tables as tables
from slmopt.specs.base import Sourced
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.words import measured_causes as causes
from slmopt.words.measured_rows import marked

LOST: Final = {
    "device": ("need_device",),
    "model": ("need_model", "experts_shape"),
    "weights": ("need_weights",),
}
"""Kinds of facts that a preset gives, and the reasons that say that a row lacks them."""

NO_BATCH: Final = ("need_batch",)

# Of more names than this that lack a fact, the rarer ones are asked about together.
_MOST_ASKED = 4

Key = tuple[tuple[str, str], ...]
"""Labels and digests of the files shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Lacking:
    """Rows judged by what they state alone.

    ``names``: for each kind of fact, under which name each row lacks it; ``asked``: those names and their rows, most
    first; ``no_batch``: which rows do not state how many sequences ran at once.
    """

    judged: Comparison
    names: dict[str, pd.Series]
    asked: dict[str, list[tuple[str, int]]]
    no_batch: npt.NDArray[np.bool_]


@st.cache_resource(max_entries=1, scope="session", show_spinner=False)
def lacking(key: Key, _read: ReadResult) -> Lacking:
    """What the rows of these files lack."""
    del key
    judged = compare(_read.rows)
    whole = judged.rows.index.equals(_read.rows.index)
    stated = _read.rows if whole else _read.rows.loc[judged.rows.index]
    called = tables.filled(stated["model"], stated["model_type"], stated["source_file"])
    names, asked = {}, {}
    for kind, codes in LOST.items():
        column = stated["device"] if kind == "device" else called
        names[kind] = _names(column, has(judged.rows["reasons"], codes))
        counts = [(str(name), int(count)) for name, count in names[kind].value_counts().items() if count]
        asked[kind] = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    return Lacking(judged, names, asked, has(judged.rows["reasons"], NO_BATCH))


def _names(column: pd.Series, lost: npt.NDArray[np.bool_]) -> pd.Series:
    """Under which name each row lacks something, empty where it has none; missing where it lacks nothing."""
    codes = np.asarray(column.cat.codes)
    known = column.cat.categories
    found = np.where(lost, np.where(codes < 0, len(known), codes), -1)
    return pd.Series(pd.Categorical.from_codes(found, known.append(pd.Index([""]))), index=column.index)


def has(reasons: pd.Series, codes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where a column of reason codes holds one of these."""
    held = [bool(set(codes) & set(str(joined).split("|"))) for joined in reasons.cat.categories]
    return np.asarray([*held, False])[reasons.cat.codes.to_numpy()]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user says: for each kind of fact and each name that lacks it, a record's name; and the panel's device.

    ``overrides`` are what the panel changes of that device, which holds for every row on it.
    """

    facts: tuple[tuple[str, str, str], ...]
    batch: float | None
    device: str
    overrides: str

    def of(self, kind: str) -> dict[str, str]:
        """The record chosen for each name that lacks this kind of fact."""
        return {name: chosen for of, name, chosen in self.facts if of == kind}


def ask(lost: Lacking, scenario: Scenario) -> Answers:
    """Draw the fields for what files lack; returns what they say."""
    batch: int | None = None
    no_batch = int(lost.no_batch.sum())
    if not no_batch and not any(lost.asked.values()):
        return _answers((), None, lost, scenario)
    facts: list[tuple[str, str, str]] = []
    with st.container(key="slm_ask", border=True):
        counts = {kind: sum(count for _, count in asked) for kind, asked in lost.asked.items()}
        st.markdown(causes.asking({**counts, "batch": no_batch}))
        facts += _ask_kind("device", lost, scenario)
        both = bool(lost.asked["model"] and lost.asked["weights"])
        columns = st.columns(2) if both else [st.container(), st.container()]
        for kind, column in zip(("model", "weights"), columns, strict=True):
            with column:
                facts += _ask_kind(kind, lost, scenario)
        if no_batch:
            batch = st.number_input(
                "Sequences at once", 1, 1_000_000, None, key="measurement_batch", persist_state="session"
            )
    return _answers(tuple(facts), batch, lost, scenario)


def _answers(
    facts: tuple[tuple[str, str, str], ...], batch: float | None, lost: Lacking, scenario: Scenario
) -> Answers:
    """What the user said, with the panel's changes only where a row is on the panel's device."""
    name = resolve(scenario).device.name
    named = {device for kind, _, device in facts if kind == "device"}
    concerned = name in named or bool((lost.judged.rows["device"] == name).any())
    return Answers(facts, batch, name, json.dumps(Facts.of(scenario).overrides if concerned else {}))


def _ask_kind(kind: str, lost: Lacking, scenario: Scenario) -> list[tuple[str, str, str]]:
    """A searchable list of presets for each name that lacks one; the rarer names share the last."""
    asked = lost.asked[kind]
    if not asked:
        return []
    options = list(records(kind))
    alone = asked if len(asked) <= _MOST_ASKED else asked[: _MOST_ASKED - 1]
    fields = [[name] for name, _ in alone]
    if len(alone) < len(asked):
        fields.append([name for name, _ in asked[len(alone) :]])
    facts = []
    if kind == "device":
        st.markdown(f":small[{causes.UNLISTED}]")
    for names in fields:
        key = f"measurement_{kind}_{hashlib.sha256(repr(names).encode()).hexdigest()[:12]}"
        label = causes.asked_label(kind, names)
        if kind == "device":
            name = resolve(scenario).device.name
            left, right = st.columns([3, 2], vertical_alignment="bottom")
            with right:
                st.button(
                    f"Use the scenario's device ({marked(name)})",
                    key=f"{key}_scenario",
                    on_click=_choose,
                    args=(key, name),
                    width="stretch",
                )
            with left:
                chosen = _choice(label, key, options, f"Choose a {kind}")
        else:
            chosen = _choice(label, key, options, "Choose a model" if kind == "model" else "Choose a format")
        if chosen is not None:
            facts += [(kind, one, chosen) for one in names]
    return facts


def records(kind: str) -> dict[str, Sourced]:
    """What can be chosen, by name: the presets, and this session's own."""
    presets: Mapping[str, Sourced] = {
        "device": library().devices,
        "model": library().models,
        "weights": library().weights,
    }[kind]
    known = {"device": own.devices, "model": own.models, "weights": own.weights}[kind]()
    return {**{record.name: record for record in presets.values()}, **known}


def _choice(label: str, key: str, options: list[str], placeholder: str) -> str | None:
    return st.selectbox(label, options, index=None, key=key, placeholder=placeholder, persist_state="session")


def _choose(key: str, name: str) -> None:
    st.session_state[key] = name
