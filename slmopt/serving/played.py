"""The scenario's own requests, played at its rate: the 95th percentiles that the closed form only estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slmopt.serving.outcome import Outcome, outcome
from slmopt.serving.policy import MOST_BUDGET, SLOTS, Policy, tokens_a_step
from slmopt.serving.simulate import Progress, simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.queueing import Load, under_load

REQUESTS = 500
"""Requests of a run: the 95th percentile then rests on the 25 that waited longest."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A run of the scenario's requests, and the closed form at the same rate; typical estimate. Seconds.

    ``rate`` is that of the scenario; a run of finite length draws its own, ``outcome.run.requests.rate``.
    """

    outcome: Outcome
    closed: Load
    rate: float

    @property
    def ttft_p95_s(self) -> float:
        """First token, queue included; infinite where arrivals outrun the server."""
        return math.inf if self.outcome.saturated else self.outcome.ttft.percentile(95)

    @property
    def tpot_p95_s(self) -> float:
        """A reply's mean time a token; NaN where replies have one token."""
        return self.outcome.tpot.percentile(95)

    @property
    def gap_p95_s(self) -> float:
        """The wait between two tokens of a reply."""
        return self.outcome.gap.percentile(95)

    @property
    def slots(self) -> int:
        """Sequences that may run at once."""
        return self.outcome.run.policy.slots


def play(
    scenario: Scenario, *, requests: int = REQUESTS, seed: int = 0, progress: Progress | None = None
) -> Played:
    """Serve Poisson requests of the scenario's shape at its ``request_rate``.

    Raises :class:`~slmopt.specs.base.SpecError` without a rate, without a matrix rate, with more memories than one, and
    where memory holds no sequence.
    """
    rate = scenario.request_rate
    if rate is None:
        raise SpecError("Requests are played at a rate: give how many arrive a second.")
    e = evaluate(scenario)
    typical, most = e.typical, e.capacity.max_sequences
    if np.isnan(float(typical.prefill.compute_s)):
        raise SpecError(
            "Requests cannot be played: no matrix rate is known for this device, so prompts take no known time."
        )
    if most == 0:
        raise SpecError("Requests cannot be played: memory holds not one sequence.")
    closed = under_load(
        e.setup, typical.decode_roof, typical.prefill_roof, rate, None if most is None else float(most)
    )
    traffic = Traffic(
        rate=rate,
        requests=requests,
        prompt=Lengths(mean=scenario.prompt),
        output=_replies(scenario),
    )
    run = simulate(scenario, traffic.draw(seed), policy_of(e), seed=seed, progress=progress)
    return Played(outcome(run), closed, rate)


def policy_of(e: Evaluation, slots: int | None = None) -> Policy:
    """How the scenario's engine admits: fixed groups, prompts in chunks beside the streams, or whole as slots come free.

    As many ``slots`` as memory holds unless given, and no more than engines usually have.
    """
    s, most = e.setup.scenario, e.capacity.max_sequences
    count = slots or max(1, min(SLOTS, most or SLOTS))
    if s.batching == "static":
        return Policy(admission="static", memory=s.allocation, slots=count)
    if s.prefill_chunk_tokens is None:
        return Policy(memory=s.allocation, slots=count)
    budget = min(MOST_BUDGET, s.prefill_chunk_tokens + count * tokens_a_step(s))
    return Policy(admission="chunked", memory=s.allocation, slots=count, token_budget=budget)


def _replies(s: Scenario) -> Lengths:
    """Replies as long as the scenario's, or spread around that where it says so, or where fixed groups wait for them."""
    spread = s.reply_spread if s.batching == "static" else (s.output_spread or 0.0)
    if spread == 0:
        return Lengths(mean=s.output)
    if spread == 1:
        return Lengths(kind="geometric", mean=s.output)
    # Lognormal lengths have this spread at this sigma.
    return Lengths(kind="lognormal", mean=s.output, spread=math.sqrt(math.log1p(spread**2)))
