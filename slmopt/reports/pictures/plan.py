"""The Plan's figures: what each technique would gain, and what they gain one after the other."""

from __future__ import annotations

from functools import partial

from slmopt.advice.order import Stack, stack
from slmopt.advice.plan import Trial, in_view
from slmopt.figures import plan as figures
from slmopt.figures import waterfall as falls
from slmopt.reports import plan_tables as tables
from slmopt.reports.picture import Picture
from slmopt.specs.scenario import Scenario
from slmopt.words import order as order_words
from slmopt.words import plan as words


def pictures(scenario: Scenario, trials: tuple[Trial, ...]) -> tuple[Picture, Picture]:
    """Techniques against metrics, those that change something here; and the whole reply's waterfall, best first."""
    return matrix(trials), waterfall(stack(scenario, "reply", "best"))


def matrix(trials: tuple[Trial, ...]) -> Picture:
    """Techniques against metrics, those that change something here."""
    shown = in_view(trials)
    return Picture(
        "plan_matrix",
        words.matrix_title(trials),
        words.matrix_alt(shown),
        figures.matrix(shown),
        partial(tables.gains, trials),
        kinds=("estimate",),
        phone_height=420,
    )


def waterfall(found: Stack, target: float | None = None) -> Picture:
    """Gains of one measure, stacked; ``target`` is in the measure's SI unit."""
    measure = found.measure
    length, axis = order_words.scaled(measure, found.start)
    bars = [
        falls.Bar(
            step.technique.name,
            length(step.before),
            length(step.after),
            order_words.factor(step),
            order_words.hover(step, measure),
            step.factor >= 1,
        )
        for step in found.steps
    ]
    ends = [(order_words.shown(measure, value), length(value)) for value in (found.start, found.end)]
    (start_text, start), (end_text, end) = ends
    figure = falls.waterfall(
        (order_words.NOW, start, start_text),
        bars,
        (order_words.REACHED, end, end_text),
        axis,
        None if target is None else length(target),
    )
    return Picture(
        f"plan_waterfall_{found.measure}",
        order_words.title(found),
        order_words.alt(found),
        figure,
        partial(tables.steps, found),
        phone_height=360,
    )
