"""The report's sections: for each page its question, answer, tiles, figures and arithmetic, from the scenario alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from slmopt.advice.checklist import checklist
from slmopt.advice.diagnosis import diagnose
from slmopt.advice.drafting import drafting
from slmopt.advice.goals import goals
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.observed import observe
from slmopt.advice.plan import plan
from slmopt.advice.quality import Scores, best_format, formats_compared
from slmopt.figures.measured_marks import Group
from slmopt.figures.named import Named
from slmopt.reports import pictures
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import measurements
from slmopt.specs.scenario import Scenario
from slmopt.theory.batch_points import batching_view
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import compute_bound_from, hit_curve, longest_prompt
from slmopt.theory.interference import whole
from slmopt.theory.memory import longest_context
from slmopt.theory.model_shape import params_by_role
from slmopt.theory.roofline_points import roofline_view
from slmopt.words import arithmetic, measured_rows, model_arithmetic
from slmopt.words import batching as batching_words
from slmopt.words import checklist as checklist_words
from slmopt.words import diagnosis as diagnosis_words
from slmopt.words import first_token as first_token_words
from slmopt.words import goals as goal_words
from slmopt.words import memory as memory_words
from slmopt.words import model as model_words
from slmopt.words import overview as overview_words
from slmopt.words import plan as plan_words
from slmopt.words import quality as quality_words
from slmopt.words import roofline as roofline_words
from slmopt.words import speculation as speculation_words
from slmopt.words.engines import rule_lines
from slmopt.words.measurements import Said
from slmopt.words.questions import QUESTIONS
from slmopt.words.scenario_line import escape

Tile = tuple[str, str, str, str]
"""Label with the unit, value, note, help: plain text."""


@dataclass(frozen=True, slots=True)
class Section:
    """One question of the report. ``answer``, ``notes`` and ``arithmetic`` are Markdown, tiles plain text."""

    page: str
    answer: str
    tiles: tuple[Tile, ...]
    pictures: tuple[Picture, ...]
    arithmetic: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The page's name."""
        return QUESTIONS[self.page].title

    @property
    def question(self) -> str:
        """What the section answers."""
        return QUESTIONS[self.page].question


@dataclass(frozen=True, slots=True)
class Measured:
    """Rows of benchmark files judged against their ceilings, as the page Measurements shows them.

    ``rows`` is a table of :func:`slmopt.reports.measurement_tables.joined`, ``table`` every row as it is downloaded.
    """

    rows: pd.DataFrame
    groups: tuple[Named[Group], ...]
    said: Said
    table: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Own:
    """What only the user knows: items of the checklist ticked by hand (their ids), and an evaluation of formats."""

    ticked: frozenset[str] = frozenset()
    scores: Scores | None = None


def sections(
    scenario: Scenario, measured: Measured | None = None, own: Own | None = None
) -> tuple[Section, ...]:
    """All sections in the order of the pages; measurements only where there are any."""
    found = []
    for page in QUESTIONS:
        if page == "plan":
            found.append(_plan(scenario, measured, own or Own()))
        elif page in _MAKERS:
            found.append(_MAKERS[page](scenario))
        elif measured is not None:
            found.append(_measurements(measured))
    return tuple(found)


def _section(
    page: str,
    scenario: Scenario,
    answer: str,
    tiles: list[Tile],
    lines: list[str],
    notes: list[str] | None = None,
) -> Section:
    drawn = pictures.PAGES[page](scenario)
    return Section(page, answer, tuple(tiles), tuple(drawn), tuple(lines), tuple(notes or ()))


def _overview(scenario: Scenario) -> Section:
    e = evaluate(scenario)
    words = overview_words
    return _section("overview", scenario, words.answer(e), words.tiles(e), arithmetic.overview(e))


def _roofline(scenario: Scenario) -> Section:
    view = roofline_view(evaluate(scenario))
    words = roofline_words
    return _section("roofline", scenario, words.answer(view), words.tiles(view), words.arithmetic(view))


def _batching(scenario: Scenario) -> Section:
    view = batching_view(evaluate(scenario))
    words = batching_words
    return _section("batching", scenario, words.answer(view), words.tiles(view), words.arithmetic(view))


def _memory(scenario: Scenario) -> Section:
    e = evaluate(scenario)
    words = memory_words
    tiles = words.tiles(e, longest_context(e.setup, scenario.batch))
    lines = arithmetic.capacity_lines(e)
    return _section("memory", scenario, words.answer(e), tiles, lines, rule_lines(e.capacity))


def _first_token(scenario: Scenario) -> Section:
    e = evaluate(scenario)
    setup, words = e.setup, first_token_words
    target_s = scenario.target_ttft_s
    longest: tuple[int | None, int | None] = (None, None)
    if target_s is not None:
        longest = (longest_prompt(setup, target_s), longest_prompt(setup, target_s, "slow"))
    tiles = words.tiles(e, longest, float(hit_curve(setup).ceiling[-1]))
    at_once = whole(setup, e.ceiling.decode_roof, e.ceiling.prefill_roof)
    lines = arithmetic.first_token(e, at_once)
    return _section("first-token", scenario, words.answer(e, compute_bound_from(setup)), tiles, lines)


def _speculation(scenario: Scenario) -> Section:
    drafted = drafting(scenario)
    e = evaluate(drafted.scenario)
    found = e.typical.speculation
    assert found is not None, "a scenario that drafts has all that speculation needs"
    words = speculation_words
    return _section(
        "speculation",
        scenario,
        words.answer(e, found),
        words.tiles(found, e.ceiling.speculation),
        arithmetic.speculation(e, found),
        [words.assumed_line(drafted.assumed)] if drafted.assumed else [],
    )


def _plan(scenario: Scenario, measured: Measured | None, own: Own) -> Section:
    e, trials = evaluate(scenario), plan(scenario)
    words = plan_words
    seen = None if measured is None else observe(measured.rows, e.setup)
    items = checklist(scenario, seen, own.scores)
    notes = [
        *diagnosis_words.sentences(e, diagnose(scenario, seen)),
        *(goal_words.sentence(goal) for goal in goals(e)),
        *(goal_words.ways_sentence(goal, ways) for goal, ways in smallest_changes(scenario)),
        *words.steps(e, trials),
        *_quality(scenario, own.scores),
        *(escape(checklist_words.line(item, ticked=item.id in own.ticked)) for item in items),
    ]
    return _section(
        "plan", scenario, words.answer(trials), words.tiles(trials), arithmetic.plan(e, trials), notes
    )


def _quality(scenario: Scenario, scores: Scores | None) -> list[str]:
    """Formats that the user evaluated, and which is the fastest that passes."""
    if scores is None or not scores.task:
        return []
    rows = formats_compared(scenario, scores)
    return [
        *(quality_words.evaluated(row) for row in rows if row.score is not None),
        quality_words.verdict(rows, best_format(rows), scores),
    ]


def _model(scenario: Scenario) -> Section:
    setup = evaluate(scenario).setup
    model, weights, words = setup.model, setup.weights, model_words
    growth = cache_growth(model, *setup.cache, float(scenario.depth))
    tiles = words.tiles(model, weights, growth, False)
    lines = model_arithmetic.arithmetic(model, weights, growth, params_by_role(model), None)
    return _section("model", scenario, words.answer(model, growth), tiles, lines)


def _measurements(measured: Measured) -> Section:
    said = measured.said
    drawn: tuple[Picture, ...] = ()
    if measured.groups:
        drawn = measurements.pictures(measured.rows, measured.groups, said.title, said.alt)
    notes = [said.line, *filter(None, (said.explanation,)), *measured_rows.source_lines(measured.rows)]
    return Section("measurements", said.answer, tuple(said.tiles), drawn, (), tuple(notes))


_MAKERS: Mapping[str, Callable[[Scenario], Section]] = MappingProxyType(
    {
        "overview": _overview,
        "roofline": _roofline,
        "batching": _batching,
        "memory": _memory,
        "first-token": _first_token,
        "speculation": _speculation,
        "model": _model,
    }
)
