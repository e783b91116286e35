"""Long columns gone through piece by piece, on all cores: what arises on the way stays in the processors' caches.

A sum over a million rows that is written to memory and read again for each of its steps takes several times as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import Final, TypeVar

from slmopt.measured.text import any_number

T = TypeVar("T")

PIECE: Final = 1 << 15
"""Rows of a piece; one column of it is a quarter of a megabyte."""

_FEW: Final = 4
"""Pieces up to which one thread is quicker."""


def each_piece(size: int, work: Callable[[slice], None]) -> None:
    """Do ``work`` for every piece of so many rows; pieces may be worked on at the same time."""
    each_part([*range(0, size, PIECE), size], work)


def each_part(bounds: Sequence[int], work: Callable[[slice], None]) -> None:
    """The same for parts that begin and end at these bounds."""
    parts = [slice(begin, end) for begin, end in pairwise(bounds)]
    if len(parts) <= _FEW:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # What NumPy says of odd numbers is told to each thread anew.
        for done in [pool.submit(any_number(work), part) for part in parts]:
            done.result()


def at_once(size: int, works: Iterable[Callable[[], T]]) -> list[T]:
    """What each of several works on columns of so many rows gives; long ones are worked on at the same time."""
    if size <= _FEW * PIECE:
        return [work() for work in works]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # A thread knows nothing of the units and the like that hold for who asks.
        told = [pool.submit(copy_context().run, any_number(work)) for work in works]
        return [done.result() for done in told]
