"""Figures of the machine that this runs on: memory bandwidth and matrix rates, as a device that the dashboard loads.

Each test runs once untimed, then as often as its share of the time allows; median, best and spread are kept. A ceiling
must not be below what the machine can do, so the device's figures are the best of their runs; the medians stand in its
note.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from slmopt.measured.match_device import match_device
from slmopt.specs.device import RATES, Device
from slmopt.specs.library import library

Kind = Literal["bandwidth", "rate"]
Say = Callable[[str], None]

LEAST_RUNS: Final = 5
MOST_RUNS: Final = 200
MOST_SECONDS: Final = 3600.0
NO_CACHE_KNOWN: Final = 64 << 20
"""Bytes of a last-level cache that is taken for sure where the system does not tell its size."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One test on one unit: bytes/s or FLOP/s of each run, in order.

    ``threads`` is what the test was given, or for matrix products what its library was seen to use; 0 on accelerators.
    """

    device: str
    name: str
    kind: Kind
    dtype: str
    size_bytes: float
    threads: float
    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        """Half of the runs are faster."""
        return statistics.median(self.rates)

    @property
    def best(self) -> float:
        """The fastest run."""
        return max(self.rates)

    @property
    def spread(self) -> float:
        """Standard deviation of the runs over their mean; 0 for a single run."""
        return statistics.stdev(self.rates) / statistics.fmean(self.rates) if len(self.rates) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Probed:
    """One unit: its name, its samples, its memory in bytes (None where not known), and the class that it belongs to."""

    name: str
    unit: str
    reference_class: str
    memory_bytes: float | None
    samples: tuple[Sample, ...] = field(default=())

    def best(self, kind: Kind, dtype: str | None = None) -> float | None:
        """The best run of a kind (of one operand type); None where nothing of it was measured."""
        found = [s.best for s in self.samples if s.kind == kind and dtype in (None, s.dtype)]
        return max(found, default=None)

    def rate_types(self) -> tuple[str, ...]:
        """Operand types whose products were timed."""
        return tuple(dict.fromkeys(s.dtype for s in self.samples if s.kind == "rate"))


def timed(work: Callable[[], object], seconds: float, least: int = LEAST_RUNS) -> tuple[float, ...]:
    """Seconds of each run of ``work``, after one that is not timed; at least ``least`` runs, then until time is up."""
    work()
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while len(taken) < least or (time.perf_counter() < until and len(taken) < MOST_RUNS):
        start = time.perf_counter()
        work()
        taken.append(max(time.perf_counter() - start, 1e-9))
    return tuple(taken)


def probe(seconds: float, threads: int | None, say: Say) -> tuple[Probed, ...]:
    """Every unit of this machine that the installed libraries reach: the processor, then accelerators.

    ``seconds`` is about what all tests of a unit take; ``threads`` read memory at once (None: one a core that this process
    may use); ``say`` hears a line a test.
    """
    from slmopt.measured import probe_cpu  # noqa: PLC0415 - its buffers are made only here

    found = [probe_cpu.processor(seconds, threads, say)]
    if find_spec("torch") is not None:
        from slmopt.measured import probe_torch  # noqa: PLC0415 - torch takes seconds to load

        found += probe_torch.accelerators(seconds, say)
    if find_spec("mlx") is not None:
        from slmopt.measured import probe_mlx  # noqa: PLC0415 - exists on Apple silicon only

        found += probe_mlx.accelerators(seconds, say)
    return tuple(unit for unit in found if unit.best("bandwidth"))


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """What the system calls its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    return platform.processor() or platform.machine() or "processor"


def last_cache_bytes() -> int | None:
    """Size of the last-level cache as Linux tells it; None where it does not."""
    sizes = []
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = index.read_text(encoding="ascii").strip()
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
        if unit is not None and text[:-1].isdigit():
            sizes.append(int(text[:-1]) * unit)
    return max(sizes, default=None)


def memory_bytes() -> int | None:
    """Main memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def device_records(units: Sequence[Probed], when: dt.datetime, meanwhile: str = "") -> list[dict[str, Any]]:
    """The units as a preset file's records, each checked as a device; ``meanwhile`` says what else ran."""
    records = []
    for unit in units:
        bandwidth = unit.best("bandwidth")
        assert bandwidth is not None
        record: dict[str, Any] = {
            "id": _ident(unit.name),
            "name": f"{unit.name} (measured here)",
            "device_class": unit.unit,
            "bandwidth_gbs": _rounded(bandwidth / 1e9),
            "units": [
                {
                    "name": unit.unit,
                    "peak_tflops": {
                        kind: _rounded((unit.best("rate", kind) or 0.0) / 1e12)
                        for kind in unit.rate_types()
                        if kind in RATES
                    },
                }
            ],
            "reference_class": unit.reference_class,
            "source": f"python -m slmopt probe, {when:%Y-%m-%d}",
            "confidence": "derived",
            "note": "; ".join(filter(None, [_note(unit), meanwhile])),
        }
        if unit.memory_bytes:
            record["capacity_gb"] = _rounded(unit.memory_bytes / 1e9)
        Device.model_validate(record)
        records.append(record)
    return records


def _ident(name: str) -> str:
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return "-".join(filter(None, plain.split("-")))[:60] + "-measured"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _note(unit: Probed) -> str:
    parts = []
    for sample in unit.samples:
        scale, name = (1e9, "GB/s") if sample.kind == "bandwidth" else (1e12, "TFLOPS")
        threads = f", {sample.threads:.3g} threads" if sample.threads else ""
        parts.append(
            f"{sample.name} {sample.dtype}: median {sample.median / scale:.4g} of {len(sample.rates)} runs, "
            f"best {sample.best / scale:.4g} {name}, spread {100 * sample.spread:.0f} %{threads}"
        )
    return "Best of the runs. " + "; ".join(parts)


def reference_class(name: str, default: str) -> str:
    """The class of the preset that a device's name means, whose reference measurements then are the usual ones."""
    found = match_device(library().devices, name)
    return default if found is None else found.reference_class
