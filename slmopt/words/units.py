"""The units that a reader chose: one value, handed to everything that writes numbers within a block.

It travels as Python's own decimal context does: a `ContextVar` holds for one thread's run, so sessions and requests that
run at the same time never see each other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal

Sizes = Literal["GB", "GiB"]
Speed = Literal["ms", "tokens/s"]


@dataclass(frozen=True, slots=True)
class Units:
    """How sizes are written: in GB (10^9 bytes, as makers sell memory) or in GiB (2^30, as operating systems count).

    Bandwidths and rates stay decimal, as every maker states them. ``speed`` is how a user's decode speed is written: as
    the time per token in ms, or as its inverse (:mod:`slmopt.words.pace`).
    """

    sizes: Sizes = "GB"
    speed: Speed = "ms"

    @property
    def step(self) -> float:
        """From one prefix of sizes to the next."""
        return 1024.0 if self.sizes == "GiB" else 1000.0

    @property
    def giga(self) -> float:
        """Bytes of one GB or GiB."""
        return self.step**3

    @property
    def meaning(self) -> str:
        """What the unit stands for."""
        return "GiB is 2³⁰ bytes" if self.sizes == "GiB" else "GB is 10⁹ bytes"

    @property
    def unusual(self) -> dict[str, str]:
        """What an address or a question has to carry: by its name each unit that is not the usual one."""
        held = {"sizes": self.sizes, "speed": self.speed}
        return {name: unit for name, unit in held.items() if unit != getattr(USUAL, name)}

    def named(self, prefix: str) -> str:
        """The unit with an SI prefix: "GB" or "GiB", "kB" or "KiB"."""
        if not prefix or self.sizes == "GB":
            return f"{prefix}B"
        return f"{prefix.upper()}iB"


USUAL: Final = Units()
_NOW: ContextVar[Units] = ContextVar("units", default=USUAL)


def chosen(sizes: object, speed: object = None) -> Units:
    """The units that an address or a control names; the usual ones for anything else."""
    return Units("GiB" if sizes == "GiB" else "GB", "tokens/s" if speed == "tokens/s" else "ms")


def now() -> Units:
    """The units in use."""
    return _NOW.get()


def use(units: Units) -> None:
    """Use these from here on, in this thread's run."""
    _NOW.set(units)


@contextmanager
def using(units: Units) -> Iterator[None]:
    """Use these within the block."""
    token = _NOW.set(units)
    try:
        yield
    finally:
        _NOW.reset(token)
