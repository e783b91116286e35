"""Where a condition turns true, by halving."""

from __future__ import annotations

from collections.abc import Callable

_HALVINGS = 40


def turns_true(reached: Callable[[float], bool], low: float, high: float) -> float:
    """The least number at which ``reached``, false at ``low`` and true at ``high``, is true; within 1e-12 of the span."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
