"""Rows of files judged against their ceilings, or the sample's where there are none.

Judging is cached by the files' content and the answers, so that moving a slider of the panel costs nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.asked import LOST, NO_BATCH, Answers, Key, Lacking, ask, has, lacking, records
from pages.ui.uploads import Upload
from pages.ui.working import DRAWING, JUDGING, LONG_ROWS, Bar
from slmopt.figures.measured_marks import Group
from slmopt.figures.named import Named
from slmopt.measured.compare import Comparison, compare
from slmopt.measured.detect import read_many
from slmopt.measured.distinct import distinct, members
from slmopt.measured.placed import Facts
from slmopt.measured.table import ReadResult, concat
from slmopt.reports import measured_groups
from slmopt.reports import measurement_tables as tables
from slmopt.specs.library import library, preset_root
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.roofline_points import MeasuredPoint
from slmopt.words import measured_causes as causes
from slmopt.words import measurements as words

_POINTS: Final = "_slmopt_measured_points"
"""The rows of the visitor's files that were judged last, and of which device the roofline shows them."""

JUDGED_KEY: Final = "_slmopt_judged"
"""Where a report looks for the rows of the visitor's files as they were last judged."""

_HELD: Final = "_slmopt_held"
"""The files whose rows were held against their ceilings last."""

SAMPLE_DEVICE: Final = "epyc-2core"
SAMPLE_MODEL: Final = "granite-3.1-1b-a400m"
"""The model of the sample's one file whose own words leave it open."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the page is about: files read, the judged rows as :func:`tables.joined` makes them, and what follows from them.

    ``listed`` are the rows for the page's table; ``misfits`` sentences about answers that a row contradicts; ``told`` what the user said of which rows (positions in
    ``read.rows``); ``ident`` changes with any of it.
    """

    read: ReadResult
    rows: pd.DataFrame
    listed: pd.DataFrame
    skipped: pd.DataFrame
    groups: list[Named[Group]]
    said: words.Said
    sample: bool
    misfits: tuple[str, ...] = ()
    told: tuple[Told, ...] = ()
    ident: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Rows of which the user said the same, by their index."""

    index: pd.Index
    facts: Facts


@dataclass(frozen=True, eq=False)
class OnTheRoofline:
    """Judged rows and the device whose roofline shows them; the points themselves only when a page asks for them."""

    rows: pd.DataFrame
    device: str

    @cached_property
    def points(self) -> tuple[MeasuredPoint, ...]:
        """Those rows as points."""
        return tables.points(self.rows, self.device)


def measured_points() -> tuple[MeasuredPoint, ...]:
    """The visitor's rows that Measurements set against the scenario last, as points of its roofline."""
    held: OnTheRoofline | None = st.session_state.get(_POINTS)
    return () if held is None else held.points


def sample(scenario: Scenario) -> Gathered:
    """The bundled sweep; where the panel's device is its machine, with what the panel changes of it."""
    own = resolve(scenario).device.name == library().devices[SAMPLE_DEVICE].name
    return _sample_judged(json.dumps(Facts.of(scenario).overrides if own else {}))


@st.cache_resource(max_entries=8, show_spinner=False)
def _sample_judged(overrides: str) -> Gathered:
    read, files = _sample_read()
    facts = Facts(device=SAMPLE_DEVICE, model=SAMPLE_MODEL, overrides=json.loads(overrides))
    found = _gathered(read, compare(read.rows, facts), files, sample=True)
    return replace(found, told=(Told(read.rows.index, facts),), ident=f"sample {overrides}")


@st.cache_resource(show_spinner=False)
def _sample_read() -> tuple[ReadResult, int]:
    """The bundled sweep's rows on both cores of this project's machine, and from how many files."""
    folder = preset_root() / "this_machine"
    names = sorted(file.name for file in folder.iterdir() if file.name.startswith("llama-bench"))
    read = read_many((name, (folder / name).read_bytes()) for name in names)
    return replace(read, rows=read.rows[read.rows["threads"] == 2]), len(names)


def _gathered(
    read: ReadResult, judged: Comparison, files: int, *, sample: bool, misfits: tuple[str, ...] = ()
) -> Gathered:
    skipped = pd.concat([read.skipped, judged.skipped], ignore_index=True)
    rows = tables.joined(read.rows, judged)
    said = words.said(rows, files, judged.needs, sample=sample)
    groups = measured_groups.groups(rows)
    return Gathered(read, rows, tables.listed(rows), skipped, groups, said, sample, misfits)


def gathered(files: Mapping[str, Upload], scenario: Scenario, bar: Bar) -> Gathered:
    """The files' rows, judged with what the user says about them; the sample where there are none.

    Draws the fields for facts that the files lack, and leaves measured points to the roofline.
    """
    if not files:
        st.session_state[_POINTS] = None
        st.session_state[JUDGED_KEY] = None
        return sample(scenario)
    key = tuple((label, file.digest) for label, file in files.items())
    read = _together(key, [file.read for file in files.values()])
    text = f"Holding {len(read.rows):,} rows against their ceilings …"
    long = len(read.rows) >= LONG_ROWS
    if long and st.session_state.get(_HELD) != key:
        bar.tell(JUDGING, 0.0, text)
    lost = lacking(key, read)
    answers = ask(lost, scenario)
    ident = repr((key, answers))
    last = st.session_state.get(JUDGED_KEY)
    if long and (last is None or last.ident != ident):
        bar.tell(JUDGING, 0.5, text)
    found = replace(_judged(key, answers, read, lost), ident=ident)
    st.session_state[_HELD] = key
    if long and (last is None or last.ident != ident):
        bar.tell(DRAWING, 0.0, f"Drawing {len(read.rows):,} rows …")
    for sentence in found.misfits:
        st.markdown(f"✕ {sentence}")
    unknown = int(has(found.rows["notes"], ("host_unknown",)).sum())
    if unknown:
        st.markdown(causes.host_asked(unknown))
    st.session_state[JUDGED_KEY] = found
    device = resolve(scenario).device.name
    held = st.session_state.get(_POINTS)
    if held is None or held.rows is not found.rows or held.device != device:
        st.session_state[_POINTS] = OnTheRoofline(found.rows, device)
    return found


@st.cache_resource(max_entries=1, scope="session", show_spinner=False)
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


@st.cache_resource(max_entries=1, scope="session", show_spinner=False)
def _judged(key: Key, answers: Answers, _read: ReadResult, _lacking: Lacking) -> Gathered:
    judged = _lacking.judged
    told = _told(answers, _lacking)
    parts = [
        _at(judged.rows, one.index)
        if one.facts == Facts()
        else compare(_at(_read.rows, one.index), one.facts).rows
        for one in told
    ]
    rows = tables.stacked(parts) if parts else judged.rows
    needs = tuple(kind for kind, lost in LOST.items() if has(rows["reasons"], lost).any())
    needs += ("batch",) if has(rows["reasons"], NO_BATCH).any() else ()
    answered = Comparison(rows, judged.skipped, needs)
    misfits = _misfits(answers, _lacking, rows["reasons"], _read.rows["params"])
    found = _gathered(_read, answered, len(key), sample=False, misfits=misfits)
    return replace(found, told=told)


def _at(rows: pd.DataFrame, index: pd.Index) -> pd.DataFrame:
    """These rows; the table itself, and no copy of it, where they are all."""
    return rows if rows.index.equals(index) else rows.loc[index]


def _told(answers: Answers, lacking: Lacking) -> tuple[Told, ...]:
    """The rows by what the user said of them."""
    judged = lacking.judged
    size = len(judged.rows)
    chosen = {kind: _chosen(lacking.names[kind], answers.of(kind)) for kind in LOST}
    overrides = json.loads(answers.overrides)
    panel = np.zeros(size, dtype=bool)
    if overrides:
        panel = (judged.rows["device"] == answers.device).to_numpy() | (chosen["device"] == answers.device)
    batch = lacking.no_batch & (answers.batch is not None)
    codes, first = distinct((*chosen.values(), panel, batch), size)
    groups = []
    for at, one in zip(members(codes, len(first)), first, strict=True):
        told: dict[str, Any] = {
            kind: records(kind)[column[one]]
            for kind, column in chosen.items()
            if isinstance(column[one], str)
        }
        if batch[one]:
            told["batch"] = answers.batch
        index = judged.rows.index if len(first) == 1 else judged.rows.index[at]
        groups.append(Told(index, Facts(**told, overrides=overrides if panel[one] else {})))
    return tuple(groups)


def _chosen(names: pd.Series, answers: Mapping[str, str]) -> pd.Categorical:
    """The record chosen for each row's name; missing where none is."""
    known = list(dict.fromkeys(answers.values()))
    places = [
        known.index(answers[str(name)]) if str(name) in answers else -1 for name in names.cat.categories
    ]
    codes = np.array([*places, -1], dtype=np.min_scalar_type(-len(known) - 1))[names.cat.codes]
    return pd.Categorical.from_codes(codes, pd.Index(known, dtype="str"))


def _misfits(answers: Answers, lacking: Lacking, reasons: pd.Series, params: pd.Series) -> tuple[str, ...]:
    """A sentence for each model that was chosen and that its rows contradict by their parameter count."""
    still = has(reasons, LOST["model"])
    told = []
    for name, chosen in answers.of("model").items():
        members = reasons.index[still & (lacking.names["model"] == name).to_numpy()]
        if len(members):
            model = records("model")[chosen]
            assert isinstance(model, Model)
            told.append(
                causes.misfit(model.name, model.total_params, name, float(params.loc[members].median()))
            )
    return tuple(told)
