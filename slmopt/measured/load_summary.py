"""What the rows of a load say together: medians, percentiles, throughput, failures, and whether it drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from slmopt.measured.harness import percentile

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


def summaries(rows: Sequence[Mapping[str, Any]]) -> list[LoadSummary]:
    """A summary of each level's timed requests, in the order in which the levels began."""
    levels: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("kind") == "timed":
            levels.setdefault(str(row.get("level", "")), []).append(row)
    return [_summary(name, found) for name, found in levels.items()]


def _summary(name: str, rows: list[Mapping[str, Any]]) -> LoadSummary:
    good = [row for row in rows if not row.get("error")]
    errors: dict[str, int] = {}
    for row in rows:
        if row.get("error"):
            errors[str(row["error"])] = errors.get(str(row["error"]), 0) + 1
    begin = [_number(row, "at_s") for row in good]
    end = [_number(row, "at_s") + _number(row, "e2e_s") for row in good]
    wall = max(end) - min(begin) if good else 0.0
    output = _values(good, "output_tokens")
    flying = [max(_number(row, "in_flight"), 1.0) for row in good]
    stated = _values(rows[:1], "concurrency")
    return LoadSummary(
        level=name,
        concurrency=stated[0] if stated else None,
        requests=len(good),
        failures=len(rows) - len(good),
        no_usage=sum(row.get("output_tokens") is None for row in good),
        errors=tuple(sorted(errors.items(), key=lambda pair: -pair[1])),
        wall_s=wall,
        prompt_tokens=_mean(_values(good, "prompt_tokens")),
        output_tokens=_mean(output),
        cached_tokens=_mean(_values(good, "cached_tokens")),
        tokens_per_s=sum(output) / wall if wall > 0 and len(output) == len(good) else None,
        ttft=_percentiles(_values(good, "ttft_s")),
        tpot=_percentiles(_values(good, "tpot_s")),
        e2e=_percentiles(_values(good, "e2e_s")),
        in_flight=float(np.mean(flying)) if flying else 0.0,
        drift=drift(good),
    )


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    found = (row.get(name) for row in rows)
    return [float(value) for value in found if isinstance(value, int | float) and not isinstance(value, bool)]


def _number(row: Mapping[str, Any], name: str) -> float:
    """A row's number; 0 where it has none."""
    found = _values([row], name)
    return found[0] if found else 0.0


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentiles(values: list[float]) -> tuple[float | None, float | None, float | None]:
    return (
        float(np.median(values)) if values else None,
        percentile(values, 0.95),
        percentile(values, 0.99),
    )


def drift(rows: Sequence[Mapping[str, Any]]) -> Drift | None:
    """First against last third of a run, by when requests began; None with fewer than ``FEWEST_A_THIRD`` in each.

    A processor that throttles and one that is warmed through show here: burst and sustained speed are two figures.
    """
    for name in ("tpot_s", "e2e_s"):
        found = sorted((_number(row, "at_s"), _number(row, name)) for row in rows if _values([row], name))
        third = len(found) // 3
        if third < FEWEST_A_THIRD:
            continue
        values: Floats = np.array([value for _, value in found])
        return drift_of(values)
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
