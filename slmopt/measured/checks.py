"""Checks on a benchmark itself: whether its rows measure what they seem to, and what their reader will use.

Each check looks at the one table (:mod:`slmopt.measured.table`) and returns what it found as codes and numbers;
:mod:`slmopt.words.checks` says them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.checks_copied import duplicates, extrapolated
from slmopt.measured.distinct import distinct, kept, members
from slmopt.measured.findings import Finding, noted, numbers
from slmopt.measured.load_summary import drift_of
from slmopt.measured.verdicts import NOISY

Floats = npt.NDArray[np.float64]

FAR_SHAPE: Final = 2.0
"""Factor between measured and intended lengths from which they are not alike."""

FEWEST_P95: Final = 100
FEWEST_P99: Final = 500
"""Requests below which a percentile rests on fewer than five of them."""

FEWEST_IN_ORDER: Final = 6
WARM: Final = 1.5
COLD: Final = 4.0
"""First request over the median of the others: from ``WARM`` the warm-up is in, from ``COLD`` a cold start."""

PREFIX: Final = 0.05
QUEUED: Final = 3.0
"""TTFT at the most over TTFT at the least requests in flight from which waiting is the larger part."""

MOST_ALIKE: Final = 3
MOST_CHECKED: Final = 300_000
"""Of more rows than this the first so many are checked."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What will run: tokens of prompt and reply, and sequences at once."""

    prompt: float
    output: float
    batch: float


def check(rows: pd.DataFrame, shape: Shape | None = None) -> tuple[Finding, ...]:
    """All findings, those that make numbers wrong before those that make them unlike what will run."""
    few = rows.iloc[:MOST_CHECKED]
    found: list[Finding] = []
    for one in CHECKS:
        found += _few(one(few))
    if shape is not None:
        found += unlike_shape(few, shape)
    return tuple(found)


def _few(found: list[Finding]) -> list[Finding]:
    """At most ``MOST_ALIKE`` findings of a code: what many files share needs no line for each."""
    counts: dict[str, int] = {}
    kept = []
    for one in found:
        counts[one.code] = counts.get(one.code, 0) + 1
        if counts[one.code] <= MOST_ALIKE:
            kept.append(one)
    return kept


def failures(rows: pd.DataFrame) -> list[Finding]:
    """Requests that failed: a speed over the others, or over all of them, flatters a server that refuses work."""
    failed, good = np.nan_to_num(numbers(rows, "failures")), np.nan_to_num(numbers(rows, "requests"))
    some = failed > 0
    if not some.any():
        return []
    total = float(failed[some].sum() + good[some].sum())
    return [
        Finding(
            "failures",
            int(some.sum()),
            values={"failed": float(failed.sum()), "share": float(failed.sum()) / total},
        )
    ]


def empty_answers(rows: pd.DataFrame) -> list[Finding]:
    """Serving rows that generated nothing: failures that were counted as successes."""
    empty = (rows["phase"] == "serving").to_numpy() & (numbers(rows, "output_tokens") == 0)
    return [Finding("empty", int(empty.sum()))] if empty.any() else []


def _in_order(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Single requests of each file and load, in the order in which they began."""
    single = (rows["statistic"] == "single") & (rows["phase"] == "serving")
    if int(single.sum()) < FEWEST_IN_ORDER:
        return []
    found = []
    few = kept(rows[["source_file", "concurrency", "timestamp", "ttft_s", "tpot_s"]], single)
    for part in _parts(few, ["source_file", "concurrency"], FEWEST_IN_ORDER):
        at = part["timestamp"]
        ordered = (
            part if at.hasnans or at.is_monotonic_increasing else part.sort_values("timestamp", kind="stable")
        )
        found.append((str(part["source_file"].iloc[0]), ordered))
    return found


def _parts(rows: pd.DataFrame, keys: list[str], least: int) -> Iterator[pd.DataFrame]:
    """Rows that agree in these columns, where there are so many of them, in the order in which they begin."""
    codes, first = distinct((rows[name] for name in keys), len(rows))
    often = np.flatnonzero(np.bincount(codes, minlength=len(first)) >= least)
    if len(often) == len(first):
        yield from (rows if len(first) == 1 else rows.iloc[at] for at in members(codes, len(first)))
        return
    for code in often:
        yield rows.iloc[np.flatnonzero(codes == code)]


def first_request(rows: pd.DataFrame) -> list[Finding]:
    """A first request far slower than the others: the warm-up, or a cold start, is among what was timed."""
    found = []
    for file, part in _in_order(rows):
        ttft = numbers(part, "ttft_s")
        if not np.isfinite(ttft).all():
            continue
        ratio = float(ttft[0] / np.median(ttft[1:]))
        # Under load any request may wait; only one that took longer than nearly all others stands out.
        if ratio >= WARM and ttft[0] > np.quantile(ttft[1:], 0.95):
            found.append(Finding("cold" if ratio >= COLD else "warmup", len(part), file, {"ratio": ratio}))
    said = int(noted(rows, "^cold").sum())
    return [*found, *([Finding("cold_rows", said)] if said else [])]


def drifts(rows: pd.DataFrame) -> list[Finding]:
    """Requests that become slower while a run goes on: burst and sustained speed are two figures."""
    found = []
    for file, part in _in_order(rows):
        tpot = numbers(part, "tpot_s")
        drift = drift_of(tpot[np.isfinite(tpot)])
        if drift is not None and drift.real:
            found.append(
                Finding(
                    "drift",
                    len(part),
                    file,
                    {"change": drift.change, "first_s": drift.first_s, "last_s": drift.last_s},
                )
            )
    return found


def percentiles(rows: pd.DataFrame) -> list[Finding]:
    """A 95th or 99th percentile of too few requests."""
    requests = numbers(rows, "requests")
    found = []
    for code, least in (("p95", FEWEST_P95), ("p99", FEWEST_P99)):
        stated = np.isfinite(numbers(rows, f"ttft_{code}_s")) | np.isfinite(numbers(rows, f"tpot_{code}_s"))
        few = stated & (requests < least)
        if few.any():
            found.append(
                Finding(code, int(few.sum()), values={"requests": float(requests[few].min()), "least": least})
            )
    # Whoever cannot have the one cannot have the other.
    return found[:1]


def prefix_hits(rows: pd.DataFrame) -> list[Finding]:
    """Prompt tokens that a cache supplied: their prefill was not done."""
    hit, prompt = numbers(rows, "cached_tokens"), numbers(rows, "prompt_tokens")
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hit / prompt
    some = (share > PREFIX) & (prompt > 0)
    return (
        [Finding("prefix", int(some.sum()), values={"share": float(np.median(share[some]))})]
        if some.any()
        else []
    )


def queueing(rows: pd.DataFrame) -> list[Finding]:
    """TTFT that grows with the requests in flight at equal prompts: waiting, not prefill."""
    some = (rows["phase"] == "serving") & rows["ttft_s"].notna() & (rows["concurrency"] >= 1)
    serving = kept(rows[["source_file", "model", "prompt_tokens", "concurrency", "ttft_s"]], some)
    if len(serving) < 2:
        return []
    length = np.round(np.log2(np.maximum(numbers(serving, "prompt_tokens"), 1.0)) * 4)
    keys = [serving["source_file"], serving["model"], pd.Series(length, index=serving.index)]
    found = []
    for key, part in serving.groupby(keys, observed=True, dropna=False, sort=False):
        by_load = part.groupby("concurrency")["ttft_s"].median()
        if len(by_load) < 2:
            continue
        ratio = float(by_load.iloc[-1] / by_load.iloc[0])
        if ratio > QUEUED:
            most = float(by_load.index[-1])
            found.append(Finding("queueing", len(part), str(key[0]), {"ratio": ratio, "most": most}))
    return found


def busy(rows: pd.DataFrame) -> list[Finding]:
    """Repeats that spread: the machine did something else, or its clock changed."""
    spread = numbers(rows, "spread")
    wide = spread > NOISY
    told = int(np.isfinite(spread).sum())
    if told and wide.any() and 3 * int(wide.sum()) >= told:
        return [
            Finding(
                "busy", int(wide.sum()), values={"share": wide.sum() / told, "most": float(np.nanmax(spread))}
            )
        ]
    return []


_LENGTHS: Final = ["depth_tokens", "prompt_tokens", "output_tokens", "batch", "concurrency"]


def unlike_shape(rows: pd.DataFrame, shape: Shape) -> list[Finding]:
    """Lengths and sequences at once that are far from what will run."""
    decode = rows[_LENGTHS][rows["phase"].isin(["decode", "serving"])]
    if decode.empty:
        return []
    held = np.nan_to_num(numbers(decode, "depth_tokens")) + np.nan_to_num(numbers(decode, "prompt_tokens"))
    context = held + np.nan_to_num(numbers(decode, "output_tokens")) / 2
    wanted = shape.prompt + shape.output / 2
    found = []
    if not _near(context, wanted):
        low, high = float(context.min()), float(context.max())
        found.append(Finding("context", len(decode), values={"low": low, "high": high, "wanted": wanted}))
    together = np.fmax(numbers(decode, "batch"), numbers(decode, "concurrency"))
    together = together[np.isfinite(together)]
    if len(together) and not _near(together, shape.batch):
        low, high = float(together.min()), float(together.max())
        found.append(
            Finding("batch", len(together), values={"low": low, "high": high, "wanted": shape.batch})
        )
    return found


def _near(values: Floats, wanted: float) -> bool:
    """Whether some value is within a factor of ``FAR_SHAPE`` of the wanted one."""
    return bool(((values >= wanted / FAR_SHAPE) & (values <= wanted * FAR_SHAPE)).any())


CHECKS: Final[tuple[Callable[[pd.DataFrame], list[Finding]], ...]] = (
    failures,
    empty_answers,
    extrapolated,
    duplicates,
    prefix_hits,
    queueing,
    first_request,
    drifts,
    busy,
    percentiles,
)
