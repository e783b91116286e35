"""How busy the rest of a machine is while something is measured on it.

Linux counts the processor time of all cores (/proc/stat, stolen time of a virtual machine included); what this process took
is subtracted, so that the rest is other programs'. Elsewhere the load average before the test is all that is known.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MUCH: Final = 0.05
"""Share of the cores, taken by others, from which figures cannot be trusted."""

_BUSY_COLUMNS: Final = (0, 1, 2, 5, 6, 7)
"""Of a line of /proc/stat: user, nice, system, irq, softirq, steal. Idle and waiting for a disk are no work."""


@dataclass(frozen=True, slots=True)
class Busy:
    """``cores`` of the machine; ``load`` the mean number of running programs in the minute before (this one included);
    ``others`` how many cores other programs took meanwhile. None where the system does not tell.
    """

    cores: int
    load: float | None
    others: float | None

    @property
    def much(self) -> bool:
        """Whether others took so much that the figures are too low."""
        if self.others is not None:
            return self.others > MUCH * self.cores
        return self.load is not None and self.load > 0.25 * self.cores


@dataclass(frozen=True, slots=True)
class Watch:
    """The clocks when a measurement began."""

    load: float | None
    wall: float
    own: float
    every: float | None

    @classmethod
    def start(cls) -> Watch:
        """Begin to watch."""
        return cls(load_average(), time.perf_counter(), time.process_time(), processor_seconds())

    def stop(self) -> Busy:
        """What was seen since."""
        wall, own, every = (
            time.perf_counter() - self.wall,
            time.process_time() - self.own,
            processor_seconds(),
        )
        others = None
        if self.every is not None and every is not None and wall > 0:
            others = max(every - self.every - own, 0.0) / wall
        return Busy(os.cpu_count() or 1, self.load, others)


def load_average() -> float | None:
    """Programs that ran or waited for a core, in the mean of the last minute."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def processor_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Seconds that all cores together have worked since the start; None where the system does not tell."""
    try:
        first = stat.read_text(encoding="ascii").split("\n", 1)[0].split()
        ticks = [int(value) for value in first[1:]]
        return sum(ticks[at] for at in _BUSY_COLUMNS if at < len(ticks)) / os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, ValueError):
        return None
