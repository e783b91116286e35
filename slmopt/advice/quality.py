"""Quality as a gate: the user's own evaluation of each format, beside the speed that the format would give.

No score is ever assumed. A format without one is not called best; nor is one below the floor that the user sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from slmopt.advice.gains import comparable, headline
from slmopt.advice.weight_techniques import RUNGS, format_of
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.evaluation import evaluate


@dataclass(frozen=True, slots=True)
class Scores:
    """Task scores by format id, as the user's own evaluation gave them, and the least that is good enough.

    ``validity``: share of replies in the right format, 0 to 1, where it was evaluated.
    """

    task: Mapping[str, float]
    floor: float | None = None
    validity: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    validity_floor: float | None = None

    def of(self, format_id: str) -> float | None:
        """The task score; None where nobody evaluated the format."""
        return self.task.get(format_id)

    def passes(self, format_id: str) -> bool | None:
        """Whether the format is good enough; None where no score or no floor says so."""
        score = self.of(format_id)
        if score is None or self.floor is None:
            return None
        if score < self.floor:
            return False
        if self.validity_floor is None:
            return True
        valid = self.validity.get(format_id)
        return None if valid is None else valid >= self.validity_floor


@dataclass(frozen=True, slots=True)
class FormatRow:
    """A format on this scenario: bits a weight, file bytes, estimated seconds and sequences; the score beside them."""

    id: str
    name: str
    bits: float
    file_bytes: float
    tpot_s: float
    ttft_s: float
    sequences: float | None
    fits: bool | None
    score: float | None
    validity: float | None
    passes: bool | None
    now: bool


def formats_compared(scenario: Scenario, scores: Scores) -> tuple[FormatRow, ...]:
    """The scenario's own format, 16 bits, and each precision below it; most bits first."""
    rows = []
    for base in _speeds(scenario):
        ident = base.id
        rows.append(
            FormatRow(
                **{
                    name: getattr(base, name)
                    for name in FormatRow.__dataclass_fields__
                    if name not in ("score", "validity", "passes")
                },
                score=scores.of(ident),
                validity=scores.validity.get(ident),
                passes=scores.passes(ident),
            )
        )
    return tuple(rows)


def best_format(rows: tuple[FormatRow, ...]) -> FormatRow | None:
    """The fastest format that passes the user's evaluation and fits; None where none has passed."""
    passed = [row for row in rows if row.passes and row.fits is not False]
    return min(passed, key=lambda row: row.tpot_s) if passed else None


@lru_cache(maxsize=32)
def _speeds(scenario: Scenario) -> tuple[FormatRow, ...]:
    setup = resolve(scenario)
    wanted: dict[str, WeightFormat] = {setup.weights.id: setup.weights}
    sixteen = (
        WeightFormat.model_validate({"bits": 16.0}) if setup.model.by_count else library().weights["f16"]
    )
    for found in (sixteen, *(format_of(setup, rung) for rung in RUNGS)):
        if found is not None:
            wanted.setdefault(found.id, found)
    rows = []
    for ident, found in wanted.items():
        value: str | WeightFormat = ident if ident in library().weights else found
        tried = scenario if ident == setup.weights.id else scenario.change(weights=value, weight_bits=None)
        e = evaluate(comparable(scenario, tried))
        told = headline(e)
        rows.append(
            FormatRow(
                ident,
                found.name,
                bits_per_weight(e.setup.weights, e.setup.model),
                e.setup.weight_bytes,
                told.tpot_s,
                told.ttft_s[1],
                told.sequences,
                e.capacity.fits,
                None,
                None,
                None,
                ident == setup.weights.id,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.bits))
