"""What solving for an input says."""

from __future__ import annotations

from slmopt.advice.measures import HIGHER
from slmopt.advice.solve import TARGETS, Solution
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.goals import INPUTS, number

CLOSED = "At this rate times are 95th percentiles of the closed form; --simulate plays the requests as well."
LEVELS = {
    "ceiling": "at the ceiling",
    "slow": "by the slow end of the estimate",
    "typical": "by the typical estimate",
    "fast": "by the fast end of the estimate",
}


def sentence(found: Solution) -> str:
    """The answer as one Markdown sentence, with what it was compared at."""
    name, value = found.target
    measure, step, unit = TARGETS[name]
    if measure == "tpot" and pace.as_speed():
        aim = f"speed of {pace.limit()} {n.trimmed(pace.each(value * step))}"
    else:
        limit = "at least" if measure in HIGHER else "at most"
        aim = f"{_what(measure)} of {limit} {n.trimmed(n.figures(value))}{n.NBSP}{unit}"
    goal = f"{aim} {LEVELS[found.at]}"
    if found.variable == "device":
        count = len(found.devices)
        if not count:
            return f"No device that ships gives a {goal} and holds the scenario."
        return f"**{count:,}** device{'s' if count > 1 else ''} of those that ship give a {goal}."
    words, unit_of = INPUTS[found.variable]
    if found.value is None:
        return f"No {words} gives a {goal}: {found.why}."
    if found.any_value:
        return f"Every {words} that was tried gives a {goal}."
    return f"A {words} of **{number(found.variable, found.value, unit_of)}** just gives a {goal}."


def _what(measure: str) -> str:
    return {
        "ttft": "first token",
        "tpot": "time per token",
        "reply": "reply",
        "tokens_per_s": "throughput",
        "user_tokens_per_s": "stream",
        "users": "number of sequences",
        "memory": "memory",
    }[measure]
