"""Rows of files judged against their ceilings, with the facts that the files lack asked for.

Judging is cached by the files' content and the answers, so that moving a slider of the panel costs nothing here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from pages.ui.uploads import Upload
from slmopt.measured.compare import Comparison, compare
from slmopt.measured.detect import read_many
from slmopt.measured.placed import Facts
from slmopt.measured.table import ReadResult, concat
from slmopt.reports import measurement_tables as tables
from slmopt.specs.base import Sourced
from slmopt.specs.library import library, preset_root
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.words import measured_causes as causes
from slmopt.words.measured_rows import short
from slmopt.words.scenario_line import escape

POINTS_KEY: Final = "_slmopt_measured_points"
"""Where the roofline looks for measured points."""

SAMPLE_DEVICE: Final = "epyc-2core"
SAMPLE_MODEL: Final = "granite-3.1-1b-a400m"
"""The model of the sample's one file whose own words leave it open."""

_BATCH = "measurement_batch"
_LOST: Final = {
    "device": ("need_device",),
    "model": ("need_model", "experts_shape"),
    "weights": ("need_weights",),
}
"""Kinds of facts that a preset gives, and the reasons that say that a row lacks them."""

# Of more names than this that lack a fact, the rarer ones are asked about together.
_MOST_ASKED = 4

Key = tuple[tuple[str, str], ...]
"""Labels and digests of the files shown."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the page is about: files read, and the judged rows as :func:`tables.joined` makes them."""

    read: ReadResult
    rows: pd.DataFrame
    skipped: pd.DataFrame
    needs: tuple[str, ...]
    files: int
    sample: bool


@st.cache_resource(show_spinner=False)
def _sample() -> Gathered:
    """The bundled sweep: its rows on both cores of this project's machine."""
    folder = preset_root() / "this_machine"
    names = sorted(file.name for file in folder.iterdir() if file.name.startswith("llama-bench"))
    read = read_many((name, (folder / name).read_bytes()) for name in names)
    read = ReadResult(read.format, read.rows[read.rows["threads"] == 2], read.skipped, read.warnings)
    judged = compare(read.rows, Facts(device=SAMPLE_DEVICE, model=SAMPLE_MODEL))
    return _gathered(read, judged, len(names), sample=True)


def _gathered(read: ReadResult, judged: Comparison, files: int, *, sample: bool) -> Gathered:
    skipped = pd.concat([read.skipped, judged.skipped], ignore_index=True)
    return Gathered(read, tables.joined(read.rows, judged), skipped, judged.needs, files, sample)


def gathered(files: Mapping[str, Upload], scenario: Scenario) -> Gathered:
    """The files' rows, judged with what the user says about them; the sample where there are none.

    Draws the fields for facts that the files lack, and leaves measured points to the roofline.
    """
    if not files:
        st.session_state[POINTS_KEY] = ()
        return _sample()
    key = tuple((label, file.digest) for label, file in files.items())
    with st.spinner("Holding rows against their ceilings …"):
        read = _together(key, [file.read for file in files.values()])
        batch = st.session_state.get(_BATCH)
        lacking = _lacking(key, batch, read)
    answers = _ask(lacking, scenario, batch)
    with st.spinner("Holding rows against their ceilings …"):
        found = _judged(key, answers, read, lacking)
    st.session_state[POINTS_KEY] = tables.points(found.rows, resolve(scenario).device.name)
    return found


@st.cache_resource(max_entries=2, scope="session", show_spinner=False)
def _together(key: Key, _files: Sequence[ReadResult]) -> ReadResult:
    # The table names files as the page does, so that two of one name stay apart.
    named = [
        replace(one, rows=one.rows.assign(source_file=_renamed(one.rows["source_file"], label)))
        for (label, _), one in zip(key, _files, strict=True)
    ]
    return concat(named)


def _renamed(column: pd.Series, label: str) -> pd.Series:
    """The file's column under its label on the page; the files inside an archive keep their own."""
    return column.cat.rename_categories([label]) if len(column.cat.categories) == 1 else column


@dataclass(frozen=True, slots=True, eq=False)
class Lacking:
    """Rows judged by what they state alone; for each kind of fact, the name under which each row lacks it."""

    judged: Comparison
    names: dict[str, pd.Series]
    asked: dict[str, list[tuple[str, int]]]


@st.cache_resource(max_entries=2, scope="session", show_spinner=False)
def _lacking(key: Key, batch: float | None, _read: ReadResult) -> Lacking:
    del key
    judged = compare(_read.rows, Facts(batch=batch))
    own = _read.rows.loc[judged.rows.index]
    called = tables.filled(own["model"], own["model_type"], own["source_file"])
    names, asked = {}, {}
    for kind, codes in _LOST.items():
        text = (own["device"] if kind == "device" else called).astype("str").fillna("")
        names[kind] = text.where(_has(judged.rows["reasons"], codes)).astype("category")
        counts = names[kind].value_counts()
        asked[kind] = [(str(name), int(count)) for name, count in counts.items() if count]
    return Lacking(judged, names, asked)


def _has(reasons: pd.Series, codes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where a column of reason codes holds one of these."""
    held = [bool(set(codes) & set(str(joined).split("|"))) for joined in reasons.cat.categories]
    return np.asarray([*held, False])[reasons.cat.codes.to_numpy()]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user says: for each kind of fact, the preset for each name that lacks it; and the panel's device, by name.

    ``overrides`` are what the panel changes of that device, which holds for every row on it.
    """

    facts: tuple[tuple[str, str, str], ...]
    batch: float | None
    device: str
    overrides: str

    def of(self, kind: str) -> dict[str, str]:
        """The presets by name, for one kind of fact."""
        return {name: ident for own, name, ident in self.facts if own == kind}


def _ask(lacking: Lacking, scenario: Scenario, batch: float | None) -> Answers:
    """The fields for what files lack, and what they say."""
    needs_batch = batch is not None or "batch" in lacking.judged.needs
    if not needs_batch and not any(lacking.asked.values()):
        return _answers((), None, lacking, scenario)
    facts: list[tuple[str, str, str]] = []
    with st.container(key="slm_ask", border=True):
        st.markdown(
            causes.asking({kind: sum(count for _, count in asked) for kind, asked in lacking.asked.items()})
        )
        facts += _ask_kind("device", lacking, scenario)
        both = bool(lacking.asked["model"] and lacking.asked["weights"])
        columns = st.columns(2) if both else [st.container(), st.container()]
        for kind, column in zip(("model", "weights"), columns, strict=True):
            with column:
                facts += _ask_kind(kind, lacking, scenario)
        if needs_batch:
            st.number_input("Sequences at once", 1, 1_000_000, None, key=_BATCH, persist_state="session")
    return _answers(tuple(facts), batch, lacking, scenario)


def _answers(
    facts: tuple[tuple[str, str, str], ...], batch: float | None, lacking: Lacking, scenario: Scenario
) -> Answers:
    """What the user said, with the panel's changes only where a row is on the panel's device."""
    name = resolve(scenario).device.name
    named = {library().devices[ident].name for kind, _, ident in facts if kind == "device"}
    concerned = name in named or bool((lacking.judged.rows["device"] == name).any())
    return Answers(facts, batch, name, json.dumps(Facts.of(scenario).overrides if concerned else {}))


def _ask_kind(kind: str, lacking: Lacking, scenario: Scenario) -> list[tuple[str, str, str]]:
    """A searchable list of presets for each name that lacks one; the rarer names share the last."""
    asked = lacking.asked[kind]
    if not asked:
        return []
    presets: Mapping[str, Sourced] = {
        "device": library().devices,
        "model": library().models,
        "weights": library().weights,
    }[kind]
    idents = {record.name: ident for ident, record in presets.items()}
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
                    f"Use the scenario's device ({escape(short(name))})",
                    key=f"{key}_scenario",
                    on_click=_choose,
                    args=(key, name),
                    width="stretch",
                )
            with left:
                chosen = _choice(label, key, list(idents), f"Choose a {kind}")
        else:
            chosen = _choice(
                label, key, list(idents), "Choose a model" if kind == "model" else "Choose a format"
            )
        if chosen is not None:
            facts += [(kind, one, idents[chosen]) for one in names]
    return facts


def _choice(label: str, key: str, options: list[str], placeholder: str) -> str | None:
    return st.selectbox(label, options, index=None, key=key, placeholder=placeholder, persist_state="session")


def _choose(key: str, name: str) -> None:
    st.session_state[key] = name


@st.cache_resource(max_entries=3, scope="session", show_spinner=False)
def _judged(key: Key, answers: Answers, _read: ReadResult, _lacking: Lacking) -> Gathered:
    judged = _lacking.judged
    said = pd.DataFrame(
        {kind: _lacking.names[kind].astype("object").map(answers.of(kind)) for kind in _LOST},
        index=judged.rows.index,
    )
    overrides = json.loads(answers.overrides)
    if overrides:
        idents = [ident for ident, device in library().devices.items() if device.name == answers.device]
        said["panel"] = (judged.rows["device"] == answers.device) | said["device"].isin(idents)
    else:
        said["panel"] = False
    codes = said.groupby([*_LOST, "panel"], dropna=False, sort=False).ngroup().to_numpy()
    parts = []
    for code in range(int(codes.max(initial=-1)) + 1):
        members = judged.rows.index[codes == code]
        first = said.loc[members[0]]
        told: dict[str, Any] = {kind: first[kind] for kind in _LOST if isinstance(first[kind], str)}
        facts = Facts(**told, batch=answers.batch, overrides=overrides if first["panel"] else {})
        same = not told and not facts.overrides
        parts.append(judged.rows.loc[members] if same else compare(_read.rows.loc[members], facts).rows)
    rows = tables.stacked(parts) if parts else judged.rows
    needs = tuple(kind for kind, lost in _LOST.items() if _has(rows["reasons"], lost).any())
    needs += ("batch",) if "batch" in judged.needs else ()
    return _gathered(_read, Comparison(rows, judged.skipped, needs), len(key), sample=False)
