"""Measurements as tables: the rows with what they were held against, the marks of the figure, and what is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.figures.measured_marks import Binds, Group, Mark, Panel
from slmopt.figures.named import Named
from slmopt.measured.compare import Comparison
from slmopt.theory.roofline_points import MeasuredPoint
from slmopt.words import measured_rows as words
from slmopt.words import numbers as n
from slmopt.words.verdicts import VERDICT_WORDS, worded

MOST_MARKS: Final = 28
"""More rows than this are drawn as medians of their groups."""

MOST_IN_A_GROUP: Final = 5
MOST_GROUPS: Final = 12
MOST_POINTS: Final = 60
"""Measured points that the roofline shows at most."""

MOST_LISTED: Final = 500
"""Rows of the table on the page; the download has all."""

# With this many rows, single outliers would make every range the whole axis.
_QUANTILES_FROM: Final = 20


def joined(rows: pd.DataFrame, judged: Comparison) -> pd.DataFrame:
    """The judged rows with what they timed; a model, format or device that no preset tells stands as it was written."""
    found = judged.rows
    own = rows.loc[found.index]
    return found.assign(
        model=filled(found["model"], own["model"], own["model_type"]),
        weights=filled(found["weights"], own["weight_format"]),
        test=words.test_names(own),
        tool=own["tool"],
        conversion=own["conversion"],
    )


def filled(first: pd.Series, *others: pd.Series) -> pd.Series:
    """A column of categories, with other columns in the order given where it is empty."""
    for other in others:
        if first.notna().all():
            break
        both = first.cat.categories.union(other.cat.categories, sort=False)
        first = first.cat.set_categories(both)
        first = first.where(first.notna(), other.cat.set_categories(both))
    return first


def stacked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Parts of one table as that table again, in the order of its index; categories stay categories."""
    if len(parts) == 1:
        return parts[0]
    data: dict[str, Any] = {}
    for name in parts[0].columns:
        columns = [part[name] for part in parts]
        if isinstance(columns[0].dtype, pd.CategoricalDtype):
            data[name] = pd.api.types.union_categoricals(columns)
        else:
            data[name] = pd.concat(columns).to_numpy()
    index = parts[0].index.append([part.index for part in parts[1:]])
    return pd.DataFrame(data, index=index).sort_index()


def groups(rows: pd.DataFrame) -> list[Named[Group]]:
    """Rows that have a ceiling, by model and weights (and device, where there are several); the longest passes first."""
    known = rows[rows["fraction"].notna()]
    if known.empty:
        return []
    keys = ["model", "weights"] + (["device"] if len(known["device"].unique()) > 1 else [])
    known = known.assign(panel=np.where(known["phase"] == "prefill", "prefill", "decode"))
    single = len(known) <= MOST_MARKS
    parts = dict(iter(known.groupby(keys, observed=True, sort=False)))
    longest = {
        str(model): _pass_time(part) for model, part in known.groupby("model", observed=True, sort=False)
    }
    size = {key: (longest[str(key[0])], _pass_time(part)) for key, part in parts.items()}
    order = sorted(parts, key=lambda key: size[key], reverse=True)
    if len(order) > MOST_GROUPS:
        kept = set(sorted(order, key=lambda key: -len(parts[key]))[: MOST_GROUPS - 1])
        rest = pd.concat([parts[key] for key in order if key not in kept])
        named = [_group(key, parts[key], single=single) for key in order if key in kept]
        return [
            *named,
            Named(f"{len(order) - len(kept)} others", Group("", tuple(_marks(rest, "others", single=False)))),
        ]
    return [_group(key, parts[key], single=single) for key in order]


def _pass_time(rows: pd.DataFrame) -> float:
    """Seconds of the longest pass at best, of decode where it was measured."""
    decode = rows[rows["panel"] == "decode"]
    return float((decode if len(decode) else rows)["pass_s"].max())


def _group(key: tuple[Any, ...], rows: pd.DataFrame, *, single: bool) -> Named[Group]:
    name = words.group_name(key[0], key[1])
    if len(key) > 2:
        name = f"{name}\n{words.short(key[2])}"
    return Named(
        name, Group(str(key[0]), tuple(_marks(rows, name, single=single)), words.format_name(key[1]))
    )


def _marks(rows: pd.DataFrame, name: str, *, single: bool) -> list[Mark]:
    found: list[Mark] = []
    panels: tuple[Panel, ...] = ("decode", "prefill")
    for panel in panels:
        part = rows[rows["panel"] == panel]
        if single and len(part) <= MOST_IN_A_GROUP:
            found += [
                _row_mark(row, panel, name, alone=len(part) == 1) for row in part.itertuples(index=False)
            ]
        elif len(part):
            found.append(_median_mark(part, panel, name))
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


def _median_mark(rows: pd.DataFrame, panel: Panel, name: str) -> Mark:
    shares = rows["fraction"].to_numpy(dtype=np.float64)
    ends = (0.1, 0.9) if len(rows) >= _QUANTILES_FROM else (0.0, 1.0)
    low, share, high = (float(value) for value in np.quantile(shares, [ends[0], 0.5, ends[1]]))
    return Mark(
        panel,
        share,
        low,
        high,
        (float(rows["p10"].median()), float(rows["p90"].median())),
        rows=len(rows),
        above=int((rows["verdict"] == "above_ceiling").sum()),
        side=_side(list(rows["bound"].dropna().unique())),
        hover=words.group_hover(rows, name.replace("\n", ", "), (low, share, high), tenths=ends[0] > 0),
    )


def _side(bounds: Sequence[object]) -> Binds:
    """The side that decides for all of them, if one does."""
    found = {str(bound) for bound in bounds if isinstance(bound, str)}
    if found == {"memory"}:
        return "memory"
    return "compute" if found == {"compute"} else ""


def heads(rows: pd.DataFrame) -> dict[Panel, str]:
    """What the sides of the figure are called; a side without rows is left out."""
    phases = {str(phase) for phase in rows.loc[rows["fraction"].notna(), "phase"].unique()}
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


def listed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows for the page, those that ask for something first; numbers stay numbers, so that columns sort.

    Shares are percent. The index is that of ``rows``.
    """
    few = rows.iloc[np.argsort(_severity(rows), kind="stable")[:MOST_LISTED]]
    return pd.DataFrame(
        {
            "Model": few["model"].astype("object"),
            "Weights": few["weights"].astype("object").map(words.format_name, na_action="ignore"),
            "Share (%)": 100 * few["fraction"],
            "Verdict": few["verdict"].astype("str").map(VERDICT_WORDS),
            "Test": few["test"].astype("str"),
            "Side": few["bound"].astype("object").map(words.SIDE_WORDS),
            "Measured (tokens/s)": few["measured"],
            "± (%)": 100 * few["spread"],
            "Ceiling (tokens/s)": few["ceiling"],
            "Device": few["device"].astype("object"),
            "File": few["source_file"].astype("str"),
            "Row": few["row"],
        },
        index=few.index,
    )


def _severity(rows: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Each row's place by its verdict, and decode before prefill."""
    ranks = np.array([*(_ORDER.index(str(name)) for name in rows["verdict"].cat.categories), len(_ORDER)])
    return 2 * ranks[rows["verdict"].cat.codes.to_numpy()] + (rows["phase"] == "prefill").to_numpy()


_ORDER: Final = ("above_ceiling", "far_below", "below_typical", "near_ceiling", "typical", "unknown")


def styled(table: pd.DataFrame) -> Any:
    """The listed rows with their numbers as people read them."""
    shown: dict[Any, Callable[[Any], str]] = {
        "Measured (tokens/s)": n.figures,
        "Ceiling (tokens/s)": lambda value: (
            n.figures(value) if np.isnan(value) else f"≤{n.NBSP}{n.figures(value)}"
        ),
        "± (%)": lambda value: "" if np.isnan(value) else n.percent(value / 100).removesuffix(f"{n.NBSP}%"),
    }
    return table.style.format(shown)  # type: ignore[arg-type]


def download(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Every judged row: what its file said, in the columns of the one table, and what it was held against."""
    said = table.loc[rows.index].dropna(axis="columns", how="all")
    told = worded(rows)
    held = pd.DataFrame(
        {
            "test": told["test"],
            "ceiling_model": told["model"],
            "ceiling_weights": told["weights"],
            "ceiling_device": told["device"],
            "measured_tokens_per_s": told["measured"],
            "ceiling_tokens_per_s": told["ceiling"],
            "share_of_ceiling": told["fraction"],
            "usual_share_p10": told["p10"],
            "usual_share_p50": told["p50"],
            "usual_share_p90": told["p90"],
            "bound": told["bound"],
            "verdict": told["verdict"],
            "reasons": told["reasons"],
            "beware": told["note"],
        }
    )
    return safe(pd.concat([said, held], axis="columns"))


def safe(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before texts that a spreadsheet would take for a formula; numbers stay as they are."""
    changed = {}
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            if not pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
                texts = [_plain(value) for value in column.cat.categories]
                # Two names may become one; then they are no categories any more.
                alike = len(set(texts)) < len(texts)
                changed[name] = (
                    column.astype("str").map(_plain, na_action="ignore")
                    if alike
                    else column.cat.rename_categories(texts)
                )
        elif pd.api.types.is_string_dtype(column.dtype) or column.dtype == object:
            changed[name] = column.map(_plain, na_action="ignore")
    return table.assign(**changed)


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def points(rows: pd.DataFrame, device: str) -> tuple[MeasuredPoint, ...]:
    """Rows on a device as points of the roofline: the median of each model, format and test, most rows first."""
    here = rows[(rows["device"] == device) & rows["intensity"].notna() & rows["flops_per_s"].notna()]
    if here.empty:
        return ()
    found = here.groupby(["model", "weights", "test"], observed=True, sort=False).agg(
        intensity=("intensity", "median"), rate=("flops_per_s", "median"), rows=("intensity", "size")
    )
    found = found.sort_values("rows", ascending=False, kind="stable").head(MOST_POINTS).reset_index()
    names = zip(found["model"], found["weights"], found["test"], strict=True)
    labels = [words.harmless(f"{words.group_name(model, weights)}, {test}") for model, weights, test in names]
    return tuple(
        MeasuredPoint(intensity, rate, label)
        for intensity, rate, label in zip(
            found["intensity"].tolist(), found["rate"].tolist(), labels, strict=True
        )
    )
