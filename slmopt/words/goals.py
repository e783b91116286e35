"""What is said of targets and of the smallest changes that meet them."""

from __future__ import annotations

import math

from slmopt.advice.goals import Goal
from slmopt.advice.nearest import SHOWN, Nearest
from slmopt.words import numbers as n
from slmopt.words import pace

MARK = {"met": "✓", "ceiling_only": "◐", "missed": "✕", "unknown": "–"}
VERDICTS = {
    "met": "met, even by the slow end of the estimate",
    "ceiling_only": "met at the ceiling, not by all of the estimate",
    "missed": "out of reach: not even the ceiling meets it",
    "unknown": "cannot be told: a rate of this chip is not known",
}
_NAMES = {
    "ttft": "First token",
    "tokens_per_s": "Throughput",
    "users": "Sequences",
    "memory": "Memory",
}
INPUTS = {
    "bandwidth_gbs": ("bandwidth", "GB/s"),
    "peak_tflops": ("matrix rate", "TFLOPS"),
    "bits": ("bits a weight", ""),
    "context": ("context", "tokens"),
    "batch": ("sequences at once", ""),
    "prompt": ("prompt", "tokens"),
    "acceptance": ("acceptance", ""),
    "params": ("model size", "parameters"),
}


def name(measure: str) -> str:
    """What a target is of; other measures go by their own names."""
    return pace.name() if measure == "tpot" else _NAMES.get(measure, measure)


def shown(goal: Goal, value: float | None, digits: int = 3) -> str:
    """A value of the goal's measure with its unit; what never comes is "never"."""
    if value is None or math.isnan(value):
        return n.UNKNOWN
    if goal.name == "tpot":
        return pace.shown(value, digits)
    if goal.name == "ttft":
        return n.NEVER if math.isinf(value) else n.seconds(value, digits)
    if goal.name == "tokens_per_s":
        return n.tokens_per_s(value, digits)
    return n.count(value) if goal.name == "users" else n.bytes_(value, digits)


def sentence(goal: Goal) -> str:
    """Mark, target, what it comes to, the verdict, and by how much it is missed."""
    of = f"{name(goal.name)}{f' at {percentile(goal)}' if goal.p95 else ''}"
    target = n.trimmed(shown(goal, goal.target))
    limit = "at least" if goal.name in ("tokens_per_s", "users") else "within"
    if goal.name == "tpot":
        limit = pace.limit()
    value = shown(
        goal, goal.ceiling if goal.typical is None else goal.typical, 2 if goal.typical is not None else 3
    )
    if goal.name in ("users", "memory"):
        much = f"; it must be {n.figures(goal.factor)}× better" if goal.factor > 1 else ""
        said = {"met": "met", "missed": "missed"}.get(goal.verdict, "memory is not known")
        return f"{MARK[goal.verdict]} **{of}** {limit} {target}: {value}, {said}{much}."
    about = "about " if goal.typical is not None and value != n.NEVER else ""
    text = f"{MARK[goal.verdict]} **{of}** {limit} {target}: {about}{value}, {VERDICTS[goal.verdict]}"
    if goal.factor > 1.005 and goal.verdict in ("missed", "ceiling_only"):
        much = (
            "no finite gain is enough"
            if math.isinf(goal.factor)
            else f"it must be {n.figures(goal.factor)}× better"
        )
        return f"{text}; {much}."
    return f"{text}."


def percentile(goal: Goal) -> str:
    """What nineteen of twenty requests keep to under load."""
    return pace.percentile() if goal.name == "tpot" else "p95"


def ways_sentence(goal: Goal, ways: tuple[Nearest, ...]) -> str:
    """The smallest changes that meet a missed target."""
    what = pace.inner(the=True) if goal.name == "tpot" else f"the {name(goal.name).lower()}"
    if not ways:
        return f"For {what} no single change of the list is enough: combine several, or take another device or model."
    return f"For {what}, any one of: {'; '.join(way(one) for one in ways[:SHOWN])}."


def way(one: Nearest) -> str:
    """One way in words."""
    quality = ", if your evaluation passes" if one.evaluate_quality else ""
    if one.new is None:
        condition = f", {one.assumed}" if one.assumed else ""
        return f"{one.what[:1].lower()}{one.what[1:]} ({one.change}{condition}){quality}"
    what, unit = INPUTS[one.what]
    return (
        f"{what} of {number(one.what, one.new, unit)} in place of {number(one.what, one.old, unit)}{quality}"
    )


def number(variable: str, value: float | None, unit: str) -> str:
    """An input's value; whole ones in full."""
    text = n.count(value) if variable in ("context", "batch", "prompt") else n.trimmed(n.figures(value))
    return f"{text}{n.NBSP}{unit}" if unit else text
