"""Long columns gone through piece by piece, on all cores: what arises on the way stays in the processors' caches.

A sum over a million rows that is written to memory and read again for each of its steps takes several times as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from slmopt.measured.text import any_number

PIECE: Final = 1 << 15
"""Rows of a piece; one column of it is a quarter of a megabyte."""

_FEW: Final = 4
"""Pieces up to which one thread is quicker."""


def each_piece(size: int, work: Callable[[slice], None]) -> None:
    """Do ``work`` for every piece of so many rows; pieces may be worked on at the same time."""
    parts = [slice(begin, min(begin + PIECE, size)) for begin in range(0, size, PIECE)]
    if len(parts) <= _FEW:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # What NumPy says of odd numbers is told to each thread anew.
        for done in [pool.submit(any_number(work), part) for part in parts]:
            done.result()
