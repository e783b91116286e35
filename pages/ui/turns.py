"""Whose run the processor works on: first come, first served.

Python works on one thread at a time. Runs that share it in slices all end late, and the thread that sends their
messages waits for a slice after every message. So a run takes its turn, which is over in a few hundredths of a second;
whoever needs longer (to play requests, to read a file) keeps running, but no longer keeps the next one waiting.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LONGEST_S: Final = 0.2
"""How long one run keeps others waiting."""


class Turns:
    """A queue for the processor."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._holder: threading.Event | None = None
        self._since = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for those who came before, each for `longest_s` at most; others wait for the block as long."""
        mine = threading.Event()
        self._take(mine)
        try:
            yield
        finally:
            with self._lock:
                if self._holder is mine:
                    self._holder = None
                    self._wake()

    def _take(self, mine: threading.Event) -> None:
        with self._lock:
            self._waiting.append(mine)
        while True:
            with self._lock:
                left = self._left(mine)
                if left is not None and left <= 0:
                    self._waiting.popleft()
                    self._holder, self._since = mine, time.monotonic()
                    # The next in the queue now watches how long this run takes.
                    self._wake()
                    return
                mine.clear()
            mine.wait(left)

    def _left(self, mine: threading.Event) -> float | None:
        """Seconds until the first in the queue may go; None for the others, who are woken when they are first."""
        if self._waiting[0] is not mine:
            return None
        return 0.0 if self._holder is None else self._since + self._longest_s - time.monotonic()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting[0].set()


TURNS: Final = Turns()
