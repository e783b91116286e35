"""A user's decode speed as the reader writes it: the time per token, or its inverse, the tokens a second of each user.

Nothing else writes a time per token. All functions take it in seconds; a speed turns bounds, ranges and percentiles round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from slmopt.words import numbers as n
from slmopt.words import units

Seconds = TypeVar("Seconds", float, npt.NDArray[np.float64])


def as_speed() -> bool:
    """Whether the reader reads speeds."""
    return units.now().speed == "tokens/s"


def name() -> str:
    """The quantity at the head of a line."""
    return "Each user's speed" if as_speed() else "Time per token"


def short() -> str:
    """The quantity where a word is all that there is room for."""
    return "speed" if as_speed() else "TPOT"


def inner(*, the: bool = False) -> str:
    """The quantity within a sentence; ``the`` where a time needs its article."""
    return "each user's speed" if as_speed() else "the time per token" if the else "time per token"


def label(unit: str = "ms", kind: str = "") -> str:
    """The quantity with its unit, for tiles, axes, fields and columns: "Time per token (ms)", "Each user (tokens/s)"."""
    of = f", {kind}" if kind else ""
    return f"{whose()}{of} ({'tokens/s' if as_speed() else unit})"


def whose() -> str:
    """The quantity at the head of a line where a number or its unit stands beside it."""
    return "Each user" if as_speed() else "Time per token"


def percentile() -> str:
    """The 95th percentile of times is the 5th of speeds: what nineteen of twenty replies reach."""
    return "p5" if as_speed() else "p95"


def shown(seconds: float | None, digits: int = 3) -> str:
    """A value with its unit: "4.85 ms", "206 tokens/s"."""
    if seconds is None or not math.isfinite(seconds):
        return n.figures(seconds)
    if not as_speed():
        return n.seconds(seconds, digits)
    return n.tokens_per_s(1.0 / seconds, digits) if seconds else "no limit"


def each(seconds: float | None, digits: int = 3) -> str:
    """A value where nothing beside it says what it is of: "4.85 ms a token", "206 tokens/s a user"."""
    return f"{shown(seconds, digits)} a {'user' if as_speed() else 'token'}"


def side() -> Literal["most", "least"]:
    """On which side of its ceiling it stays: no time is shorter, no speed higher."""
    return "most" if as_speed() else "least"


def ceiling_sign() -> str:
    """The sign of a ceiling."""
    return n.sign("ceiling", side())


def limit() -> str:
    """What stands before a target."""
    return "at least" if as_speed() else "within"


def span(fast: float, slow: float, digits: int = 2) -> str:
    """An estimate's range without its unit, the smaller number first."""
    at = scale(fast, digits)
    low, high = sorted((at.of(fast), at.of(slow)))
    return n.span(n.figures(low, digits), n.figures(high, digits))


def changed(factor: float) -> str:
    """What a gain does: "time per token 1.5× shorter" or "each user 1.5× faster"; below 1 "longer" or "slower"."""
    what, better, worse = ("each user", "faster", "slower") if as_speed() else (inner(), "shorter", "longer")
    return f"{what} {n.figures(factor if factor >= 1 else 1 / factor)}× {better if factor >= 1 else worse}"


@dataclass(frozen=True, slots=True)
class Scale:
    """What a number on an axis or under a tile's label is counted in; ``step`` is one of them in s, 0 for speeds."""

    unit: str
    step: float

    def of(self, seconds: Seconds) -> Seconds:
        """Times in this unit, or as speeds."""
        if self.step:
            return seconds / self.step
        if isinstance(seconds, float | int):
            return 1.0 / seconds if seconds else math.inf
        return np.divide(1.0, seconds, out=np.full_like(seconds, np.inf), where=seconds != 0)


def scale(like: float, digits: int = 3) -> Scale:
    """The unit that suits a time of this size; NaN asks for ms."""
    if as_speed():
        return Scale("tokens/s", 0.0)
    step, unit = n.time_scale(0.0 if math.isnan(like) else like, digits)
    return Scale(unit, step)
