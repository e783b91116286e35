"""Memory bandwidth and matrix rates of Apple's graphics processor, with MLX."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from slmopt.measured.probe import Probed, Sample, Say, memory_bytes, processor_name, reference_class, timed
from slmopt.measured.probe_cpu import line

BUFFER: Final = 1 << 30
MATRIX: Final = 4096

TYPES: Final = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"))


def accelerators(seconds: float, say: Say) -> list[Probed]:
    """The graphics processor's samples; none where MLX has no Metal device."""
    mx: Any = import_module("mlx.core")
    metal = getattr(mx, "metal", None)
    if metal is None or not metal.is_available():
        return []
    name = f"{processor_name()} GPU"
    share = seconds / (1 + len(TYPES))
    samples = [_add(mx, name, share)]
    say(line(samples[0]))
    for kind, dtype in TYPES:
        samples.append(_product(mx, name, kind, getattr(mx, dtype), share))
        say(line(samples[-1]))
    return [Probed(name, "gpu", reference_class(processor_name(), "apple"), memory_bytes(), tuple(samples))]


def _add(mx: Any, name: str, seconds: float) -> Sample:
    """One is added to every number of a buffer: as much is read as is written."""
    source = mx.ones(BUFFER // 4, dtype=mx.float32)
    mx.eval(source)
    rates = tuple(2.0 * BUFFER / taken for taken in timed(lambda: mx.eval(source + 1.0), seconds))
    return Sample(name, "memory read and written", "bandwidth", "fp32", float(BUFFER), 0, rates)


def _product(mx: Any, name: str, kind: str, dtype: Any, seconds: float) -> Sample:
    a, b = (mx.random.normal((MATRIX, MATRIX)).astype(dtype) for _ in range(2))
    mx.eval(a, b)
    rates = tuple(2.0 * MATRIX**3 / taken for taken in timed(lambda: mx.eval(a @ b), seconds))
    size = 3.0 * MATRIX * MATRIX * (4 if kind == "fp32" else 2)
    return Sample(name, f"matrix product, {MATRIX:,}", "rate", kind, size, 0, rates)
