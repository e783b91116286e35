"""How this process treats threads and memory: set once, before the first visitor."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

_SWITCH_S: Final = 0.001
# Python's own 5 ms are made for threads that compute. Here one answers browsers beside those that compute.

_ARENA_MAX: Final = -8
_ARENAS: Final = 2
# mallopt's name for the number of memory's parts. Each run has a thread of its own; with a part for each of many
# threads the free places of all of them together grow for hours.


def settle() -> None:
    """Let threads take over from each other sooner and share memory; leave what lives for ever out of collections.

    Over what never dies a full collection takes longer than a whole page, and whoever is served meanwhile waits.
    """
    sys.setswitchinterval(_SWITCH_S)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_ARENA_MAX, _ARENAS)
    gc.collect()
    gc.freeze()
