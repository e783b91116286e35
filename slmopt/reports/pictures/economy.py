"""What serving costs: throughput against each user's speed, and money or energy a token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.advice.what_ifs import memory_what_ifs
from slmopt.figures import frontier as figures
from slmopt.figures.named import PRESENT, Named
from slmopt.reports import frontier_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving.frontier import Frontier, frontier
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.words import frontier as words
from slmopt.words.memory import what_if_name

MOST = 4
"""Scenarios that hues can tell apart."""


def pictures(evaluation: Evaluation, pinned: Sequence[Named[Evaluation]] = ()) -> tuple[Picture, ...]:
    """The frontier, beside those of pinned scenarios or else of the what-ifs; the cost, where price or power is known."""
    view = frontier(evaluation)
    shown = [
        Named(PRESENT if pinned else "", view),
        *(Named(one.name, frontier(one.result)) for one in pinned),
    ]
    if not pinned:
        cases = memory_what_ifs(evaluation.setup.scenario)[1:MOST]
        others = [(name, evaluate(case)) for name, case in cases]
        shown = [Named("as now" if others else "", view)]
        shown += [Named(what_if_name(name, one), frontier(one)) for name, one in others]
    made = Picture(
        "batching_frontier",
        words.title(view),
        words.alt(view),
        figures.frontier(shown),
        partial(tables.frontier, shown),
    )
    return (made, *_cost(view, shown[:1]))


def _cost(view: Frontier, shown: Sequence[Named[Frontier]]) -> tuple[Picture, ...]:
    if not (view.priced or view.powered):
        return ()
    return (
        Picture(
            "batching_cost",
            words.cost_title(view),
            words.cost_alt(view),
            figures.cost(view),
            partial(tables.frontier, shown),
        ),
    )
