"""Judged rows as the groups and marks of the Measurements figure, each row apart or the medians of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.figures.measured_marks import Binds, Group, Mark, Panel
from slmopt.figures.named import Named
from slmopt.measured.distinct import distinct, kept, members, texts_in_use
from slmopt.measured.medians import median
from slmopt.measured.pieces import at_once
from slmopt.reports.formulas import safe
from slmopt.words import measured_rows as words
from slmopt.words.timed_names import named

MOST_MARKS: Final = 28
"""More rows than this are drawn as medians of their groups."""

MOST_IN_A_GROUP: Final = 5
MOST_GROUPS: Final = 12
# With this many rows, single outliers would make every range the whole axis.
_QUANTILES_FROM: Final = 20


_NEEDED: Final = (
    "source_file",
    "row",
    "phase",
    "model",
    "weights",
    "device",
    "measured",
    "ceiling",
    "fraction",
    "p10",
    "p90",
    "spread",
    "pass_s",
    "bound",
    "verdict",
)


_MEDIANS: Final = (
    "phase",
    "model",
    "weights",
    "device",
    "fraction",
    "p10",
    "p90",
    "pass_s",
    "bound",
    "verdict",
)
"""What is needed of rows that are drawn as medians."""


def groups(rows: pd.DataFrame) -> list[Named[Group]]:
    """Rows that have a ceiling, by model and weights (and device, where there are several); the longest passes first."""
    held = rows["fraction"].notna()
    single = int(held.sum()) <= MOST_MARKS
    # Texts that differ from row to row are looked at only where rows are drawn one by one.
    known = named(rows[held])[[*_NEEDED, "test"]] if single else kept(rows[list(_MEDIANS)], held)
    if known.empty:
        return []
    keys = ["model", "weights"] + (["device"] if len(texts_in_use(known["device"])) > 1 else [])
    codes, first = distinct((known[name] for name in keys), len(known))
    ends = [tuple(str(known[name].iloc[at]) for name in keys) for at in first]
    prefill = (known["phase"] == "prefill").to_numpy()
    places = members(2 * codes + prefill, 2 * len(ends))
    if single:
        # Few rows are gone through one by one, for which categories are slow.
        known = known.astype(dict.fromkeys(known.select_dtypes("category").columns, object))
    parts = {
        key: dict(zip(_PANELS, pair, strict=True))
        for key, pair in zip(ends, zip(places[::2], places[1::2], strict=True), strict=True)
    }
    longest: dict[str, list[tuple[bool, float]]] = {}
    for key, part in parts.items():
        longest.setdefault(key[0], []).append(_pass_time(known, part))
    size = {key: (_longest(longest[key[0]]), _pass_time(known, part)[1]) for key, part in parts.items()}
    order = sorted(parts, key=lambda key: size[key], reverse=True)
    shown, rest = set(order), []
    if len(order) > MOST_GROUPS:
        shown = set(sorted(order, key=lambda key: -sum(map(len, parts[key].values())))[: MOST_GROUPS - 1])
        rest = [parts[key] for key in order if key not in shown]
    works = [partial(_group, key, known, parts[key], single=single) for key in order if key in shown]
    found = at_once(len(known), works)
    if rest:
        together = {panel: np.concatenate([part[panel] for part in rest]) for panel in _PANELS}
        marks = _marks(known, together, "others", single=False)
        found.append(Named(f"{len(rest)} others", Group("", tuple(marks))))
    return found


_PANELS: Final[tuple[Panel, Panel]] = ("decode", "prefill")

_Places = Mapping[Panel, npt.NDArray[np.int64]]
"""The positions of a group's rows in each panel."""


def _of(rows: pd.DataFrame, name: str, at: npt.NDArray[np.int64]) -> pd.Series:
    """A column of these rows; itself, and no copy of it, where they are all."""
    return rows[name] if len(at) == len(rows) else rows[name].iloc[at]


def _pass_time(rows: pd.DataFrame, part: _Places) -> tuple[bool, float]:
    """Seconds of the longest pass at best, of decode where it was measured, and whether it was."""
    decode = len(part["decode"]) > 0
    return decode, float(_of(rows, "pass_s", part["decode" if decode else "prefill"]).max())


def _longest(found: Sequence[tuple[bool, float]]) -> float:
    """The longest pass of several groups, of decode where any measured it."""
    decode = [seconds for measured, seconds in found if measured]
    return max(decode or [seconds for _, seconds in found])


def _group(key: tuple[Any, ...], rows: pd.DataFrame, part: _Places, *, single: bool) -> Named[Group]:
    name = words.group_name(key[0], key[1])
    if len(key) > 2:
        name = f"{name}\n{words.short(key[2])}"
    marks = _marks(rows, part, name, single=single)
    return Named(name, Group(str(key[0]), tuple(marks), words.format_name(key[1])))


def _marks(rows: pd.DataFrame, part: _Places, name: str, *, single: bool) -> list[Mark]:
    found: list[Mark] = []
    for panel, at in part.items():
        if single and len(at) <= MOST_IN_A_GROUP:
            found += [
                _row_mark(row, panel, name, alone=len(at) == 1)
                for row in rows.iloc[at].itertuples(index=False)
            ]
        elif len(at):
            found.append(_median_mark(rows, at, panel, name))
    return found


def _row_mark(row: Any, panel: Panel, name: str, *, alone: bool) -> Mark:
    share = float(row.fraction)
    spread = share * (float(row.spread) if row.spread == row.spread else 0.0)
    return Mark(
        panel,
        share,
        max(0.0, share - spread),
        share + spread,
        (float(row.p10), float(row.p90)),
        "" if alone else str(row.test),
        above=int(row.verdict == "above_ceiling"),
        side=_side([row.bound]),
        hover=words.row_hover(row, name.replace("\n", ", ")),
    )


def _median_mark(rows: pd.DataFrame, at: npt.NDArray[np.int64], panel: Panel, name: str) -> Mark:
    count = len(at)
    shares = _of(rows, "fraction", at).to_numpy(dtype=np.float64)
    ends = (0.1, 0.9) if count >= _QUANTILES_FROM else (0.0, 1.0)
    low, share, high = (float(value) for value in np.quantile(shares, [ends[0], 0.5, ends[1]]))
    usual = (median(_of(rows, "p10", at)), median(_of(rows, "p90", at)))
    return Mark(
        panel,
        share,
        low,
        high,
        usual,
        rows=count,
        above=int((_of(rows, "verdict", at) == "above_ceiling").sum()),
        side=_side(texts_in_use(_of(rows, "bound", at))),
        hover=words.group_hover(
            count, name.replace("\n", ", "), (low, share, high), usual, tenths=ends[0] > 0
        ),
    )


def _side(bounds: Sequence[object]) -> Binds:
    """The side that decides for all of them, if one does."""
    found = {str(bound) for bound in bounds if isinstance(bound, str)}
    if found == {"memory"}:
        return "memory"
    return "compute" if found == {"compute"} else ""


def heads(rows: pd.DataFrame) -> dict[Panel, str]:
    """What the sides of the figure are called; a side without rows is left out."""
    phases = {str(phase) for phase in rows["phase"][rows["fraction"].notna()].unique()}
    first = [word for name, word in _LEFT_HEADS.items() if name in phases]
    told: dict[Panel, str] = {}
    if first:
        told["decode"] = " and ".join([first[0], *(word.lower() for word in first[1:])])
    if "prefill" in phases:
        told["prefill"] = "Prefill"
    return told


_LEFT_HEADS: Final = {"decode": "Decode", "serving": "Serving", "mixed": "Whole runs"}


def marks_table(drawn: Sequence[Named[Group]]) -> pd.DataFrame:
    """The figure's numbers: a row a diamond. Shares are percent of the ceiling."""
    rows = [
        {
            "group": group.name.replace("\n", ", "),
            "side": mark.panel,
            "test": mark.test,
            "rows": mark.rows,
            "share_percent": 100 * mark.share,
            "low_percent": 100 * mark.low,
            "high_percent": 100 * mark.high,
            "usual_p10_percent": 100 * mark.usual[0],
            "usual_p90_percent": 100 * mark.usual[1],
            "rows_above": mark.above,
        }
        for group in drawn
        for mark in group.result.marks
    ]
    return safe(pd.DataFrame(rows))
