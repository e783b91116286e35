"""A run over time, thinned out for a figure: the line, the slots, the memory, and who held which slot when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.serving.outcome import Outcome, Weighted, waiting_at
from slmopt.serving.simulate import Array, Run

POINTS = 180
MOST_STAYS = 96


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """At each time (s from the first arrival): requests that wait, slots held, bytes of cache held."""

    time: Array
    waiting: Array
    held: Array
    bytes: Array


def series(run: Run, points: int = POINTS) -> Series:
    """Evenly spaced times from the first arrival to the last token."""
    start, end = _ends(run)
    times = np.linspace(start, end, points)
    taken = np.searchsorted(np.sort(run.stay_admitted), times, side="right")
    left = np.searchsorted(np.sort(run.stay_released), times, side="right")
    held = (taken - left).astype(np.float64)
    bytes_ = np.zeros(points)
    if len(run.step_end):
        step = np.minimum(np.searchsorted(run.step_end, times), len(run.step_end) - 1)
        bytes_ = np.where(held > 0, run.step_bytes[step], 0.0) + run.room.shared
    return Series(times - start, waiting_at(run, times), held, bytes_)


def _ends(run: Run) -> tuple[float, float]:
    if not len(run.arrival):
        return 0.0, 1.0
    start = float(run.arrival[0])
    return start, max(float(run.end.max()), start + 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Times in slots that begin before ``until`` (s from the first arrival), ``MOST_STAYS`` at most.

    Each is fed from ``begin`` to ``first``, decodes to ``end`` and keeps its slot to ``released``.
    """

    until: float
    slots: int
    request: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    begin: Array
    first: Array
    end: Array
    released: Array
    prompt: npt.NDArray[np.int64]
    output: npt.NDArray[np.int64]


def timeline(run: Run, until: float | None = None, most: int = MOST_STAYS) -> Timeline:
    """The beginning of a run, up to ``until`` or as far as ``most`` stays go."""
    start, end = _ends(run)
    reach = end - start if until is None else min(until, end - start)
    begin = run.stay_admitted - start
    if len(begin) > most:
        reach = min(reach, float(begin[most]))
    seen = np.flatnonzero(begin <= reach)[:most]
    index = run.stay_request[seen]
    first = np.where(np.isfinite(run.stay_first), run.stay_first, run.stay_end)[seen] - start
    return Timeline(
        until=reach,
        slots=int(run.stay_slot.max(initial=0)) + 1,
        request=run.served[index],
        slot=run.stay_slot[seen],
        begin=begin[seen],
        first=np.minimum(first, reach),
        end=np.minimum(run.stay_end[seen] - start, reach),
        released=np.minimum(run.stay_released[seen] - start, reach),
        prompt=run.prompt[index],
        output=run.output[index],
    )


def shares(values: Weighted, points: int = 110) -> tuple[Array, Array]:
    """The distribution as a line: times, and the share that is no longer than each. The tail keeps its points."""
    if not len(values.values):
        return np.empty(0), np.empty(0)
    wanted = np.unique(
        np.concatenate([np.linspace(0, 0.9, points // 2), 1 - np.geomspace(0.1, 1e-3, points // 2), [1.0]])
    )
    cumulated = np.cumsum(values.weights) / values.weights.sum()
    at = np.minimum(np.searchsorted(cumulated, wanted * (1 - 1e-12)), len(values.values) - 1)
    return values.values[at], wanted


def shared_window(found: list[Outcome]) -> float:
    """The seconds that every run's timeline can show whole, so that two stand on one axis."""
    return max(0.0, min(timeline(one.run).until for one in found))
