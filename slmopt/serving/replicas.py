"""How many servers a traffic needs under targets: a search over the simulation, with several draws for its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slmopt.serving.outcome import goodput, outcome
from slmopt.serving.policy import Policy
from slmopt.serving.simulate import Cancelled, Progress, simulate
from slmopt.serving.traffic import Traffic
from slmopt.specs.scenario import Scenario
from slmopt.theory.search import first_whole

MOST = 65_536
SHARE = 0.95
SEEDS = 5


@dataclass(frozen=True, slots=True)
class Replicas:
    """Servers needed so that ``share`` of the requests meet both targets, one answer for each draw of the traffic.

    Empty ``needed``: not even the lightest load meets them, and ``best_share`` is what it meets. ``shares`` holds the
    mean share of all draws for each number that was tried.
    """

    needed: tuple[int, ...]
    share: float
    best_share: float
    shares: dict[int, float]

    @property
    def middle(self) -> int | None:
        """The median of the draws, rounded up; None where the targets cannot be met."""
        return int(np.ceil(np.median(self.needed))) if self.needed else None

    @property
    def span(self) -> tuple[int, int] | None:
        """The fewest and the most that a draw needs."""
        return (min(self.needed), max(self.needed)) if self.needed else None


def replicas(
    scenario: Scenario,
    traffic: Traffic,
    policy: Policy,
    *,
    ttft_s: float | None,
    tpot_s: float | None,
    share: float = SHARE,
    seeds: int = SEEDS,
    progress: Progress | None = None,
) -> Replicas:
    """The fewest equal servers that ``traffic`` needs.

    Each server gets its part of the rate, drawn at random as a router without memory would deal it out: Poisson traffic
    stays Poisson. A draw simulates ``traffic.requests`` requests on one of them. The answers of the draws differ by what
    such a sample leaves open. Raises :class:`~slmopt.serving.simulate.Cancelled` where ``progress`` returns False.
    """
    seen: dict[int, list[float]] = {}
    needed = []
    # Nobody waits for anybody else at this rate.
    alone = _share(scenario, traffic, policy, MOST * 1024, 0, ttft_s, tpot_s)
    if alone < share:
        return Replicas((), share, alone, {})
    for seed in range(seeds):

        def met(count: int, seed: int = seed) -> bool:
            reached = _share(scenario, traffic, policy, count, seed, ttft_s, tpot_s)
            seen.setdefault(count, []).append(reached)
            return reached >= share

        needed.append(first_whole(met, MOST - 1) or MOST)
        if progress is not None and not progress((seed + 1) / seeds):
            raise Cancelled
    return Replicas(
        tuple(needed), share, alone, {count: float(np.mean(found)) for count, found in sorted(seen.items())}
    )


def _share(
    scenario: Scenario,
    traffic: Traffic,
    policy: Policy,
    count: int,
    seed: int,
    ttft_s: float | None,
    tpot_s: float | None,
) -> float:
    """The share of requests on one of ``count`` servers that meet both targets; 0 where its queue has no end."""
    part = traffic.model_copy(update={"rate": traffic.rate / count})
    found = outcome(simulate(scenario, part.draw(seed), policy, seed=seed))
    return 0.0 if found.saturated else goodput(found, ttft_s, tpot_s).share
