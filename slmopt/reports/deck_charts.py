"""Which native chart a figure's table becomes in a slide deck: lines against a number, bars for names, or none (a table)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
import pandas as pd

from slmopt.figures import theme
from slmopt.reports.columns import column_in_units, column_words, in_units, numeric
from slmopt.reports.picture import Picture

Form = Literal["lines", "bars", "stacked"]

_MOST_POINTS: Final = 60
_MOST_BARS: Final = 40
_MOST_SERIES: Final = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One line or one colour of bars: its name, its values, and a slot of the theme; dashed for estimates."""

    name: str
    values: tuple[float | None, ...]
    colour: str
    dashed: bool = False
    points: bool = False
    x: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DeckChart:
    """A native chart before python-pptx: ``names`` are the bars' names; lines carry an x of their own."""

    form: Form
    series: tuple[Series, ...]
    names: tuple[str, ...] = ()
    x_title: str = ""
    y_title: str = ""
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True, slots=True)
class _Pick:
    """For tables that hold more than their figure shows: the columns, and which rows."""

    columns: tuple[str, ...]
    form: Form = "bars"
    names: tuple[str, ...] = ()
    where: tuple[str, str] | None = None


# Figures whose table says more than one chart can; None: the table itself is what reads best.
_PICKS: Final[Mapping[str, _Pick | None]] = MappingProxyType(
    {
        "overview_passes": _Pick(("memory_ms", "compute_ms"), "bars", ("kind",), ("phase", "decode")),
        "overview_targets": None,
        "overview_memory": _Pick(("gb",)),
        "memory_what_ifs": _Pick(("sequences_that_fit",)),
        "first_token_gaps": _Pick(("longest_gap_ms",)),
        "plan_matrix": _Pick(
            ("ttft_gain", "tpot_gain", "throughput_gain", "capacity_gain"), "bars", ("technique",)
        ),
        "model_layers": _Pick(
            ("attention_or_state_mb", "mlp_and_norms_mb", "experts_used_mb", "other_experts_mb"),
            "stacked",
            ("layer",),
        ),
        "measurement_shares": None,
    }
)


def deck_chart(picture: Picture) -> DeckChart | None:
    """The figure as a native chart from its numbers; None where a table says it better."""
    if picture.numbers is None:
        return None
    table = in_units(picture.numbers())
    if picture.key == "roofline_roof":
        return _roof(picture, table)
    if picture.key in _PICKS:
        pick = _PICKS[picture.key]
        return None if pick is None else _bars(table, pick, picture)
    first, *others = table.columns
    columns = [name for name in others if numeric(table[name])][:_MOST_SERIES]
    if not columns:
        return None
    if not numeric(table[first]):
        return _bars(table, _Pick(tuple(columns)), picture)
    return _lines(table, str(first), columns, picture)


def _lines(table: pd.DataFrame, x: str, columns: Sequence[str], picture: Picture) -> DeckChart:
    kept = np.unique(np.linspace(0, len(table) - 1, min(len(table), _MOST_POINTS)).round().astype(int))
    few = table.iloc[kept]
    at = tuple(float(value) for value in few[x])
    series = tuple(
        Series(
            column_words(name), _values(few[name]), _colour(str(name), place), "estimate" in str(name), x=at
        )
        for place, name in enumerate(columns)
    )
    layout = picture.figure.layout
    x_log, y_log = layout.xaxis.type == "log", layout.yaxis.type == "log"
    return DeckChart("lines", series, (), _axis(picture, x), _y_title(picture), x_log, y_log)


def _bars(table: pd.DataFrame, pick: _Pick, picture: Picture) -> DeckChart | None:
    picked = [column_in_units(name) for name in pick.columns]
    rows = table if pick.where is None else table[table[pick.where[0]] == pick.where[1]]
    names = pick.names or (str(table.columns[0]),)
    rows = rows.dropna(subset=[name for name in picked if name in rows], how="all")
    columns = [
        name for name in picked if name in rows and rows[name].notna().any() and (rows[name] != 0).any()
    ]
    if not columns or not 0 < len(rows) <= _MOST_BARS:
        return None
    told = tuple(", ".join(str(rows.iloc[at][name]) for name in names) for at in range(len(rows)))
    series = tuple(
        Series(column_words(name), _values(rows[name]), _colour(str(name), place), "estimate" in str(name))
        for place, name in enumerate(columns)
    )
    return DeckChart(pick.form, series, told, "", _bar_title(columns, pick.form, picture))


def _bar_title(columns: Sequence[str], form: Form, picture: Picture) -> str:
    """What the bars' lengths are: lying bars have it along the figure's x axis, standing ones above it."""
    if len(columns) == 1:
        return column_words(columns[0])
    return _y_title(picture) if form == "stacked" else str(picture.figure.layout.xaxis.title.text or "")


def _roof(picture: Picture, table: pd.DataFrame) -> DeckChart:
    """The roof's two lines as the figure draws them, and the table's points by kind."""
    slots = {"bandwidth roof": theme.MEMORY, "compute roof": theme.COMPUTE}
    series = [
        Series(
            str(trace.name),
            tuple(_gflops(y, picture) for y in trace.y),
            slots[trace.name],
            x=tuple(map(float, trace.x)),
        )
        for trace in picture.figure.data
        if trace.name in slots
    ]
    kinds = table["kind"].astype("str").str.partition(",")[0]
    for kind, rows in table.groupby(kinds, sort=False):
        known = rows.dropna(subset=["intensity_flop_per_byte", "rate_gflops"])
        colour = {"ceiling": theme.CEILING, "estimate": theme.ESTIMATE}.get(str(kind), theme.MEASURED)
        at = tuple(float(value) for value in known["intensity_flop_per_byte"])
        series.append(Series(str(kind), _values(known["rate_gflops"]), colour, points=True, x=at))
    titles = (_axis(picture, "intensity_flop_per_byte"), column_words("rate_gflops"))
    return DeckChart("lines", tuple(series), (), *titles, x_log=True, y_log=True)


def _gflops(value: float, picture: Picture) -> float:
    """The figure draws in the prefix that its y title names; the table is in GFLOPS."""
    title = _y_title(picture)
    scale = next((size for prefix, size in _PREFIXES if f"({prefix}FLOPS)" in title), 1.0)
    return float(value) * scale


_PREFIXES: Final = (("P", 1e6), ("T", 1e3), ("G", 1.0), ("M", 1e-3))


def _values(column: pd.Series) -> tuple[float | None, ...]:
    return tuple(float(v) if pd.notna(v) and np.isfinite(float(v)) else None for v in column)


def _colour(name: str, place: int) -> str:
    for word, slot in (
        ("ceiling", theme.CEILING),
        ("estimate", theme.ESTIMATE),
        ("memory", theme.MEMORY),
        ("weights", theme.MEMORY),
        ("compute", theme.COMPUTE),
    ):
        if word in name:
            return slot
    order = (theme.CEILING, *theme.SCENARIOS, theme.MEMORY, theme.COMPUTE)
    return order[place % len(order)]


def _axis(picture: Picture, column: str) -> str:
    return str(picture.figure.layout.xaxis.title.text or column_words(column))


def _y_title(picture: Picture) -> str:
    """The y title stands above the plot as a note of its own."""
    notes = picture.figure.layout.annotations or ()
    return next((str(note.text) for note in notes if note.name == "y title"), "")
