"""Where a condition on whole numbers begins to hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable


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
