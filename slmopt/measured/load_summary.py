"""What the rows of a load say together: medians, percentiles, throughput, failures, and whether it drifted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.harness import place_of
from slmopt.measured.load_rows import Requests
from slmopt.measured.pieces import at_once

Floats = npt.NDArray[np.float64]

DRIFT: Final = 0.05
"""Relative change between first and last third above which a run drifted, if it is beyond their spread."""

FEWEST_A_THIRD: Final = 5
SURE: Final = 3.0
"""Standard errors that a change must be away from none."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Time per token (or of a request, where no usage was told) in the first and the last third of a run, in seconds."""

    first_s: float
    last_s: float
    error: float

    @property
    def change(self) -> float:
        """Relative change: above 0 the run became slower."""
        return self.last_s / self.first_s - 1.0

    @property
    def real(self) -> bool:
        """Whether the change is larger than chance and than ``DRIFT``."""
        return abs(self.change) > max(DRIFT, SURE * self.error)


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """Rows of one level; times in seconds, None where no request told one. ``tokens_per_s`` is of all requests together."""

    level: str
    concurrency: float | None
    requests: int
    failures: int
    no_usage: int
    errors: tuple[tuple[str, int], ...]
    wall_s: float
    prompt_tokens: float | None
    output_tokens: float | None
    cached_tokens: float | None
    tokens_per_s: float | None
    ttft: tuple[float | None, float | None, float | None]
    tpot: tuple[float | None, float | None, float | None]
    e2e: tuple[float | None, float | None, float | None]
    in_flight: float
    drift: Drift | None


def summaries(rows: Requests | Sequence[Mapping[str, Any]]) -> list[LoadSummary]:
    """A summary of each level's timed requests, in the order in which the levels began."""
    found = rows if isinstance(rows, Requests) else Requests.of(rows)
    timed = found.at(np.asarray(found.kind == "timed"))
    names = [*timed.level.categories, ""]
    order = pd.unique(np.asarray(timed.level.codes)).tolist()
    works = [partial(_of_level, timed, code, str(names[code])) for code in order]
    return at_once(len(timed), works)


def _of_level(timed: Requests, code: int, name: str) -> LoadSummary:
    return _summary(name, timed.at(timed.level.codes == code))


def _summary(name: str, rows: Requests) -> LoadSummary:
    good = rows.at(~rows.failed)
    counts = np.bincount(rows.error.codes[rows.failed], minlength=len(rows.error.categories))
    errors = {
        str(rows.error.categories[code]): int(counts[code])
        for code in pd.unique(rows.error.codes[rows.failed]).tolist()
    }
    begin = np.nan_to_num(good["at_s"])
    end = begin + np.nan_to_num(good["e2e_s"])
    wall = float(end.max() - begin.min()) if len(good) else 0.0
    output = _values(good, "output_tokens")
    flying = np.maximum(np.nan_to_num(good["in_flight"]), 1.0)
    stated = float(rows["concurrency"][0])
    return LoadSummary(
        level=name,
        concurrency=None if math.isnan(stated) else stated,
        requests=len(good),
        failures=len(rows) - len(good),
        no_usage=len(good) - len(output),
        errors=tuple(sorted(errors.items(), key=lambda pair: -pair[1])),
        wall_s=wall,
        prompt_tokens=_mean(_values(good, "prompt_tokens")),
        output_tokens=_mean(output),
        cached_tokens=_mean(_values(good, "cached_tokens")),
        tokens_per_s=float(output.sum()) / wall if wall > 0 and len(output) == len(good) else None,
        ttft=_percentiles(_values(good, "ttft_s")),
        tpot=_percentiles(_values(good, "tpot_s")),
        e2e=_percentiles(_values(good, "e2e_s")),
        in_flight=float(np.mean(flying)) if len(flying) else 0.0,
        drift=drift(good),
    )


def _values(rows: Requests, name: str) -> Floats:
    """The numbers of the requests that tell one."""
    found = rows[name]
    return found[~np.isnan(found)]


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _percentiles(values: Floats) -> tuple[float | None, float | None, float | None]:
    """The median, and what :func:`slmopt.measured.harness.percentile` gives for 95 and 99 %; all of one partition."""
    count = len(values)
    if not count:
        return None, None, None
    middle = (count - 1) // 2, count // 2
    p95, p99 = (place_of(share, count) for share in (0.95, 0.99))
    ordered = np.partition(values, sorted({*middle, p95, p99}))
    return float(np.mean(ordered[middle[0] : middle[1] + 1])), float(ordered[p95]), float(ordered[p99])


def drift(rows: Requests | Sequence[Mapping[str, Any]]) -> Drift | None:
    """First against last third of a run, by when requests began; None with fewer than ``FEWEST_A_THIRD`` in each.

    A processor that throttles and one that is warmed through show here: burst and sustained speed are two figures.
    """
    found = rows if isinstance(rows, Requests) else Requests.of(rows)
    at = np.nan_to_num(found["at_s"])
    for name in ("tpot_s", "e2e_s"):
        told = ~np.isnan(found[name])
        values = found[name][told]
        if len(values) // 3 >= FEWEST_A_THIRD:
            begun = at[told]
            ordered = bool((begun[:-1] < begun[1:]).all())
            return drift_of(values if ordered else values[np.lexsort((values, begun))])
    return None


def drift_of(values: Floats) -> Drift | None:
    """The drift of times in their order; ``error`` is the standard error of the change, from the spread in both thirds."""
    third = len(values) // 3
    if third < FEWEST_A_THIRD:
        return None
    first, last = values[:third], values[-third:]
    a, b = float(np.median(first)), float(np.median(last))
    if a <= 0:
        return None
    # A median's standard error is 1.25 times that of a mean.
    spread = 1.25 * np.hypot(first.std(ddof=1) / a, last.std(ddof=1) / a) / np.sqrt(third)
    return Drift(a, b, float(spread))
