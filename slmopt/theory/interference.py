"""A prompt that arrives while others decode: whole, or in chunks beside their steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group
from slmopt.theory.latency import decode_group, decode_step, prefill
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import run

# Finer chunks than this many steps would not show; the step count bounds the work, whatever the prompt.
MOST_CHUNKS = 100_000

# Sizes that engines are commonly run with, in tokens.
CHUNKS = (256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class Interference:
    """Seconds. ``gap_s`` is the longest wait between two tokens of those who decode, ``ttft_s`` the newcomer's wait."""

    chunk: int
    gap_s: float
    ttft_s: float


def whole(setup: Setup, decode_roof: Roof, prefill_roof: Roof) -> Interference:
    """The prompt in one pass between two decode steps: the gap is the prefill and one step."""
    first = float(prefill(setup, prefill_roof).seconds)
    step = float(decode_step(setup, decode_roof).seconds)
    return Interference(setup.scenario.prompt - setup.scenario.prefix_hit, first + step, first)


def chunked(setup: Setup, roof: Roof, chunk: int) -> Interference:
    """The prompt in chunks, each in a pass with everyone's decode step: (B, 1, c, 1) and (1, chunk, done, 0 or 1).

    Raises ValueError for a chunk below 1 token.
    """
    if chunk < 1:
        raise ValueError(f"chunk = {chunk} tokens: it must be at least 1")
    s = setup.scenario
    fed = s.prompt - s.prefix_hit
    size = max(chunk, -(-fed // MOST_CHUNKS))
    done = np.arange(s.prefix_hit, s.prompt, size, dtype=np.float64)
    new = np.minimum(float(size), s.prompt - done)
    last = (done + new >= s.prompt).astype(np.float64)
    groups = [decode_group(setup), Group(batch=1.0, new=new, past=done, logits=last)]
    times = np.asarray(run(setup, groups, roof).seconds)
    return Interference(chunk, float(times.max()), float(times.sum()))
