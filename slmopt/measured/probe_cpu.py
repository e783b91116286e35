"""Memory bandwidth and matrix rates of the processor, with NumPy and threads.

Bytes are those that a program asks for: a copy counts what it reads and what it writes, not the line that the processor
fetches before it writes into it. Operations of a product of n × n matrices are 2·n³.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np

from slmopt.measured.probe import (
    NO_CACHE_KNOWN,
    Kind,
    Probed,
    Sample,
    Say,
    cores,
    last_cache_bytes,
    memory_bytes,
    processor_name,
    reference_class,
    timed,
)

CACHES: Final = 8
"""Buffers are this many times the last-level cache."""

MOST_BUFFER: Final = 2 << 30
LEAST_BUFFER: Final = 64 << 20
MATRIX: Final = 2048
SMALL_MATRIX: Final = 512

Array = np.ndarray[Any, np.dtype[Any]]


def processor(seconds: float, threads: int | None, say: Say) -> Probed:
    """The processor's samples: reads, a copy and a triad past the last cache, products in FP32 and FP64."""
    count = threads or cores()
    name = processor_name()
    size = buffer_bytes(last_cache_bytes(), memory_bytes())
    share = seconds / 6
    samples = [*_memory(name, size, count, share, say), *_products(name, share, say)]
    return Probed(name, "cpu", reference_class(name, "cpu"), memory_bytes(), tuple(samples))


def buffer_bytes(cache: int | None, memory: int | None) -> int:
    """Bytes of one test's data: well past the last cache, at most an eighth of the memory."""
    wanted = max(CACHES * (cache or NO_CACHE_KNOWN), LEAST_BUFFER)
    most = MOST_BUFFER if memory is None else min(MOST_BUFFER, memory // 8)
    return max(min(wanted, most), 1 << 20)


def _memory(name: str, size: int, threads: int, seconds: float, say: Say) -> list[Sample]:
    """Each thread works on a part of its own."""
    tests: tuple[tuple[str, str, Callable[[int], tuple[Array, ...]], Callable[..., object]], ...] = (
        ("memory read, maximum", "int64", lambda n: (_filled(n // 8, np.int64),), np.max),
        ("memory read, bits", "int64", lambda n: (_filled(n // 8, np.int64),), np.bitwise_or.reduce),
        ("memory copy", "fp64", lambda n: (_filled(n // 16), _filled(n // 16)), np.copyto),
        ("memory triad", "fp64", lambda n: tuple(_filled(n // 24) for _ in range(3)), np.add),
    )
    samples = []
    with ThreadPoolExecutor(threads) as pool:
        for what, dtype, make, work in tests:
            parts = list(pool.map(make, [max(size // threads, 4096)] * threads))
            moved = sum(array.nbytes for part in parts for array in part)

            run = partial(_on_all, pool, work, parts)
            rates = tuple(moved / taken for taken in timed(run, seconds))
            samples.append(_told(Sample(name, what, "bandwidth", dtype, float(size), threads, rates), say))
    return samples


def _on_all(
    pool: ThreadPoolExecutor, work: Callable[..., object], parts: list[tuple[Array, ...]]
) -> list[object]:
    return list(pool.map(lambda part: work(*part), parts))


def _filled(count: int, dtype: Any = np.float64) -> Array:
    # Written, not only reserved: a page of zeros that nobody wrote is not in memory.
    return np.full(max(count, 1), 3, dtype=dtype)


def _products(name: str, seconds: float, say: Say) -> list[Sample]:
    """Products through the linear algebra library, which decides on its threads; those are told from its processor time."""
    samples = []
    for dtype, kind in ((np.float32, "fp32"), (np.float64, "fp64")):
        n = _fitting(dtype, seconds)
        a, b = (np.random.default_rng(seed).random((n, n)).astype(dtype) for seed in (1, 2))
        out = np.empty((n, n), dtype=dtype)
        cpu, wall = time.process_time(), time.perf_counter()
        taken = timed(partial(np.matmul, a, b, out=out), seconds / 2)
        used = (time.process_time() - cpu) / max(time.perf_counter() - wall, 1e-9)
        rates = tuple(2.0 * n**3 / one for one in taken)
        samples.append(
            _told(Sample(name, f"matrix product, {n:,}", "rate", kind, 3.0 * a.nbytes, used, rates), say)
        )
    return samples


def _fitting(dtype: Any, seconds: float) -> int:
    """The largest matrix of which several products fit into the time, by one product of a small one."""
    small = np.ones((SMALL_MATRIX, SMALL_MATRIX), dtype=dtype)
    (taken, *_) = timed(lambda: small @ small, 0.0, 1)
    n = MATRIX
    while n > SMALL_MATRIX and taken * (n / SMALL_MATRIX) ** 3 * 6 > seconds:
        n //= 2
    return n


def _told(sample: Sample, say: Say) -> Sample:
    say(line(sample))
    return sample


def line(sample: Sample) -> str:
    """A sample for people: what, how many threads, median and spread."""
    scale, unit = _scale(sample.kind)
    threads = f", {sample.threads:.2g} threads" if sample.threads else ""
    return (
        f"{sample.device}, {sample.name} ({sample.dtype}{threads}): median {sample.median / scale:.4g} {unit}, "
        f"best {sample.best / scale:.4g}, spread {100 * sample.spread:.0f} %"
    )


def _scale(kind: Kind) -> tuple[float, str]:
    return (1e9, "GB/s") if kind == "bandwidth" else (1e12, "TFLOPS")
