"""What a user waits for: the first token, each further one, the whole reply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.chunks import chunk_passes, together
from slmopt.theory.forward import Group, Kind, Numbers
from slmopt.theory.residency import load_seconds
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.roofline import run

# Beyond this many steps the mean is taken over evenly spaced ones; time is piecewise linear in the step, so the
# error stays below 1e-6 of the mean.
MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds. ``tpot_s`` is NaN where a reply has one token: no token follows the first.

    ``load_s``, a part of ``ttft_s``, is the wait for the model's file where it is not loaded.
    """

    ttft_s: Numbers
    tpot_s: Numbers
    reply_s: Numbers
    kind: Kind
    source: str
    load_s: float


def decode_group(setup: Setup, batch: Numbers | None = None, context: Numbers | None = None) -> Group:
    """A decode step: (B, 1, c, 1), at the scenario's batch and context unless others are given."""
    s = setup.scenario
    return Group(
        batch=float(s.batch) if batch is None else batch,
        new=1.0,
        past=float(s.depth) if context is None else context,
        logits=1.0,
        shared=float(s.shared_prefix),
    )


def prefill_group(setup: Setup, prompt: Numbers | None = None, hit: Numbers | None = None) -> Group:
    """A prefill of one sequence: (1, prompt − hit, hit, 1)."""
    s = setup.scenario
    prompt = float(s.prompt) if prompt is None else prompt
    hit = float(s.prefix_hit) if hit is None else hit
    return Group(batch=1.0, new=prompt - hit, past=hit, logits=1.0)


def decode_step(
    setup: Setup, roof: Roof, batch: Numbers | None = None, context: Numbers | None = None
) -> PassTime:
    """Time of one decode step; ``batch`` and ``context`` may be arrays, which broadcast."""
    return run(setup, [decode_group(setup, batch, context)], roof)


def prefill(
    setup: Setup,
    roof: Roof,
    prompt: Numbers | None = None,
    hit: Numbers | None = None,
    *,
    alone: bool = False,
) -> PassTime:
    """Time of one sequence's prefill; arrays broadcast.

    In chunks it is the sum of their passes, which bring everybody's next tokens along unless the prompt is ``alone``.
    """
    s = setup.scenario
    if s.prefill_chunk_tokens is None:
        return run(setup, [prefill_group(setup, prompt, hit)], roof)
    beside = decode_group(setup) if s.decodes_beside and not alone else None
    whole = prefill_group(setup, prompt, hit)
    return together(chunk_passes(setup, roof, whole, s.prefill_chunk_tokens, beside))


def prefill_at_once(setup: Setup, roof: Roof) -> PassTime:
    """Time of the scenario's prefill in a single pass, whatever its chunks."""
    return run(setup, [prefill_group(setup)], roof)


def time_per_token(setup: Setup, roof: Roof, batch: float | None = None) -> float:
    """Mean of the reply's decode steps i = 1 … output − 1, each with past = prompt + i − 1; NaN where there is none."""
    s = setup.scenario
    steps = s.output - 1
    if steps < 1:
        return float("nan")
    past = _pasts(s.prompt, steps)
    return float(np.mean(decode_step(setup, roof, batch, past).seconds))


def _pasts(prompt: int, steps: int) -> npt.NDArray[np.float64]:
    if steps <= MOST_STEPS:
        return prompt + np.arange(steps, dtype=np.float64)
    return prompt + (np.arange(MOST_STEPS, dtype=np.float64) + 0.5) * (steps / MOST_STEPS) - 0.5


def latency(setup: Setup, decode_roof: Roof, prefill_roof: Roof) -> Latency:
    """TTFT = loading + prefill of what is not cached; reply = TTFT + (output − 1)·TPOT. Queueing is not in it."""
    first = prefill(setup, prefill_roof)
    load = load_seconds(setup, prefill_roof.kind)
    ttft = load + float(first.seconds)
    tpot = time_per_token(setup, decode_roof)
    steps = setup.scenario.output - 1
    reply = ttft + (steps * tpot if steps else 0.0)
    return Latency(ttft, tpot, reply, decode_roof.kind, decode_roof.source, load)
