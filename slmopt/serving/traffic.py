"""Who arrives when, with how many tokens: drawn from a distribution, or read from a trace.

Everything is drawn from one seed, so that the same traffic gives the same requests on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError, model_validator

from slmopt.specs.base import Spec, SpecError, sentence

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LengthKind = Literal["fixed", "uniform", "lognormal", "geometric"]
ArrivalKind = Literal["poisson", "even", "bursts", "at_once"]
LENGTH_KINDS: tuple[str, ...] = get_args(LengthKind)
ARRIVAL_KINDS: tuple[str, ...] = get_args(ArrivalKind)

LONGEST = 4_000_000
"""Tokens: no sequence of a simulation is longer, which bounds its tables."""

MOST_REQUESTS = 5_000_000

UNITS = {
    "rate": "requests/s",
    "mean": "tokens",
    "most": "tokens",
    "requests": "requests",
    "burst": "requests",
}


class Lengths(Spec):
    """How many tokens a prompt or a reply has.

    ``mean`` in tokens. "fixed": always the mean; "uniform": evenly between (1 − spread)·mean and (1 + spread)·mean;
    "lognormal": with ``spread`` as its σ; "geometric": each token is the last with the same chance. ``most`` cuts longer
    draws off; all are at least 1.
    """

    kind: LengthKind = "fixed"
    mean: Annotated[float, Field(ge=1, le=LONGEST)] = 512.0
    spread: Annotated[float, Field(ge=0, le=4)] = 0.5
    most: Annotated[int, Field(ge=1, le=LONGEST)] | None = None

    @model_validator(mode="after")
    def _within(self) -> Self:
        if self.kind == "uniform" and self.spread > 1:
            raise ValueError(f"spread = {self.spread:g}: a uniform length needs a spread between 0 and 1")
        return self

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """So many lengths, whole tokens."""
        if self.kind == "fixed":
            drawn = np.full(count, self.mean)
        elif self.kind == "uniform":
            drawn = rng.uniform((1 - self.spread) * self.mean, (1 + self.spread) * self.mean, count)
        elif self.kind == "lognormal":
            drawn = rng.lognormal(np.log(self.mean) - self.spread**2 / 2, self.spread, count)
        else:
            drawn = rng.geometric(1.0 / self.mean, count).astype(np.float64)
        whole = np.clip(np.rint(drawn), 1, LONGEST if self.most is None else self.most)
        tokens: Ints = whole.astype(np.int64)
        return tokens


class Traffic(Spec):
    """Arrivals and lengths. ``rate`` in requests/s.

    "poisson": independent arrivals; "even": one every 1/rate seconds; "bursts": ``burst`` requests at once, the bursts
    independent of each other; "at_once": all at time 0. ``hit_rate`` is the share of requests whose prefix is cached.
    """

    kind: ArrivalKind = "poisson"
    rate: Annotated[float, Field(gt=0, le=1e9)] = 1.0
    requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)] = 500
    burst: Annotated[int, Field(ge=1, le=100_000)] = 16
    prompt: Lengths = Lengths(mean=2000)
    output: Lengths = Lengths(mean=200)
    hit_rate: Annotated[float, Field(ge=0, le=1)] = 1.0

    def draw(self, seed: int = 0) -> Requests:
        """The requests of this seed. Arrivals, prompts, replies and hits have a stream of their own each."""
        streams = [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(4)]
        count = self.requests
        return Requests(
            arrival=self._arrivals(streams[0]),
            prompt=self.prompt.draw(count, streams[1]),
            output=self.output.draw(count, streams[2]),
            hits=streams[3].random(count) < self.hit_rate,
        )

    def _arrivals(self, rng: np.random.Generator) -> Array:
        count = self.requests
        if self.kind == "at_once":
            return np.zeros(count)
        if self.kind == "even":
            return np.arange(count) / self.rate
        if self.kind == "poisson":
            return np.cumsum(rng.exponential(1.0 / self.rate, count))
        bursts = -(-count // self.burst)
        starts = np.cumsum(rng.exponential(self.burst / self.rate, bursts))
        return np.repeat(starts, self.burst)[:count]


def traffic(values: dict[str, object]) -> Traffic:
    """Checked traffic, or :class:`SpecError` with one sentence."""
    try:
        return Traffic.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentence(error, UNITS, Traffic)) from error


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Arrays of one length: arrival in seconds, prompt and output in tokens, whether the prefix is cached.

    Nothing is checked here: a server refuses what it cannot serve, and says how many. ``sorted_in`` counts the requests
    of a trace that stood behind a later one.
    """

    arrival: Array
    prompt: Ints
    output: Ints
    hits: npt.NDArray[np.bool_]
    sorted_in: int = 0

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.arrival)

    @property
    def rate(self) -> float:
        """Requests/s between the first arrival and the last; infinite where all come at once."""
        times = self.arrival[np.isfinite(self.arrival)]
        span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
        return (len(times) - 1) / span if span > 0 else float("inf")
