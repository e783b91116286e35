"""Memory bandwidth and matrix rates of accelerators that PyTorch reaches: CUDA and ROCm devices, and Apple's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

from slmopt.measured.probe import Probed, Sample, Say, reference_class, timed
from slmopt.measured.probe_cpu import line

BUFFER: Final = 2 << 30
MATRIX: Final = 8192
SMALL_MATRIX: Final = 4096

TYPES: Final = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"))


def accelerators(seconds: float, say: Say) -> list[Probed]:
    """Every accelerator's samples; none where PyTorch finds no accelerator."""
    torch: Any = import_module("torch")
    return [_probed(torch, device, name, memory, seconds, say) for device, name, memory in _devices(torch)]


def _devices(torch: Any) -> Iterator[tuple[str, str, float | None]]:
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(index)
            yield f"cuda:{index}", str(found.name), float(found.total_memory)
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        yield "mps", "Apple GPU", None


def _probed(torch: Any, device: str, name: str, memory: float | None, seconds: float, say: Say) -> Probed:
    wait: Callable[[], object] = (
        torch.cuda.synchronize if device.startswith("cuda") else torch.mps.synchronize
    )
    large = memory is None or memory > 8 * BUFFER
    share = seconds / (1 + len(TYPES))
    samples = [_copy(torch, device, name, BUFFER if large else BUFFER // 8, share, wait)]
    say(line(samples[0]))
    for kind, dtype in TYPES:
        sample = _product(torch, device, name, kind, getattr(torch, dtype), share, wait)
        if sample is None:
            say(f"{name}: no {kind} products here")
            continue
        samples.append(sample)
        say(line(sample))
    return Probed(name, "gpu", reference_class(name, "all"), memory, tuple(samples))


def _copy(
    torch: Any, device: str, name: str, size: int, seconds: float, wait: Callable[[], object]
) -> Sample:
    """A copy within the device's memory, what is read and what is written counted."""
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)

    def run() -> None:
        target.copy_(source)
        wait()

    rates = tuple(2.0 * size / taken for taken in timed(run, seconds))
    return Sample(name, "memory copy", "bandwidth", "fp32", float(size), 0, rates)


def _product(
    torch: Any, device: str, name: str, kind: str, dtype: Any, seconds: float, wait: Callable[[], object]
) -> Sample | None:
    """A square product; None where the device has none of this type."""
    n = MATRIX if device.startswith("cuda") else SMALL_MATRIX
    try:
        a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))

        def run() -> None:
            torch.matmul(a, b)
            wait()

        taken = timed(run, seconds)
    except (RuntimeError, TypeError):
        # What PyTorch raises for a type that a device lacks.
        return None
    return Sample(
        name,
        f"matrix product, {n:,}",
        "rate",
        kind,
        3.0 * n * n * a.element_size(),
        0,
        tuple(2.0 * n**3 / one for one in taken),
    )
