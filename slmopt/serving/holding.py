"""What memory loses and gains around the cache: blocks, shared prefixes, the host's memory, sessions that wait.

Times are those of the forward pass under the typical estimate unless said otherwise; bytes are the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.serving.traffic import Lengths
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.holders import only
from slmopt.theory.latency import decode_step, prefill
from slmopt.theory.memory import (
    cache_bytes,
    sequence_bytes,
    sequences_that_fit,
    shared_bytes,
)
from slmopt.theory.roofline import estimate_roof

Array = npt.NDArray[np.float64]

BLOCKS = (1, 8, 16, 32, 64, 128, 256, 512)
_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class Stranded:
    """Blocks of ``block`` tokens (0: each request reserves the longest): mean bytes held of a request, mean bytes that it
    needs, and how many such requests fit; NaN where memory is unknown.
    """

    block: int
    held: float
    needed: float
    fit: float

    @property
    def share(self) -> float:
        """Of the bytes held, those that hold nothing."""
        return 1.0 - self.needed / self.held if self.held else 0.0


def stranded(scenario: Scenario, lengths: Lengths, seed: int = 0) -> tuple[Stranded, ...]:
    """Bytes stranded by block size, reserved last, for requests whose total tokens are drawn from ``lengths``.

    A request that grows needs on average half of what it needs at its end; here each counts at its end, which is when
    memory runs out. The count that fits is memory over the mean, as for many requests at once.
    """
    tokens = lengths.draw(_DRAWS, np.random.default_rng(seed)).astype(np.float64)
    setup = resolve(scenario)
    needed = float(np.mean(cache_bytes(setup.model, *setup.cache, tokens)))
    found = []
    for block in BLOCKS:
        sized = resolve(scenario.change(block_tokens=block))
        held = float(np.mean(sequence_bytes(sized, tokens, "paged")))
        found.append(Stranded(block, held, needed, _fit(setup, held)))
    longest = float(np.asarray(sequence_bytes(setup, tokens.max(), "reserved")))
    return (*found, Stranded(0, longest, needed, _fit(setup, longest)))


def _fit(setup: Setup, each: float) -> float:
    holder = only(setup, "What blocks and prefixes hold is counted")
    if holder.usable is None:
        return float("nan")
    room = holder.usable - holder.weight_bytes - holder.reserve()
    return float(np.floor(max(0.0, room) / each)) if each > 0 else float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class Sharing:
    """One copy of a prefix of ``prefix`` tokens: its bytes, the sequences that fit with a copy each and with one for all
    (NaN where memory is unknown), and the first token in seconds at each share of ``hit_rate``.
    """

    prefix: int
    copy_bytes: float
    fit_apart: float
    fit_shared: float
    hit_rate: Array
    ttft_s: Array

    @property
    def ttft_gain(self) -> float:
        """How many times sooner the first token comes where every prompt hits."""
        return float(self.ttft_s[0] / self.ttft_s[-1])


def sharing(scenario: Scenario, prefix: int | None = None, points: int = 51) -> Sharing:
    """What sharing a prefix gives; the scenario's own, or half of the prompt, unless ``prefix`` says how long.

    The mean first token is hit_rate · T(hit) + (1 − hit_rate) · T(miss), without a queue.
    """
    own = max(scenario.prefix_hit, min(scenario.shared_prefix, scenario.prompt - 1))
    tokens = own or scenario.prompt // 2
    if prefix is not None:
        tokens = prefix
    tokens = max(0, min(tokens, scenario.prompt - 1))
    apart, once = (resolve(scenario.change(shared_prefix=part)) for part in (0, min(tokens, scenario.depth)))
    depth = float(scenario.depth)
    roof = estimate_roof(apart, "prefill", "typical")
    miss, hit = (
        float(prefill(apart, roof, float(scenario.prompt), float(cached), alone=True).seconds)
        for cached in (0, tokens)
    )
    share = np.linspace(0.0, 1.0, points)
    return Sharing(
        prefix=tokens,
        copy_bytes=float(np.asarray(shared_bytes(once, depth))),
        fit_apart=float(np.asarray(sequences_that_fit(apart, depth))),
        fit_shared=float(np.asarray(sequences_that_fit(once, depth))),
        hit_rate=share,
        ttft_s=share * hit + (1.0 - share) * miss,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """A sequence's cache at each context: seconds to bring it back over the link, and to compute it again.

    ``from_tokens``: the shortest context of the curve from which on bringing back is faster; None where it never is.
    """

    context: Array
    bytes: Array
    load_s: Array
    compute_s: Array
    from_tokens: float | None
    now: tuple[float, float, float]


def moving(setup: Setup, link_bytes_per_s: float, latency_s: float = 0.0, points: int = 73) -> Moving:
    """Host memory against recomputing: bytes / link + latency, and the prefill of the whole context.

    The link counts at its stated rate, the prefill at the typical estimate. Raises ValueError for a link that is not
    above 0.
    """
    if not link_bytes_per_s > 0:
        raise ValueError(f"link = {link_bytes_per_s:g} bytes/s: it must be above 0")
    now = float(max(1, setup.scenario.depth))
    context = np.unique(np.append(np.geomspace(128.0, max(131_072.0, 2 * now), points), now))
    held = np.asarray(cache_bytes(setup.model, *setup.cache, context), dtype=np.float64)
    load = held / link_bytes_per_s + latency_s
    roof = estimate_roof(setup, "prefill", "typical")
    computed = np.asarray(prefill(setup, roof, context, np.zeros_like(context), alone=True).seconds)
    slower = np.flatnonzero(load >= computed)
    start = 0 if not slower.size else int(slower[-1]) + 1
    at = int(np.searchsorted(context, now))
    return Moving(
        context,
        held,
        load,
        computed,
        float(context[start]) if start < len(context) else None,
        (now, float(load[at]), float(computed[at])),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """A conversation turn by turn: tokens cached at its end, its bytes, the first token with and without reuse (s), and
    sessions of that length that memory holds (NaN where unknown). ``busy`` is the share of a turn in which the device
    works for the session; the rest of the time its cache waits for the user.
    """

    turn: Array
    context: Array
    bytes: Array
    reused_s: Array
    again_s: Array
    fit: Array
    busy: Array


def sessions(setup: Setup, turns: int, asked: int, answered: int, think_s: float) -> Sessions:
    """``turns`` turns: the scenario's prompt first, then ``asked`` tokens each, every reply of ``answered`` tokens.

    Reusing keeps the cache of all earlier turns; the reply's last token is not in it and is fed with the next question.
    Raises ValueError where a count is below 1 or the time below 0.
    """
    if min(turns, asked, answered) < 1 or think_s < 0:
        raise ValueError("turns and tokens must be at least 1, and the time to think at least 0 s")
    number = np.arange(1.0, turns + 1)
    prompt = setup.scenario.prompt + (number - 1) * (asked + answered)
    context = prompt + answered
    cached = np.where(number > 1, prompt - asked - 1, 0.0)
    roof, step = estimate_roof(setup, "prefill", "typical"), estimate_roof(setup, "decode", "typical")
    reused = np.asarray(prefill(setup, roof, prompt, cached, alone=True).seconds)
    again = np.asarray(prefill(setup, roof, prompt, np.zeros_like(prompt), alone=True).seconds)
    middle = prompt + 0.5 * (answered - 1)
    writing = (answered - 1) * np.asarray(decode_step(setup, step, 1.0, middle).seconds)
    busy = (reused + writing) / (reused + writing + think_s)
    held = np.asarray(sequence_bytes(setup, context), dtype=np.float64)
    fit = np.asarray(sequences_that_fit(setup, context), dtype=np.float64)
    return Sessions(number, context, held, reused, again, fit, busy)
