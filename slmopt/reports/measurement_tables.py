"""Measurements as tables: the rows with what they were held against, the marks of the figure, and what is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.compare import Comparison
from slmopt.measured.distinct import distinct, kept
from slmopt.reports.formulas import safe
from slmopt.theory.roofline_points import MeasuredPoint
from slmopt.words import measured_rows as words
from slmopt.words.timed_names import CARRIED, named, test_codes
from slmopt.words.verdicts import VERDICT_WORDS, worded

MOST_POINTS: Final = 60
"""Measured points that the roofline shows at most."""

MOST_LISTED: Final = 200
"""Rows of the table on the page; the download has all."""


def joined(rows: pd.DataFrame, judged: Comparison) -> pd.DataFrame:
    """The judged rows with what they timed; a model, format or device that no preset tells stands as it was written.

    What they timed is told in numbers, of which :func:`slmopt.words.timed_names.named` makes names.
    """
    found = judged.rows
    own = rows if found.index.equals(rows.index) else rows.loc[found.index]
    return found.assign(
        model=filled(found["model"], own["model"], own["model_type"]),
        weights=filled(found["weights"], own["weight_format"]),
        tool=own["tool"],
        conversion=own["conversion"],
        **{name: own[column] for name, column in CARRIED.items()},
    )


def filled(first: pd.Series, *others: pd.Series) -> pd.Series:
    """A column of categories, with other columns in the order given where it is empty."""
    codes, categories = np.asarray(first.cat.codes), first.cat.categories
    for other in others:
        empty = codes < 0
        if not empty.any():
            break
        union = categories.union(other.cat.categories, sort=False)
        # The one behind all is the missing one.
        known = np.append(union.get_indexer(other.cat.categories), -1)
        codes, categories = np.where(empty, known[np.asarray(other.cat.codes)], codes), union
    return pd.Series(pd.Categorical.from_codes(codes, categories), index=first.index, name=first.name)


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


def listed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows for the page, those that ask for something first; numbers stay numbers, so that columns sort.

    Shares are percent. The index is that of ``rows``.
    """
    few = named(rows.iloc[_first(_severity(rows), MOST_LISTED)])
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


def _first(ranks: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """The positions of the lowest ranks, of equal ones those that come first."""
    found: list[npt.NDArray[np.int64]] = []
    for rank in np.flatnonzero(np.bincount(ranks)):
        found.append(np.flatnonzero(ranks == rank)[:most])
        if sum(map(len, found)) >= most:
            break
    return np.concatenate(found)[:most] if found else np.empty(0, dtype=np.int64)


def _severity(rows: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Each row's place by its verdict, and decode before prefill."""
    ranks = np.array([*(_ORDER.index(str(name)) for name in rows["verdict"].cat.categories), len(_ORDER)])
    return 2 * ranks[rows["verdict"].cat.codes.to_numpy()] + (rows["phase"] == "prefill").to_numpy()


_ORDER: Final = ("above_ceiling", "far_below", "below_typical", "near_ceiling", "typical", "unknown")


def download(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Every judged row: what its file said, in the columns of the one table, and what it was held against."""
    said = table.loc[rows.index].dropna(axis="columns", how="all")
    told = worded(named(rows))
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


def points(rows: pd.DataFrame, device: str) -> tuple[MeasuredPoint, ...]:
    """Rows on a device as points of the roofline: the median of each model, format and test, most rows first."""
    here = kept(rows, (rows["device"] == device) & rows["intensity"].notna() & rows["flops_per_s"].notna())
    if here.empty:
        return ()
    codes, first = distinct((here["model"], here["weights"], *test_codes(here)), len(here))
    counts = np.bincount(codes)
    most = np.argsort(-counts, kind="stable")[:MOST_POINTS]
    shown = np.flatnonzero(np.isin(codes, most))
    by_kind = here[["intensity", "flops_per_s"]].iloc[shown].groupby(codes[shown]).median().loc[most]
    found = (
        named(here.iloc[first[most]])[["model", "weights", "test"]]
        .astype("object")
        .assign(intensity=by_kind["intensity"].to_numpy(), rate=by_kind["flops_per_s"].to_numpy())
    )
    names = zip(found["model"], found["weights"], found["test"], strict=True)
    labels = [words.harmless(f"{words.group_name(model, weights)}, {test}") for model, weights, test in names]
    return tuple(
        MeasuredPoint(intensity, rate, label)
        for intensity, rate, label in zip(
            found["intensity"].tolist(), found["rate"].tolist(), labels, strict=True
        )
    )
