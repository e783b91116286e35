"""Times the simulation and a sweep: simulated requests a second, and points a second.

The simulation is that of 100,000 requests of 512 + 128 tokens on the article's server with 64 slots, at four fifths of
what it can serve, under each policy. The sweep's points are computed in this process, so that the cores of the machine
do not count. Seconds are this process's own: one thread works, and what else the machine does is not its doing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from slmopt.serving.frontier import sustained_rate
from slmopt.serving.outcome import outcome
from slmopt.serving.policy import Policy
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.specs.scenario import scenario
from slmopt.sweep.grid import Grid, block
from slmopt.theory.evaluation import evaluate

REQUESTS = 100_000
SLOTS = 64
LIMIT_S = 10.0
LOAD = 0.8
SERVER = scenario(
    {
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "prompt": 512,
        "output": 128,
        "batch": SLOTS,
    }
)
GRID = Grid(
    models=("llama-3.1-8b", "qwen3-30b-a3b"),
    devices=("rtx-4090", "h100-sxm-80gb"),
    weights=("q4_k_m", "fp8"),
    batches=(1, 8, 32),
    contexts=(1000, 4000),
    policies=("continuous", "static"),
)


@dataclass(frozen=True)
class Timing:
    """Seconds for so many of what is counted."""

    what: str
    count: int
    seconds: float
    note: str

    @property
    def rate(self) -> float:
        """How many a second."""
        return self.count / self.seconds


def simulations(requests: int = REQUESTS) -> list[Timing]:
    """Each policy, simulation and evaluation of what users waited for."""
    rate = LOAD * sustained_rate(evaluate(SERVER), SLOTS)
    traffic = Traffic(rate=rate, requests=requests, prompt=Lengths(mean=512), output=Lengths(mean=128))
    drawn = traffic.draw()
    timings = []
    for kind in ("continuous", "static", "chunked"):
        chosen = Policy.model_validate({"admission": kind, "slots": SLOTS, "token_budget": 576})
        start = time.process_time()
        found = outcome(simulate(SERVER, drawn, chosen))
        spent = time.process_time() - start
        timings.append(Timing(kind, requests, spent, f"{len(found.run.step_end):,} steps"))
    return timings


def points() -> Timing:
    """The sweep's points, evaluated and simulated."""
    text = GRID.model_dump_json()
    block(text, 0, 1)
    start = time.process_time()
    rows = block(text, 0, len(GRID))
    return Timing("sweep", len(rows), time.process_time() - start, f"{GRID.requests} requests each")


def report() -> bool:
    """Prints the timings; returns whether every simulation is below the limit."""
    print(f"Simulation of {REQUESTS:,} requests, 512 + 128 tokens, {SLOTS} slots (limit {LIMIT_S:g} s each)")
    timings = simulations()
    for one in timings:
        print(f"  {one.what:<12} {one.seconds:6.2f} s   {one.rate:9,.0f} requests/s   {one.note}")
    one = points()
    print("Sweep in one process, each point evaluated and simulated")
    print(f"  {one.count:<12} {one.seconds:6.2f} s   {one.rate:9,.1f} points/s     {one.note}")
    return all(one.seconds < LIMIT_S for one in timings)
