"""A roof (bytes/s and FLOP/s) and the time that a pass takes under it.

The longer side decides: moving bytes, or arithmetic. A fit to measurements may have found that they hide one another less
(:mod:`slmopt.specs.calibration`), or that batches read at another rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.specs.calibration import Overlap
from slmopt.theory.forward import Kind, Numbers, PassCost


@dataclass(frozen=True, slots=True)
class Roof:
    """Bytes/s and FLOP/s of all devices together, as published (ceiling) or as achieved (estimate).

    ``peak`` is NaN where no rate is known: compute time is then NaN and memory alone bounds the pass.
    ``fixed_s`` is the time of a pass that neither bytes nor operations explain. The link is infinite where there is
    none, or none is known. ``host`` is the roof of the memory beside a card's, where part of the model may stay.

    A fit to measurements may have found another bandwidth where a pass feeds more than one token
    (``batched_bandwidth``), and how its times join (``overlap``; None: one side wholly hidden behind the other).
    """

    bandwidth: float
    peak: float
    attention_peak: float
    fixed_s: float
    kind: Kind
    source: str
    link_bandwidth: float = float("inf")
    link_latency_s: float = 0.0
    host: Roof | None = None
    batched_bandwidth: float | None = None
    overlap: Overlap | None = None

    @property
    def ridge(self) -> float:
        """Operations per byte at which both sides take the same time."""
        return self.peak / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """FLOP/s at an intensity: the lower of slope and flat part; the slope alone where no rate is known."""
        return float(np.fmin(intensity * self.bandwidth, self.peak))

    def times(self, devices: float) -> Roof:
        """The roof of so many of them together (a share of them, below 1)."""
        return replace(
            self,
            bandwidth=self.bandwidth * devices,
            peak=self.peak * devices,
            attention_peak=self.attention_peak * devices,
            batched_bandwidth=None if self.batched_bandwidth is None else self.batched_bandwidth * devices,
        )


@dataclass(frozen=True, slots=True)
class PassTime:
    """Time of a pass in seconds, with its cost, its kind and where its rates are from.

    ``busy_s`` is the time without the fixed one: of one memory the longer side (and in an estimate the link), of two
    the sum of both. ``link_s`` is a plain zero without a link. ``serial_s``, a part of ``busy_s``, is what comes on top of
    the longer side where a fit found that the sides do not hide one another wholly (``overlap``, as it found it).
    """

    cost: PassCost
    weight_s: Numbers
    cache_s: Numbers
    matmul_s: Numbers
    attention_s: Numbers
    link_s: Numbers
    busy_s: Numbers
    fixed_s: Numbers
    kind: Kind
    source: str
    serial_s: Numbers = 0.0
    overlap: Overlap | None = None

    @property
    def memory_s(self) -> Numbers:
        """Time to move all bytes."""
        return self.weight_s + self.cache_s

    @property
    def compute_s(self) -> Numbers:
        """Time to do all operations; NaN where a rate is unknown."""
        return self.matmul_s + self.attention_s

    @property
    def seconds(self) -> Numbers:
        """The time of the pass; by memory alone where the compute time is unknown."""
        return self.busy_s + self.fixed_s

    @property
    def joined(self) -> npt.NDArray[np.bool_]:
        """Whether a fit found that reading and matrix products follow one another in such a pass."""
        several = np.asarray(self.cost.tokens) > 1
        return several if self.overlap == "single" else np.full_like(several, self.overlap == "none")

    @property
    def link_bound(self) -> npt.NDArray[np.bool_]:
        """Whether the link takes longer than memory and than arithmetic."""
        return np.asarray(self.link_s > np.fmax(self.memory_s, self.compute_s))

    @property
    def compute_bound(self) -> npt.NDArray[np.bool_]:
        """Whether arithmetic decides; at the ridge memory is named."""
        return np.asarray(self.compute_s > self.memory_s) & ~self.link_bound

    @property
    def bound(self) -> Literal["memory", "compute", "link"]:
        """Which side decides, for a single pass."""
        if bool(self.link_bound):
            return "link"
        return "compute" if bool(self.compute_bound) else "memory"


def pass_time(cost: PassCost, roof: Roof) -> PassTime:
    """max(bytes/bandwidth, operations/peak), operations of attention at a rate of their own where one is given.

    A ceiling takes the link as a third side; an estimate adds it.
    """
    bandwidth: Numbers = roof.bandwidth
    if roof.batched_bandwidth is not None:
        bandwidth = np.where(np.asarray(cost.tokens) > 1, roof.batched_bandwidth, roof.bandwidth)
    weight, cache = cost.weight_bytes / bandwidth, cost.cache_bytes / bandwidth
    matmul, attention = cost.matmul_flops / roof.peak, cost.attention_flops / roof.attention_peak
    busy: Numbers = np.fmax(weight + cache, matmul + attention)
    serial: Numbers = 0.0
    if roof.overlap is not None:
        serial = _serial(weight + cache, matmul, attention, cost.tokens, roof.overlap)
        busy = busy + serial
    link: Numbers = 0.0
    if np.any(cost.messages):
        link = cost.link_bytes / roof.link_bandwidth + cost.messages * roof.link_latency_s
        busy = np.maximum(busy, link) if roof.kind == "ceiling" else busy + link
    return PassTime(
        cost,
        weight,
        cache,
        matmul,
        attention,
        link,
        busy,
        roof.fixed_s,
        roof.kind,
        roof.source,
        serial,
        roof.overlap,
    )


def _serial(memory: Numbers, products: Numbers, attention: Numbers, tokens: Numbers, how: Overlap) -> Numbers:
    """What a pass takes beyond its longer side; 0 where the compute time is unknown.

    Attention follows what is read and multiplied; those two hide one another or follow one another as well.
    """
    whole: Numbers = np.fmax(memory, products)
    if how != "products":
        joined = memory + products
        whole = joined if how == "none" else np.where(np.asarray(tokens) > 1, joined, whole)
    compute = products + attention
    return np.where(np.isnan(compute), 0.0, whole + attention - np.fmax(memory, compute))
