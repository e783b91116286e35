"""What a first visit is told, and one line on each ready case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slmopt.advice.targets import targets
from slmopt.theory.evaluation import Evaluation
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.overview import MARK


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the guide: its name, and what to do."""

    name: str
    text: str


STEPS: Final = (
    Step(
        "Choose what you run",
        "Model, device and formats stand in the panel; below, ready cases set them at once.",
    ),
    Step(
        "Read what limits it",
        "The large sentence names the cause. □ is a bound of physics, ○ what such devices reach, ◆ measured.",
    ),
    Step("Follow the plan", "Which technique helps here, by how much, and which do nothing."),
)
LEADS_TO: Final = "plan"
"""The page at the end of the last step."""

_NAMES: Final = {"ttft": "first token", "users": "users"}


def finding(e: Evaluation) -> str:
    """A ready case in one line: what limits it, and how its targets stand."""
    if e.capacity.fits is False:
        return f"{_fit(e)} {MARK['missed']}"
    return f"{_cause(e)}; {_targets(e)}"


def _fit(e: Evaluation) -> str:
    most = e.capacity.max_sequences
    return f"Only {n.count(most)} of {e.setup.scenario.batch:,} sequences fit" if most else "It does not fit"


def _cause(e: Evaluation) -> str:
    decode = e.ceiling.decode
    if decode.bound == "compute":
        return "Arithmetic limits decode"
    if decode.bound == "link":
        return "The link limits decode"
    cache = float(decode.cost.cache_bytes) > float(decode.cost.weight_bytes)
    return "Reading the cache limits decode" if cache else "Reading weights limits decode"


def _targets(e: Evaluation) -> str:
    found = targets(e)
    for verdict, said in (("missed", "out of reach"), ("ceiling_only", "may miss its target")):
        names = [_NAMES.get(one.name) or pace.inner() for one in found if one.verdict == verdict]
        if names:
            return f"{names[0]} {said} {MARK[verdict]}"
    if "ttft" not in [one.name for one in found]:
        return f"the first token cannot be told{n.NBSP}{n.UNKNOWN}"
    return f"targets met {MARK['met']}"
