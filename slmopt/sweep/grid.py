"""The grid: which scenarios it has, in which order, and what one point of it gives.

A point depends on nothing but the grid and its own number, so it is the same wherever and whenever it is computed.
"""

from __future__ import annotations

import hashlib
import json
import math
from itertools import product
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from slmopt._version import __version__
from slmopt.serving.outcome import Outcome, outcome
from slmopt.serving.policy import Admission, Rates, policy
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import LONGEST, Lengths, Traffic
from slmopt.specs.base import Spec, SpecError, sentence
from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.scenario import Allocation, Scenario, scenario
from slmopt.theory.evaluation import evaluate

MOST_POINTS = 1_000_000

Count = Annotated[int, Field(ge=1, le=100_000)]
Tokens = Annotated[int, Field(ge=2, le=LONGEST)]


class Grid(Spec):
    """Every combination of the lists is a point; the last list varies fastest.

    ``context`` is a request's tokens in all, of which ``output`` are its reply (half of it where that is shorter).
    ``policies`` empty: nothing is simulated. ``rate`` in requests/s; None: all come at once, so that the server is full.
    """

    models: tuple[str | Model, ...] = Field(min_length=1)
    devices: tuple[str | Device, ...] = Field(min_length=1)
    weights: tuple[str | WeightFormat, ...] = Field(default=("q4_k_m",), min_length=1)
    caches: tuple[str | CacheFormat, ...] = Field(default=("f16",), min_length=1)
    batches: tuple[Count, ...] = Field(default=(1,), min_length=1)
    contexts: tuple[Tokens, ...] = Field(default=(2200,), min_length=1)
    policies: tuple[Admission, ...] = ()
    memory: Allocation = "paged"
    output: Annotated[int, Field(ge=1, le=LONGEST)] = 200
    rate: Annotated[float, Field(gt=0)] | None = None
    requests: Count = 64
    seed: Annotated[int, Field(ge=0)] = 0
    rates: Rates = "typical"

    @model_validator(mode="after")
    def _computable(self) -> Self:
        if len(self) > MOST_POINTS:
            raise ValueError(f"{len(self):,} points: a sweep has at most {MOST_POINTS:,}")
        return self

    def __len__(self) -> int:
        """Number of points."""
        return math.prod(len(axis) for axis in self._axes)

    @property
    def _axes(self) -> tuple[tuple[Any, ...], ...]:
        return (
            self.models,
            self.devices,
            self.weights,
            self.caches,
            self.batches,
            self.contexts,
            self.policies or (None,),
        )

    def combinations(self) -> list[tuple[Any, ...]]:
        """All points in order: model, device, weights, cache, batch, context, policy."""
        return list(product(*self._axes))

    @property
    def digest(self) -> str:
        """Tells one sweep from another, and one version of the arithmetic from the next."""
        text = json.dumps([__version__, self.model_dump(mode="json")], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def grid(values: dict[str, object]) -> Grid:
    """A checked grid, or :class:`SpecError` with one sentence."""
    try:
        return Grid.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentence(error, {"contexts": "tokens", "batches": "sequences"}, Grid)) from error


def point(of: Grid, combination: tuple[Any, ...]) -> dict[str, Any]:
    """One row: what was asked, ceilings and estimates, what memory holds, what the simulation gave.

    Where a point cannot be computed ``error`` says why and the numbers are missing.
    """
    model, device, weights, cache, batch, context, admission = combination
    output = min(of.output, context // 2)
    row: dict[str, Any] = {
        "model": _name(model),
        "device": _name(device),
        "weights": _name(weights),
        "cache": _name(cache),
        "batch": batch,
        "context": context,
        "policy": admission or "",
        "error": "",
    }
    try:
        made = scenario(
            {
                "model": model,
                "device": device,
                "weights": weights,
                "cache_k": cache,
                "batch": batch,
                "prompt": context - output,
                "output": output,
                "allocation": of.memory,
            }
        )
        return {**row, **_evaluated(made), **_simulated(made, of, admission)}
    except SpecError as error:
        return {**row, "error": str(error), **dict.fromkeys((*EVALUATED, *SIMULATED), math.nan)}


def _name(spec: Any) -> str:
    return spec if isinstance(spec, str) else str(spec.name)


EVALUATED = (
    "max_sequences",
    "fits",
    "decode_step_ceiling_s",
    "decode_step_typical_s",
    "prefill_ceiling_s",
    "prefill_typical_s",
    "device_ceiling_tokens_per_s",
    "device_typical_tokens_per_s",
)
SIMULATED = (
    "simulated_tokens_per_s",
    "ttft_p50_s",
    "ttft_p95_s",
    "tpot_p50_s",
    "gap_p99_s",
    "mean_batch",
    "slot_utilisation",
    "peak_kv_bytes",
    "preempted",
    "rejected",
    "saturated",
)


def _evaluated(made: Scenario) -> dict[str, float]:
    found = evaluate(made)
    ceiling, typical, held = found.ceiling, found.typical, found.capacity
    values = (
        math.nan if held.max_sequences is None else held.max_sequences,
        math.nan if held.fits is None else held.fits,
        ceiling.decode.seconds,
        typical.decode.seconds,
        ceiling.prefill.seconds,
        typical.prefill.seconds,
        ceiling.device_tokens_per_s,
        typical.device_tokens_per_s,
    )
    return dict(zip(EVALUATED, (float(value) for value in values), strict=True))


def _simulated(made: Scenario, of: Grid, admission: Admission | None) -> dict[str, float]:
    if admission is None:
        return dict.fromkeys(SIMULATED, math.nan)
    traffic = Traffic(
        kind="at_once" if of.rate is None else "poisson",
        rate=1.0 if of.rate is None else of.rate,
        requests=of.requests,
        prompt=Lengths(mean=made.prompt),
        output=Lengths(kind="geometric", mean=made.output),
    )
    chosen = policy(
        {
            "admission": admission,
            "memory": of.memory,
            "slots": made.batch,
            "token_budget": max(512, made.batch + 256),
            "rates": of.rates,
        }
    )
    found = outcome(simulate(made, traffic.draw(of.seed), chosen, seed=of.seed))
    return dict(zip(SIMULATED, _values(found), strict=True))


def _values(found: Outcome) -> tuple[float, ...]:
    endless = math.nan if found.saturated else 1.0
    values = (
        found.output_tokens_per_s,
        found.ttft.percentile(50) * endless,
        found.ttft.percentile(95) * endless,
        found.tpot.percentile(50),
        found.gap.percentile(99),
        found.mean_batch,
        found.slot_utilisation,
        found.peak_kv_bytes,
        found.run.preempted,
        found.rejected,
        found.saturated,
    )
    return tuple(float(value) for value in values)


def block(text: str, start: int, stop: int) -> list[dict[str, Any]]:
    """Points ``start`` to ``stop`` of the grid that ``text`` describes as JSON: what a worker is sent, and sends back."""
    of = Grid.model_validate_json(text)
    return [point(of, combination) for combination in of.combinations()[start:stop]]
