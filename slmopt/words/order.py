"""What a stack of techniques says: its bars, its finding, and its steps as sentences."""

from __future__ import annotations

import math
from collections.abc import Callable

from slmopt.advice.order import Measure, Order, Stack, Step
from slmopt.words import numbers as n
from slmopt.words import pace

_MEASURES: dict[Measure, str] = {
    "tpot": "",
    "ttft": "First token",
    "reply": "Whole reply",
    "throughput": "Throughput",
    "capacity": "Sequences that fit",
    "gap": "Longest stall",
}
NOTE = "What rests on assumed figures comes last; what gains nothing on this measure is left out."
ORDERS: dict[Order, str] = {"best": "The best order here", "articles": "The articles' order"}
NOW, REACHED = "Now", "All together"


def measures() -> dict[Measure, str]:
    """The measures that can be stacked, under names for a row of choices."""
    return {**_MEASURES, "tpot": pace.whose()}


def shown(measure: Measure, value: float) -> str:
    """A value of the measure with its unit."""
    if measure == "throughput":
        return n.tokens_per_s(value, 2)
    if measure == "tpot":
        return pace.shown(value, 2)
    return n.count(value) if measure == "capacity" else n.seconds(value, 2)


def scaled(measure: Measure, start: float) -> tuple[Callable[[float], float], str]:
    """What a bar's length is of a value, and the axis's title."""
    if measure == "tpot":
        own = pace.scale(start, 2)
        return own.of, pace.label(own.unit, "estimate")
    scale, title = 1.0, "Sequences that fit"
    if measure == "throughput":
        title = "Throughput, estimate (tokens/s of the device)"
    elif measure != "capacity":
        scale, unit = n.time_scale(start, 2)
        title = f"{_MEASURES[measure]}, estimate ({unit})"
    return lambda value: value / scale, title


def title(stack: Stack) -> str:
    """The finding."""
    name = pace.name() if stack.measure == "tpot" else _MEASURES[stack.measure]
    if stack.measure == "gap" and math.isnan(stack.start):
        return f"{name}: nobody decodes while a prompt comes in, or its time is not known"
    if not stack.steps:
        return f"{name}: no technique of the list gains anything"
    if stack.measure == "capacity" and stack.start == 0:
        return f"{name}: **{n.count(stack.end)}** where none did"
    first = stack.steps[0]
    return (
        f"{name}: **{n.figures(stack.factor)}×** from {len(stack.steps)} "
        f"step{'s' if len(stack.steps) > 1 else ''}, {_lower(first.technique.name)} first"
    )


def alt(stack: Stack) -> str:
    """The waterfall for those who do not see it."""
    start, end = shown(stack.measure, stack.start), shown(stack.measure, stack.end)
    said = "; ".join(f"{step.technique.name}: {factor(step)}" for step in stack.steps)
    plain = title(stack).replace("**", "")
    return f"{plain}. A waterfall from {start} to {end}. {said}"


def factor(step: Step) -> str:
    """A step's gain in words: "1.8×", "0.9×, slower", "fits"."""
    if math.isnan(step.factor) or math.isinf(step.factor):
        return "fits where nothing did" if step.after > step.before else n.UNKNOWN
    return f"{n.figures(step.factor)}×"


def hover(step: Step, measure: Measure) -> str:
    """What a pointer over a bar reads."""
    condition = f"<br>{step.change.assumed}" if step.change.assumed else ""
    return (
        f"<b>{step.technique.name}</b><br>{step.change.what}{condition}<br>"
        f"{shown(measure, step.before)} → {shown(measure, step.after)}, {factor(step)}"
    )


def lines(stack: Stack) -> list[str]:
    """The steps as numbered sentences, each with its numbers and its price."""
    found = []
    for step in stack.steps:
        condition = f", {step.change.assumed}" if step.change.assumed else ""
        found.append(
            f"**{step.technique.name}**: {step.change.what}{condition}. {shown(stack.measure, step.before)} → "
            f"{shown(stack.measure, step.after)} ({factor(step)}). Costs: {step.technique.cost}."
        )
    return found


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
