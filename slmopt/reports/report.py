"""A scenario's answers gathered into one thing that can be handed over; its writers stand in modules beside this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pandas as pd

from slmopt._version import __version__
from slmopt.reports.report_sections import Measured, Own, Section, sections
from slmopt.specs.scenario import Scenario
from slmopt.specs.scenario import scenario as checked
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.words import report as words
from slmopt.words.scenario_line import escape, scenario_line
from slmopt.words.sources import source_lines

FIRST: Final = "overview"
"""The page whose answer is the whole report's."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says, before it has a form. Lines are Markdown, facts and tiles plain text."""

    scenario: Scenario
    line: str
    headline: tuple[words.Fact, ...]
    sections: tuple[Section, ...]
    assumptions: tuple[str, ...]
    sources: tuple[str, ...]
    version: str
    date: datetime
    measured: Measured | None = None

    @property
    def answer(self) -> str:
        """The report's first sentence: what limits this model here."""
        return self.sections[0].answer

    @property
    def origin(self) -> str:
        """Tool, version and date in one line."""
        return f"slmopt {self.version}, {words.written(self.date)}"

    def tables(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Every table as (key, heading, numbers): each figure's, then the measured rows."""
        for section in self.sections:
            for picture in section.pictures:
                numbers = None if picture.numbers is None else picture.numbers()
                if numbers is not None and len(numbers.columns):
                    yield picture.key, picture.heading, numbers
        if self.measured is not None:
            yield "measured_rows", "Every measured row against its ceiling", self.measured.table


def report(
    scenario: Scenario,
    evaluation: Evaluation | None = None,
    measured: Measured | None = None,
    *,
    date: datetime,
    assumed: Sequence[str] = (),
    own: Own | None = None,
) -> Report:
    """The report of a scenario.

    Parameters
    ----------
    evaluation
        The scenario's, where it is at hand.
    measured
        Judged rows of benchmark files; they get a section and tables of their own.
    date
        When the report is made; shown in UTC, a moment without a zone is taken for UTC.
    assumed
        What stood in for facts that nobody gave, in plain words; it joins the assumptions.
    own
        What only the user knows: ticks of the checklist, and an evaluation of formats.

    Raises
    ------
    SpecError
        In one sentence, where the scenario names something that is not known.
    """
    shown = printable(scenario)
    if evaluation is None or shown is not scenario:
        evaluation = evaluate(shown)
    return Report(
        scenario=shown,
        line=scenario_line(shown),
        headline=tuple(words.headline(evaluation)),
        sections=sections(shown, measured, own),
        assumptions=(*words.assumptions(evaluation), *map(escape, assumed)),
        sources=tuple(source_lines(evaluation)),
        version=__version__,
        date=date,
        measured=measured,
    )


def printable(scenario: Scenario) -> Scenario:
    """The scenario with a mark for every character of its names that no file may hold; mostly the scenario itself."""
    values = scenario.model_dump(exclude_defaults=True)
    cleaned = _cleaned(values)
    return scenario if cleaned == values else checked(cleaned)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in value)
    if isinstance(value, Mapping):
        return {name: _cleaned(part) for name, part in value.items()}
    return type(value)(map(_cleaned, value)) if isinstance(value, list | tuple) else value


# Without width or without a break: the product's own names have them.
_KEPT: Final = ("\u00a0", "\u2060")
