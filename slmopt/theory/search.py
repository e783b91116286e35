"""Where a condition on numbers, whole or real, begins to hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

_HALVINGS = 40


def first_whole(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 on for which ``holds`` is true, up to ``most`` (at least 1); None where it never is.

    ``holds`` must not become false again as the number grows.
    """
    low = high = 1
    while not holds(high):
        if high >= most:
            return None
        low, high = high + 1, min(2 * high, most)
    return low + bisect_left(range(low, high), True, key=holds)


def turns_true(reached: Callable[[float], bool], low: float, high: float, halvings: int = _HALVINGS) -> float:
    """The least number at which ``reached``, false at ``low`` and true at ``high``, is true.

    Within 2^−``halvings`` of the span, which is 1e-12 of it unless told otherwise.
    """
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
