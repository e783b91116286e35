"""Numbers for people: three significant figures (two for estimates), prefixes from 1 to 999, units that stay beside them.

Full precision stays in the results; rounding happens here and nowhere else.
"""

from __future__ import annotations

import math
from typing import Literal

from slmopt.words import units

Kind = Literal["ceiling", "estimate", "measured"]

UNKNOWN = "–"
NEVER = "never"
NBSP = "\u00a0"

_SI = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALLEST = 0.01


def figures(value: float | None, digits: int = 3) -> str:
    """``digits`` significant figures with thousands commas: 23.8, 0.56, 28,600; "< 0.01" for what is smaller."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return NEVER
    if value == 0:
        return "0"
    if abs(value) < _SMALLEST:
        return f"<{NBSP}{_SMALLEST}" if value > 0 else f">{NBSP}-{_SMALLEST}"
    rounded = significant(value, digits)
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{places}f}"


def significant(value: float, digits: int = 3) -> float:
    """``value`` rounded to significant figures."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def count(value: float | None) -> str:
    """A whole number with commas, rounded down: what fits is never rounded up."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return NEVER if math.isinf(value) else f"{math.floor(value):,}"


def percent(fraction: float | None) -> str:
    """A whole percent: "38 %"."""
    if fraction is None or math.isnan(fraction):
        return UNKNOWN
    if 0 < fraction < 0.005:
        return f"<{NBSP}1{NBSP}%"
    return f"{fraction * 100:,.0f}{NBSP}%"


def factor(value: float | None) -> str:
    """A gain: "3.56×"; below 1 "0.800×, slower"."""
    if value is None or math.isnan(value):
        return UNKNOWN
    text = f"{figures(value)}×"
    return text if significant(value) >= 1 else f"{text}, slower"


def with_unit(value: float | None, unit: str, digits: int = 3) -> str:
    """A number and its unit, kept on one line."""
    return f"{figures(value, digits)}{NBSP}{unit}"


def seconds(value: float | None, digits: int = 3) -> str:
    """A time: ms below 1 s, s up to 120, then min and h."""
    if value is None or not math.isfinite(value):
        return figures(value)
    scale, unit = time_scale(value, digits)
    return with_unit(value / scale, unit, digits)


def time_scale(value: float, digits: int = 3) -> tuple[float, str]:
    """Seconds in a unit and its name, for a time of this size shown in ``digits`` figures."""
    if significant(value, digits) < 1:
        return 1e-3, "ms"
    if value <= 120:
        return 1.0, "s"
    return (60.0, "min") if value <= 7200 else (3600.0, "h")


def milliseconds(value: float | None, digits: int = 3) -> str:
    """The number of ms in ``value`` seconds, for places whose label carries the unit."""
    return figures(None if value is None else value * 1e3, digits)


def bytes_(value: float | None, digits: int = 3) -> str:
    """A size in the units in use: GB is 10^9 bytes, GiB 2^30."""
    if value is None or not math.isfinite(value):
        return figures(value)
    scale, unit = byte_scale(value, digits)
    return with_unit(value / scale, unit, digits)


def byte_scale(value: float, digits: int = 3) -> tuple[float, str]:
    """Bytes in the unit that suits ``value``, and that unit's name: 1e9 and "GB", or 2**30 and "GiB"."""
    asked = units.now()
    for power, prefix in ((6, "E"), (5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k")):
        scale = asked.step**power
        if abs(significant(value / scale, digits)) >= 1:
            return scale, asked.named(prefix)
    return 1.0, asked.named("")


def giga() -> tuple[float, str]:
    """Bytes in one GB or GiB, and its name, for axes and columns whose unit stays."""
    asked = units.now()
    return asked.giga, asked.named("G")


def flops(value: float | None, digits: int = 3) -> str:
    """Operations: "14.0 GFLOP"."""
    return _prefixed(value, "FLOP", digits)


def flops_per_s(value: float | None, digits: int = 3) -> str:
    """A rate of operations: "400 TFLOPS"."""
    return _prefixed(value, "FLOPS", digits)


def bytes_per_s(value: float | None, digits: int = 3) -> str:
    """A bandwidth: "2.00 TB/s"."""
    return _prefixed(value, "B/s", digits)


def tokens_per_s(value: float | None, digits: int = 3) -> str:
    """A token rate, with commas and no prefix."""
    return with_unit(value, "tokens/s", digits)


def trimmed(text: str) -> str:
    """The number without zeros that say nothing, for names: "2.00 TB/s" as "2 TB/s"."""
    number, _, rest = text.partition(NBSP)
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number}{NBSP}{rest}" if rest else number


def _prefixed(value: float | None, unit: str, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return figures(value)
    scale, prefix = si_scale(value, digits)
    return with_unit(value / scale, prefix + unit, digits)


def si_scale(value: float, digits: int = 3) -> tuple[float, str]:
    """The power of 1,000 that keeps ``value`` between 1 and 999 once rounded to ``digits`` figures, and its prefix."""
    size = abs(significant(value, digits))
    for scale, prefix in _SI:
        if size >= scale:
            return scale, prefix
    return 1.0, ""


def bounded(text: str, kind: Kind, side: Literal["most", "least"]) -> str:
    """The kind in words: "at most 673 tokens/s" for a bound, "about 440" for an estimate, bare when measured."""
    if kind == "measured":
        return text
    return f"about {text}" if kind == "estimate" else f"at {side} {text}"


def sign(kind: Kind, side: Literal["most", "least"]) -> str:
    """The kind as a sign, where room is tight: ≤ or ≥ for a bound, ≈ for an estimate, nothing when measured."""
    if kind == "measured":
        return ""
    return "≈" if kind == "estimate" else ("≤" if side == "most" else "≥")


def span(low: str, high: str) -> str:
    """A band: "≈ 19 to 43"; one number where both ends read alike."""
    return f"≈{NBSP}{low}" if low == high else f"≈{NBSP}{low}{NBSP}to{NBSP}{high}"
