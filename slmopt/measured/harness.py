"""The measuring harness: TTFT, TPOT and tokens/s of anything that yields tokens as they are produced."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.specs.base import SpecError

Prompt = TypeVar("Prompt")


class BenchResult(Mapping[str, float | int | None]):
    """Summary figures by key; ``requests`` holds one row for each timed prompt.

    Keys: ``ttft_p50_ms``, ``ttft_p95_ms``, ``tpot_p50_ms``, ``tpot_p95_ms`` (None where no request yields one),
    ``tokens_per_s`` (all tokens over the wall time of the timed part), ``requests_timed``, ``tokens``,
    ``empty_streams``, ``single_token_streams``, ``wall_s``, ``peak_memory_bytes`` (of this process, None where the
    system does not tell).
    """

    def __init__(self, figures: Mapping[str, float | int | None], requests: pd.DataFrame) -> None:
        self._figures = dict(figures)
        self.requests = requests

    def __getitem__(self, key: str) -> float | int | None:
        return self._figures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return f"BenchResult({self._figures!r})"


def percentile(values: Sequence[float] | npt.NDArray[np.float64], fraction: float) -> float | None:
    """The value at index int(fraction·n) of the sorted ones, as in the article; the largest where that is beyond the end.

    No interpolation: a p95 is a time that some request really took. None without values.
    """
    if not len(values):
        return None
    at = place_of(fraction, len(values))
    return float(np.partition(np.asarray(values, dtype=np.float64), at)[at])


def place_of(fraction: float, count: int) -> int:
    """Which of so many sorted values :func:`percentile` takes."""
    return min(count - 1, int(fraction * count))


def bench(
    stream: Callable[[Prompt], Iterable[object]], prompts: Iterable[Prompt], warmup: int = 2
) -> BenchResult:
    """Time ``stream(prompt)``, which must yield tokens as they are produced.

    The first ``warmup`` prompts load weights and settle clocks and are not timed; the others are, so that no prefix
    cache filled by the warm-up flatters a timed prompt. TTFT runs from the call to the first token; TPOT is the mean
    gap after it. A stream that yields nothing has neither, one that yields a single token has no TPOT: both are
    counted. p50 is the median, p95 as :func:`percentile` says.

    Raises :class:`SpecError` where no prompt would be left to time.
    """
    if warmup < 0:
        raise SpecError(f"warmup = {warmup}: it must be 0 or above.")
    prompts = list(prompts)
    if len(prompts) <= warmup:
        raise SpecError(
            f"{len(prompts)} prompts with warmup = {warmup} leave none to time: give at least {warmup + 1}."
        )
    for prompt in prompts[:warmup]:
        for _ in stream(prompt):
            pass
    rows = []
    begin = time.perf_counter()
    for number, prompt in enumerate(prompts[warmup:], start=1):
        start = time.perf_counter()
        stamps = [time.perf_counter() for _ in stream(prompt)]
        rows.append(_row(number, start, stamps, time.perf_counter()))
    wall = time.perf_counter() - begin
    return _summary(pd.DataFrame(rows), wall)


def _row(number: int, start: float, stamps: list[float], end: float) -> dict[str, float | int]:
    nan = float("nan")
    return {
        "request": number,
        "tokens": len(stamps),
        "ttft_ms": 1e3 * (stamps[0] - start) if stamps else nan,
        "tpot_ms": 1e3 * (stamps[-1] - stamps[0]) / (len(stamps) - 1) if len(stamps) > 1 else nan,
        "e2e_ms": 1e3 * (end - start),
    }


def _summary(requests: pd.DataFrame, wall: float) -> BenchResult:
    ttft = requests["ttft_ms"].dropna().tolist()
    tpot = requests["tpot_ms"].dropna().tolist()
    tokens = int(requests["tokens"].sum())
    return BenchResult(
        {
            "ttft_p50_ms": statistics.median(ttft) if ttft else None,
            "ttft_p95_ms": percentile(ttft, 0.95),
            "tpot_p50_ms": statistics.median(tpot) if tpot else None,
            "tpot_p95_ms": percentile(tpot, 0.95),
            "tokens_per_s": tokens / wall if wall > 0 else None,
            "requests_timed": len(requests),
            "tokens": tokens,
            "empty_streams": int((requests["tokens"] == 0).sum()),
            "single_token_streams": int((requests["tokens"] == 1).sum()),
            "wall_s": wall,
            "peak_memory_bytes": _peak_memory(),
        },
        requests,
    )


def _peak_memory() -> int | None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:  # Windows has no such module
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
