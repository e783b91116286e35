"""A prompt that arrives while others decode: whole, or in chunks beside their steps."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.specs.setup import Setup
from slmopt.theory.chunks import chunk_passes
from slmopt.theory.latency import decode_group, decode_step, prefill_at_once, prefill_group
from slmopt.theory.roof import Roof

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
    first = float(prefill_at_once(setup, prefill_roof).seconds)
    step = float(decode_step(setup, decode_roof).seconds)
    return Interference(setup.scenario.prompt - setup.scenario.prefix_hit, first + step, first)


def chunked(setup: Setup, roof: Roof, chunk: int) -> Interference:
    """The prompt in chunks, each in a pass with everyone's decode step: (B, 1, c, 1) and (1, chunk, done, 0 or 1).

    Raises ValueError for a chunk below 1 token.
    """
    passes = chunk_passes(setup, roof, prefill_group(setup), chunk, decode_group(setup)).seconds
    return Interference(chunk, float(passes.max()), float(passes.sum()))


def stall_seconds(setup: Setup, decode_roof: Roof, prefill_roof: Roof) -> float:
    """The longest wait between two tokens of those who decode while a prompt arrives, as the scenario feeds it.

    NaN where nobody decodes beside it.
    """
    s = setup.scenario
    if not s.decodes_beside:
        return float("nan")
    if s.prefill_chunk_tokens is None:
        return whole(setup, decode_roof, prefill_roof).gap_s
    return chunked(setup, prefill_roof, s.prefill_chunk_tokens).gap_s
