"""The input that just meets a target, by bisection on the ceiling or a level of the estimate.

A measure moves one way in a variable (more bandwidth is never slower, a longer prompt never faster; for throughput more
sequences are never less), so the boundary between missing and meeting is one point, found between the variable's easiest
and hardest value. Whole numbers are returned on the side that meets. Bits are cut where the operand changes that weights
are multiplied as: 16-bit kernels reach more of a chip than those of narrower formats, so wider weights may meet a target
that narrower ones miss. The hardest piece that meets it holds the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from slmopt.advice.fitted import with_rates
from slmopt.advice.gains import comparable
from slmopt.advice.goals import meets
from slmopt.advice.measures import At, MeasureName, measure, phases_at
from slmopt.specs.base import SpecError
from slmopt.specs.device import Device
from slmopt.specs.formats import FP16_TO, INT4_BELOW, INT8_BELOW
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import bytes_per_token
from slmopt.words import pace

Variable = Literal[
    "bandwidth_gbs", "peak_tflops", "bits", "context", "batch", "prompt", "acceptance", "params"
]
VARIABLES: tuple[Variable, ...] = get_args(Variable)

TARGETS: dict[str, tuple[MeasureName, float, str]] = {
    "ttft_ms": ("ttft", 1e-3, "ms"),
    "tpot_ms": ("tpot", 1e-3, "ms"),
    "reply_s": ("reply", 1.0, "s"),
    "tokens_per_s": ("tokens_per_s", 1.0, "tokens/s of the device"),
    "user_tokens_per_s": ("user_tokens_per_s", 1.0, "tokens/s a user"),
    "users": ("users", 1.0, "sequences"),
    "memory_gb": ("memory", 1e9, "GB"),
}
"""Target names: the measure, what a unit of the name is in SI, and the unit."""


@dataclass(frozen=True, slots=True)
class Span:
    """A variable's unit and the values tried, from the easiest to the hardest for latency; whether it is whole."""

    unit: str
    easy: float
    hard: float
    whole: bool = False


SPANS: dict[Variable, Span] = {
    "bandwidth_gbs": Span("GB/s", 1e7, 1e-3),
    "peak_tflops": Span("TFLOPS", 1e8, 1e-6),
    "bits": Span("bits", 1.0, 32.0),
    "context": Span("tokens", 1, 10_000_000, whole=True),
    "batch": Span("sequences", 1, 1_000_000, whole=True),
    "prompt": Span("tokens", 1, 10_000_000, whole=True),
    "acceptance": Span("", 1.0, 0.0),
    "params": Span("parameters", 1e5, 1e14),
}


@dataclass(frozen=True, slots=True)
class Solution:
    """``value`` is None where no value meets the target (``reachable`` false); ``why`` says what stops it.

    ``at`` is what was compared. ``reached`` is the measure there, in the target's own unit; ``any_value`` says that even
    the hardest value tried meets the target.
    """

    variable: str
    value: float | None
    unit: str
    target: tuple[str, float]
    reachable: bool
    why: str
    at: At
    reached: float | None = None
    any_value: bool = False
    devices: tuple[tuple[str, float], ...] = ()


def solve(
    scenario: Scenario,
    variable: Variable,
    target: str,
    value: float,
    at: At = "typical",
    tolerance: float = 1e-12,
) -> Solution:
    """The value of ``variable`` that just meets ``target`` (a name of ``TARGETS``) = ``value``.

    ``tolerance`` is how far from the boundary, as a share, a number that is not whole may lie.
    """
    name, scale, _ = TARGETS[target]
    wanted = value * scale
    span = SPANS[variable]
    refusal = _cannot(scenario, variable, name, at)
    given = partial(Solution, variable, unit=span.unit, target=(target, value), at=at)
    if refusal:
        return given(value=None, reachable=False, why=refusal)
    change = setter(scenario, variable)

    def found(x: float) -> float:
        try:
            return measure(evaluate(change(x)), name, at)
        except SpecError:
            return math.nan

    def good(x: float) -> bool:
        return meets(name, found(x), wanted)

    pieces = _pieces(scenario, variable, name, found)
    for easy, hard in pieces:
        if good(easy):
            every = all(good(end) for _, end in pieces)
            just = hard if good(hard) else _bisect(good, easy, hard, tolerance, whole=span.whole)
            why = "every value does" if every else ""
            return given(value=just, reachable=True, why=why, reached=found(just) / scale, any_value=every)
    easiest = pieces[-1][0]
    best = found(easiest) / scale
    now = measure(evaluate(scenario), name, at) / scale
    return given(value=None, reachable=False, why=_limit(variable, span, easiest, best, now), reached=best)


def _pieces(
    s: Scenario, variable: Variable, name: MeasureName, found: Callable[[float], float]
) -> tuple[tuple[float, float], ...]:
    """(easiest, hardest) value of each stretch on which the measure moves one way; the hardest stretch first."""
    span = SPANS[variable]
    if variable == "batch" and name == "tokens_per_s":
        most = span.hard
        if s.batching == "static":
            # Fixed groups wait for their longest reply: beyond some size more sequences give less.
            most = max((2.0**power for power in range(20)), key=found)
        return ((most, span.easy),)
    if variable != "bits":
        return ((span.easy, span.hard),)
    inf = math.inf
    return (
        (math.nextafter(FP16_TO, inf), span.hard),
        (INT8_BELOW, FP16_TO),
        (INT4_BELOW, math.nextafter(INT8_BELOW, 0.0)),
        (span.easy, math.nextafter(INT4_BELOW, 0.0)),
    )


def devices_that_meet(scenario: Scenario, target: str, value: float, at: At = "typical") -> Solution:
    """The preset devices on which the scenario meets the target, the one with the least bandwidth first."""
    name, scale, _ = TARGETS[target]
    plain = scenario.change(
        bandwidth_gbs=None,
        peak_tflops=None,
        capacity_gb=None,
        prefill_unit=None,
        decode_unit=None,
        # A fit of one machine says nothing of the others.
        calibration=None,
    )
    met: list[tuple[Device, float]] = []
    for device in library().devices.values():
        evaluation = evaluate(plain.change(device=device.id))
        if evaluation.capacity.fits is False:
            continue
        reached = measure(evaluation, name, at)
        if meets(name, reached, value * scale):
            met.append((device, reached / scale))
    met.sort(key=lambda pair: pair[0].bandwidth_gbs)
    why = "" if met else "no device that ships meets it and holds the scenario"
    listed = tuple((device.id, reached) for device, reached in met)
    return Solution("device", None, "", (target, value), bool(met), why, at, devices=listed)


def _bisect(
    good: Callable[[float], bool], easy: float, hard: float, tolerance: float, *, whole: bool
) -> float:
    """The value nearest to ``hard`` that is good, where ``easy`` is and ``hard`` is not."""
    if whole:
        near, far = int(easy), int(hard)
        while abs(far - near) > 1:
            between = (near + far) // 2
            near, far = (between, far) if good(between) else (near, between)
        return near
    a, b = float(easy), float(hard)
    for _ in range(200):
        # Between numbers of one sign the ratio is halved, so that nine decades take no longer than one.
        middle = math.sqrt(a * b) if a > 0 and b > 0 else 0.5 * (a + b)
        if middle in (a, b) or abs(a - b) <= tolerance * max(abs(a), abs(b)):
            break
        a, b = (middle, b) if good(middle) else (a, middle)
    return a


def _limit(variable: Variable, span: Span, easy: float, best: float, now: float) -> str:
    """Why not, in plain words."""
    if math.isnan(best):
        return f"nothing can be computed at {variable} = {easy:g}"
    if math.isclose(best, now, rel_tol=0.005):
        return "it changes next to nothing, since another side decides"
    if variable == "acceptance":
        return "not even if every drafted token is accepted"
    side = {"bandwidth_gbs": "however fast memory is", "peak_tflops": "however fast arithmetic is"}
    return f"not {side[variable]}" if variable in side else f"not even at {easy:g} {span.unit}".rstrip()


def _cannot(s: Scenario, variable: Variable, name: MeasureName, at: At) -> str:
    if variable == "acceptance":
        if not s.draft_tokens:
            return "the scenario drafts nothing: give a draft length"
        if s.draft_cost is None and s.draft_model is None:
            return "the draft's cost is not known: give a draft cost or a draft model"
    first = name in ("ttft", "reply") and variable != "peak_tflops"
    if first and math.isnan(float(phases_at(evaluate(s), at).prefill.compute_s)):
        return "no matrix rate is known for this device: give one"
    if name == "users" and resolve(s).capacity is None:
        return "memory is not known: give its size"
    if name == "tpot" and s.output < 2:
        return f"a reply of one token has no {'speed' if pace.as_speed() else 'time per token'}"
    return ""


def setter(s: Scenario, variable: Variable) -> Callable[[float], Scenario]:
    """The scenario as a function of one input."""
    if variable == "bits":
        return lambda x: comparable(s, s.change(weight_bits=x))
    if variable == "acceptance":
        return lambda x: s.change(acceptance=x)
    if variable == "params":
        return partial(_of_size, s, resolve(s).model)
    if variable == "prompt":
        return partial(_with_prompt, s)
    if variable == "context":
        return lambda x: s.change(context=int(x), shared_prefix=min(s.shared_prefix, int(x)))
    if variable == "batch":
        return lambda x: s.change(batch=int(x))
    if variable in ("bandwidth_gbs", "peak_tflops"):
        return partial(with_rates, s, variable)
    return lambda x: s.change(**{variable: x})


def _with_prompt(s: Scenario, x: float) -> Scenario:
    prompt = int(x)
    depth = prompt + s.output if s.context is None else s.context
    return s.change(
        prompt=prompt, prefix_hit=min(s.prefix_hit, prompt - 1), shared_prefix=min(s.shared_prefix, depth)
    )


def _of_size(s: Scenario, model: Model, params: float) -> Scenario:
    """A model of so many parameters, every one active, with the cache of the scenario's model for each token."""
    setup = resolve(s)
    if model.by_count:
        counted = {"layers": model.layers, "kv_heads": model.kv_heads, "head_dim": model.head_dim}
    else:
        per_token = bytes_per_token(model, *setup.cache)
        elements = 8 * per_token / (setup.cache_k.bits + setup.cache_v.bits)
        layers = max(1, model.layer_count)
        counted = {"layers": layers, "kv_heads": 1, "head_dim": max(0, round(elements / layers))}
    sized = Model.model_validate(
        {"id": "sized", "name": "a model of another size", "params": params, **counted}
    )
    weights = s.weights
    return s.change(model=sized, weights=weights)
