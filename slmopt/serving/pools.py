"""A long prompt among those who decode: in one piece, in pieces of each size, or on devices of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.interference import Interference, chunked, whole
from slmopt.theory.latency import decode_step
from slmopt.theory.memory import cache_bytes
from slmopt.theory.roofline import estimate_roof

Array = npt.NDArray[np.float64]

_SMALLEST = 16
_POINTS = 25


@dataclass(frozen=True, slots=True)
class Pools:
    """Prefill on devices of its own, the cache sent over a link. Seconds and bytes.

    ``ttft_s`` is the prefill alone, since it gives the first token; the next one waits for the move and for ``gap_s``,
    a step and nothing else, which is what all who decode see. ``prefill_devices`` keep one decoding device of
    the scenario's batch in work.
    """

    moved_bytes: float
    move_s: float
    ttft_s: float
    gap_s: float
    prefill_devices: float


@dataclass(frozen=True, slots=True, eq=False)
class Stall:
    """Worst gap and first token against the size of the pieces in tokens, by the typical estimate; ``step_s`` is a step
    without any prompt, ``fits`` the largest piece that keeps the gap within the target for time per token (None: no
    target; 0: none does).
    """

    chunk: Array
    gap_s: Array
    ttft_s: Array
    whole: Interference
    step_s: float
    target_s: float | None
    fits: int | None
    pools: Pools | None


def stall(setup: Setup) -> Stall:
    """All ways to feed the scenario's prompt beside its batch; separate pools where the device states a link."""
    decode, first = (estimate_roof(setup, phase, "typical") for phase in ("decode", "prefill"))
    s = setup.scenario
    fed = s.prompt - s.prefix_hit
    sizes = np.unique(np.rint(np.geomspace(min(_SMALLEST, fed), fed, _POINTS)))
    found = [chunked(setup, first, int(size)) for size in sizes]
    target = s.target_tpot_s
    link = setup.device.link or setup.device.host_link
    return Stall(
        chunk=sizes,
        gap_s=np.array([one.gap_s for one in found]),
        ttft_s=np.array([one.ttft_s for one in found]),
        whole=whole(setup, decode, first),
        step_s=float(decode_step(setup, decode).seconds),
        target_s=target,
        fits=None if target is None else largest_piece(setup, target),
        pools=None if link is None else pools(setup, link.gbs * 1e9, (link.latency_us or 0.0) / 1e6),
    )


def largest_piece(setup: Setup, target_s: float) -> int:
    """The largest piece of the prompt, in tokens, whose worst gap is within ``target_s``; 0 where not one token is."""
    roof = estimate_roof(setup, "prefill", "typical")
    low, high = 0, setup.scenario.prompt - setup.scenario.prefix_hit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chunked(setup, roof, middle).gap_s <= target_s else (low, middle)
    return low


def pools(setup: Setup, link_bytes_per_s: float, latency_s: float = 0.0) -> Pools:
    """Separate pools: the prompt's cache crosses the link once. Raises ValueError for a link that is not above 0."""
    if not link_bytes_per_s > 0:
        raise ValueError(f"link = {link_bytes_per_s:g} bytes/s: it must be above 0")
    decode, first = (estimate_roof(setup, phase, "typical") for phase in ("decode", "prefill"))
    s = setup.scenario
    moved = float(np.asarray(cache_bytes(setup.model, *setup.cache, float(s.prompt))))
    move = moved / link_bytes_per_s + latency_s
    step = float(decode_step(setup, decode).seconds)
    ttft = whole(setup, decode, first).ttft_s
    # In the time of a reply the batch takes in as many prompts as it has sequences.
    reply = max(s.output - 1, 1) * step
    return Pools(moved, move, ttft, step, s.batch * ttft / reply)
