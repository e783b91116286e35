"""What a technique is: a function from scenario to scenario, and what is known of it beside the number it gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario

Pile = Literal["fewer_bytes", "more_tokens", "capacity", "prefill", "hardware", "software"]
Phase = Literal["decode", "prefill", "capacity"]

WORTH = 1.02
"""A change below this is noise beside the width of the estimate."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Factors: 2.0 is twice as good, 1.0 nothing, below 1 worse; None where it cannot be said.

    ``memory`` compares what is held now; ``gap`` the longest wait between two tokens while a prompt arrives.
    """

    ttft: float | None
    tpot: float | None
    throughput: float | None
    capacity: float | None
    memory: float | None = None
    gap: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A technique applied: the new scenario and what was changed, or why it cannot be (then ``after`` is None).

    With ``standing`` the scenario has the technique already, and ``worth`` is what would be lost without it.
    """

    after: Scenario | None
    what: str
    assumed: str = ""
    worth: Gain | None = None
    standing: bool = False


@dataclass(frozen=True, slots=True)
class Technique:
    """``step`` is its place in the articles' order of operations (8: another device); ``cost`` what it asks in return.

    ``rung_of`` names the technique of which this is another strength: lists show that one first.
    """

    id: str
    name: str
    step: int
    pile: Pile
    phase: Phase
    attacks: str
    cost: str
    apply: Callable[[Scenario], Change]
    rung_of: str = ""
    evaluate_quality: bool = False

    def change(self, scenario: Scenario) -> Change:
        """The technique applied; where what it asks for makes no valid scenario, why not."""
        try:
            return self.apply(scenario)
        except SpecError as error:
            return Change(None, f"what it asks for does not go together: {str(error).rstrip('.')}")
