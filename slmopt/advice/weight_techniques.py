"""Fewer bits a weight, down to each precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slmopt.advice.technique import Change, Technique
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.words import numbers as n

USUAL = 4
"""Bits of the lowest precision that usually survives an evaluation; the articles' step."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A precision: mean bits for a model of which no tensor is known, and its name in files and in server engines."""

    nominal: int
    bits: float
    gguf: str
    served: str | None
    cost: str


RUNGS = (
    Rung(8, 8.5, "q8_0", "fp8", "an evaluation that confirms what is usual: no loss"),
    Rung(6, 6.6, "q6_k", None, "a short evaluation: losses are seldom seen"),
    Rung(5, 5.5, "q5_k_m", None, "an evaluation on the task"),
    Rung(4, 4.5, "q4_k_m", "int4-g128", "quality to be evaluated again at each precision"),
    Rung(3, 3.5, "q3_k_m", "gptq-3-g128", "losses are usual: evaluate the task, its formats and arithmetic"),
    Rung(2, 2.7, "q2_k", None, "losses are certain: only where the evaluation still passes"),
)


def to_bits(nominal: int) -> Callable[[Scenario], Change]:
    """The technique that brings weights down to about so many bits."""
    rung = next(r for r in RUNGS if r.nominal == nominal)

    def apply(s: Scenario) -> Change:
        return _to(s, rung)

    return apply


def quantise_weights(s: Scenario) -> Change:
    """Weights at about 4.5 bits: the lowest precision that usually survives an evaluation."""
    return to_bits(USUAL)(s)


def _to(s: Scenario, rung: Rung) -> Change:
    setup = resolve(s)
    bits = bits_per_weight(setup.weights, setup.model)
    shown = n.trimmed(n.figures(bits))
    # A file of 4.9 bits a weight is a 4-bit file: larger blocks and the head weigh in.
    if bits <= rung.bits + 0.4:
        return Change(None, f"the weights are at {shown} bits already")
    target = format_of(setup, rung)
    if target is None:
        return Change(None, f"no format of {rung.nominal} bits is known for {s.engine}")
    if bits_per_weight(target, setup.model) >= bits:
        return Change(
            None, f"the weights are at {shown} bits already: this model's narrow rows allow no fewer"
        )
    value: str | WeightFormat = target.id if target.id in library().weights else target
    return Change(s.change(weights=value, weight_bits=None), f"{target.name} weights")


def format_of(setup: Setup, rung: Rung) -> WeightFormat | None:
    """The format of that precision that the scenario's engine and model would use."""
    if setup.model.by_count:
        return WeightFormat.model_validate({"bits": rung.bits})
    if setup.scenario.engine in ("vllm", "sglang"):
        return None if rung.served is None else library().weights[rung.served]
    return library().weights[rung.gguf]


def _technique(rung: Rung) -> Technique:
    usual = rung.nominal == USUAL
    return Technique(
        "quantise_weights" if usual else f"quantise_weights_{rung.nominal}",
        "Quantise the weights" if usual else f"Weights in {rung.nominal} bits",
        3,
        "fewer_bytes",
        "decode",
        "weight bytes each step reads",
        rung.cost,
        to_bits(rung.nominal),
        rung_of="" if usual else "quantise_weights",
        evaluate_quality=True,
    )


WEIGHTS = tuple(_technique(rung) for rung in sorted(RUNGS, key=lambda r: r.nominal != USUAL))
