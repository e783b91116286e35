"""Ways to draft, side by side on one scenario: what each would gain if checking cost what it typically does, or nothing extra.

Each is the scenario with other figures of drafting, so that the same pass is computed for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.advice.draft_techniques import HEADS_ACCEPTANCE, HEADS_COST, NGRAM_ACCEPTANCE, heads_gb
from slmopt.advice.verification import typical_verify_cost
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.roofline import estimate_roof
from slmopt.theory.speculation import (
    LONGEST_DRAFT,
    best_length,
    expected_tokens,
    place_acceptance,
    speedup,
    verify_seconds,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to draft at its best length: tokens a pass, tokens checked, and the estimated speed-up by how checking is counted.

    Each is (length, speed-up); ``entered`` is None where no checking cost was entered.
    """

    id: str
    acceptance: float
    draft_cost: float | None
    width: int
    tokens: float
    checked: int
    by_pass: tuple[int, float]
    typical: tuple[int, float]
    entered: tuple[int, float] | None


@lru_cache(maxsize=64)
def ways(drafted: Scenario, entered: float | None) -> tuple[Way, ...]:
    """The scenario's own drafting first, then a tree of it, n-grams and built-in heads with what others measured.

    ``drafted`` must hold acceptance and a cost, as :func:`slmopt.advice.drafting.drafting` makes sure; ``entered`` is the
    checking cost that the user gave.
    """
    own_acceptance = drafted.acceptance or 0.0
    return (
        _way("own", drafted, own_acceptance, entered),
        _way("tree", drafted.change(draft_width=max(3, drafted.draft_width + 1)), own_acceptance, entered),
        _way("ngram", _free(drafted, NGRAM_ACCEPTANCE, 0.0), NGRAM_ACCEPTANCE, entered),
        _way(
            "heads",
            _free(drafted, HEADS_ACCEPTANCE, HEADS_COST, heads_gb(drafted)),
            HEADS_ACCEPTANCE,
            entered,
        ),
    )


def _free(s: Scenario, acceptance: float, cost: float, heads: float | None = None) -> Scenario:
    values = {"draft_model": None, "draft_device": None, "draft_width": 1, "draft_heads_gb": heads}
    return s.change(acceptance=acceptance, draft_cost=cost, **values)


def _way(ident: str, s: Scenario, acceptance: float, entered: float | None) -> Way:
    def best(verify_cost: float | None) -> tuple[int, float]:
        setup = resolve(s.change(verify_cost=verify_cost))
        return best_length(setup, estimate_roof(setup, "decode", "typical"), acceptance)

    typical = best(typical_verify_cost(resolve(s)))
    length = typical[0] or s.draft_tokens
    return Way(
        ident,
        acceptance,
        s.draft_cost,
        s.draft_width,
        float(expected_tokens(place_acceptance(acceptance, s.draft_width), length)),
        length * s.draft_width + 1,
        best(None),
        typical,
        None if entered is None else best(entered),
    )


@dataclass(frozen=True, slots=True)
class Checks:
    """Seconds of a pass that checks 1 … n positions, by the pass alone, at the typical cost, and at the entered one."""

    positions: Floats
    by_pass: Floats
    typical: Floats
    entered: Floats | None
    typical_cost: float


def checking(drafted: Scenario, entered: float | None, most: int = LONGEST_DRAFT) -> Checks:
    """What checking costs as the draft grows; the typical estimate."""
    length = np.arange(most + 1, dtype=np.float64)

    def seconds(verify_cost: float | None) -> Floats:
        setup = resolve(drafted.change(verify_cost=verify_cost, draft_width=1))
        return np.asarray(verify_seconds(setup, estimate_roof(setup, "decode", "typical"), length))

    typical = typical_verify_cost(resolve(drafted))
    own = None if entered is None else seconds(entered)
    return Checks(length + 1.0, seconds(None), seconds(typical), own, typical)


def speedup_at(setup: Setup, acceptance: float, draft_tokens: int) -> float:
    """The typical estimate's speed-up at any acceptance and length."""
    return float(speedup(setup, estimate_roof(setup, "decode", "typical"), acceptance, draft_tokens))
