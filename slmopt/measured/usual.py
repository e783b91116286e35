"""What is usual for a row: the reference measurements of its device's class with its own runtime, where there are enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slmopt.specs.library import Efficiency, Library
from slmopt.specs.setup import Setup

if TYPE_CHECKING:
    from slmopt.measured.placed import Facts, Row

_BACKENDS: Final = ("cuda", "rocm", "vulkan", "metal", "cpu")


def with_reference(setup: Setup, row: Row, presets: Library, facts: Facts) -> Setup:
    """The setup with the factors of its runtime's own reference measurements, where there are enough of them."""
    if setup.factors.fitted or {"bandwidth_fraction", "compute_fraction", "fixed_ms"} & set(facts.overrides):
        return setup
    known = _efficiency(setup, row, presets)
    if known is None:
        return setup
    b, c = known.bandwidth_fraction, known.compute_fraction
    factors = replace(
        setup.factors,
        bandwidth=(b.p10, b.p50, b.p90),
        compute=(c.p10, c.p50, c.p90),
        fixed_s=known.fixed_ms / 1e3,
        origin=f"p10 to p90 of {known.rows} reference measurements, {known.name}",
    )
    return replace(setup, factors=factors)


def _efficiency(setup: Setup, row: Row, presets: Library) -> Efficiency | None:
    cls = setup.device.reference_class
    backend = row.backend.lower().replace("hip", "rocm")
    runtimes = [
        f"llama.cpp-{name}"
        for name in _BACKENDS
        if name in backend.split(",")[0] and row.tool.startswith("llama")
    ]
    runtimes += [word for word in ("ollama", "vllm", "mlx") if word in f"{row.tool} {backend}".lower()]
    for runtime in runtimes:
        if f"{cls}/{runtime}" in presets.efficiencies:
            return presets.efficiencies[f"{cls}/{runtime}"]
    return None
