"""What users and the operator see of a run: waits, gaps, speeds, slots, memory, and whether it can go on like that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.serving.simulate import Array, Run

PERCENTILES = (50, 95, 99)

# A run is called saturated where the queue at the last arrival is no accident of it: this share of all requests, this
# many at least, and waits that grew all along.
_SHARE = 0.05
_LEAST = 10
_TREND = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Values in rising order with how often each occurred."""

    values: Array
    weights: Array

    @classmethod
    def of(cls, values: Array, weights: Array | None = None) -> Weighted:
        """Sorted; values that never occurred are left out."""
        counts = np.ones(len(values)) if weights is None else weights
        kept = np.isfinite(values) & (counts > 0)
        order = np.argsort(values[kept], kind="stable")
        return cls(values[kept][order], counts[kept][order])

    def percentile(self, percent: float) -> float:
        """The smallest value that at least so many percent do not exceed; NaN where there is none."""
        if not len(self.values):
            return float("nan")
        cumulated = np.cumsum(self.weights)
        at = np.searchsorted(cumulated, percent / 100 * cumulated[-1] * (1 - 1e-12))
        return float(self.values[min(int(at), len(self.values) - 1)])

    @property
    def mean(self) -> float:
        """The weighted mean; NaN where there is no value."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else float("nan")

    @property
    def worst(self) -> float:
        """The largest value; NaN where there is none."""
        return float(self.values[-1]) if len(self.values) else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Times in seconds, rates per second, memory in bytes.

    ``ttft`` and ``e2e`` count from the arrival, so the queue is in them; ``tpot`` is a reply's mean time a token after
    its first; ``gap`` the time between two tokens of one reply. ``slot_utilisation`` is the share of
    the slot-steps held by requests that gave a token: ``kept_slot_steps`` are those that replies of a static group kept
    after their end. ``idle_slot_steps`` were empty while somebody waited, for memory or for the group to end. ``saturated``: arrivals outran the server, so waits depend on how long one looks;
    ``queue_growth_per_s`` says how fast the line grew.
    """

    run: Run
    ttft: Weighted
    tpot: Weighted
    gap: Weighted
    e2e: Weighted
    makespan_s: float
    output_tokens_per_s: float
    mean_batch: float
    slot_utilisation: float
    kept_slot_steps: float
    idle_slot_steps: float
    peak_kv_bytes: float
    saturated: bool
    queue_growth_per_s: float

    @property
    def completed(self) -> int:
        """Requests that got their whole reply."""
        return len(self.run.arrival)

    @property
    def rejected(self) -> int:
        """Requests that no server could take."""
        return sum(self.run.rejected.values())


def outcome(run: Run) -> Outcome:
    """Everything that follows from a run."""
    tokens = int(run.output.sum())
    span = float(run.end.max() - run.arrival[0]) if len(run.arrival) else 0.0
    several = run.output > 1
    tpot = (run.end - run.first)[several] / (run.output[several] - 1)
    busy = run.step_count > 0
    kept, idle = wasted_slots(run)
    waiting, growth = _line(run)
    return Outcome(
        run=run,
        ttft=Weighted.of(run.first - run.arrival),
        tpot=Weighted.of(tpot),
        gap=gaps(run),
        e2e=Weighted.of(run.end - run.arrival),
        makespan_s=span,
        output_tokens_per_s=tokens / span if span > 0 else float("nan"),
        mean_batch=float(run.step_count[busy].mean()) if busy.any() else float("nan"),
        slot_utilisation=tokens / (tokens + kept) if tokens else float("nan"),
        kept_slot_steps=kept,
        idle_slot_steps=idle,
        peak_kv_bytes=run.peak_bytes,
        saturated=_saturated(run, waiting),
        queue_growth_per_s=growth,
    )


def gaps(run: Run) -> Weighted:
    """Every wait between two tokens of one reply: from step to step, from a first token to the next, over preemptions.

    Tokens that one checking pass accepts come together; the wait is counted once.
    """
    decoding = run.stay_steps > 0
    begins = np.bincount(run.stay_start[decoding], minlength=len(run.step_end))
    goes_on = (run.step_count - begins)[1:]
    between = np.diff(run.step_end)
    opening = run.step_end[run.stay_start[decoding]] - run.stay_first[decoding]
    resumed = _resumed(run)
    values = np.concatenate([between, opening, resumed])
    weights = np.concatenate([goes_on, np.ones(len(opening) + len(resumed))])
    return Weighted.of(values, weights)


def _resumed(run: Run) -> Array:
    """Waits over a preemption: from the last token before to the first one after."""
    if not run.preempted:
        return np.empty(0)
    gave = np.flatnonzero(np.isfinite(run.stay_first))
    order = gave[np.lexsort((gave, run.stay_request[gave]))]
    same = run.stay_request[order][1:] == run.stay_request[order][:-1]
    waits: Array = run.stay_first[order][1:][same] - run.stay_end[order][:-1][same]
    return waits


def wasted_slots(run: Run) -> tuple[float, float]:
    """Slot-steps that a static group kept after replies had ended, and those empty while somebody waited."""
    ends = run.step_end
    if not len(ends):
        return 0.0, 0.0
    held = _counted(run.stay_admitted, ends) - _counted(run.stay_released, ends)
    kept = float((held - run.step_count).sum()) if run.policy.admission == "static" else 0.0
    starts = np.concatenate([[0.0], ends[:-1]])
    given_up = np.sort(run.stay_end[_unfinished(run)])
    came = np.searchsorted(run.arrival, starts, side="right") + np.searchsorted(
        given_up, starts, side="right"
    )
    somebody = came - _counted(run.stay_admitted, ends) > 0
    return max(0.0, kept), float(np.maximum(run.policy.slots - held, 0.0)[somebody].sum())


def _counted(times: Array, before: Array) -> Array:
    """How many of the times lie before each of the others."""
    return np.searchsorted(np.sort(times), before, side="left").astype(np.float64)


def _unfinished(run: Run) -> npt.NDArray[np.bool_]:
    """Stays that ended with a preemption: all but the last of a request."""
    last = np.zeros(len(run.arrival), dtype=np.int64)
    last[run.stay_request] = np.arange(len(run.stay_request))
    unfinished: npt.NDArray[np.bool_] = last[run.stay_request] != np.arange(len(run.stay_request))
    return unfinished


def waiting_at(run: Run, times: Array) -> Array:
    """Requests that have arrived and hold no slot, at each time; those preempted wait again."""
    came = np.searchsorted(run.arrival, times, side="right")
    gone = np.searchsorted(np.sort(run.end), times, side="right")
    taken = np.searchsorted(np.sort(run.stay_admitted), times, side="right")
    left = np.searchsorted(np.sort(run.stay_end), times, side="right")
    waits: Array = (came - gone - (taken - left)).astype(np.float64)
    return np.maximum(waits, 0.0)


def _line(run: Run) -> tuple[int, float]:
    """Requests waiting when the last one arrived, and by how many a second the line grew until then."""
    if not len(run.arrival):
        return 0, 0.0
    last, span = float(run.arrival[-1]), float(run.arrival[-1] - run.arrival[0])
    waiting = int(waiting_at(run, np.array([last]))[0])
    return waiting, waiting / span if span > 0 else 0.0


def _saturated(run: Run, waiting: int) -> bool:
    """Whether the queue grows without bound: long at the end of the arrivals, and longer with each of them."""
    count = len(run.arrival)
    if waiting < max(_LEAST, _SHARE * count) or run.arrival[-1] <= run.arrival[0]:
        return False
    waits = run.admitted - run.arrival
    if waits.std() == 0:
        return False
    return bool(np.corrcoef(run.arrival, waits)[0, 1] > _TREND)


def percentiles(values: Weighted) -> dict[str, float]:
    """p50, p95, p99 and the mean."""
    return {**{f"p{percent}": values.percentile(percent) for percent in PERCENTILES}, "mean": values.mean}


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that met both targets: their share, how many a second, and the tokens that they brought a second."""

    share: float
    requests_per_s: float
    tokens_per_s: float


def goodput(found: Outcome, ttft_s: float | None, tpot_s: float | None) -> Goodput:
    """What counts under targets in seconds; None is no target."""
    run = found.run
    met = np.ones(found.completed, dtype=np.bool_)
    if ttft_s is not None:
        met &= run.first - run.arrival <= ttft_s
    if tpot_s is not None:
        met &= (run.end - run.first) <= tpot_s * (run.output - 1) * (1 + 1e-12)
    span = found.makespan_s
    if not found.completed or not span > 0:
        return Goodput(float("nan"), float("nan"), float("nan"))
    offered = found.completed + found.rejected
    return Goodput(float(met.sum()) / offered, float(met.sum()) / span, float(run.output[met].sum()) / span)
