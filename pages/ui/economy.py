"""Batching's second half: throughput against speed, what a token costs, and what a prompt does to those who decode."""

from __future__ import annotations

import streamlit as st

from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.advice.what_ifs import memory_what_ifs
from slmopt.figures import frontier as figures
from slmopt.figures import holding as holding_figures
from slmopt.figures.named import Named
from slmopt.reports import frontier_tables as tables
from slmopt.reports import holding_tables
from slmopt.serving.frontier import frontier
from slmopt.serving.pools import stall
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.words import frontier as words
from slmopt.words import holding
from slmopt.words.memory import what_if_name

MOST = 4
"""Scenarios that hues can tell apart."""


def section(scenario: Scenario, evaluation: Evaluation) -> None:
    """All three figures; the frontier carries the what-ifs beside the present scenario."""
    view = frontier(evaluation)
    others = [(name, evaluate(case)) for name, case in memory_what_ifs(scenario)[1:MOST]]
    shown = [Named("as now" if others else "", view)]
    shown += [Named(what_if_name(name, one), frontier(one)) for name, one in others]
    left, right = side_by_side()
    with left:
        chart(
            figures.frontier(shown),
            title=words.title(view),
            key="batching_frontier",
            alt=words.alt(view),
            data=tables.frontier(shown),
        )
    with right:
        if view.priced or view.powered:
            chart(
                figures.cost(view),
                title=words.cost_title(view),
                key="batching_cost",
                alt=words.cost_alt(view),
                data=tables.frontier(shown[:1]),
            )
        else:
            st.markdown(f"{words.cost_title(view)}.")

    found = stall(evaluation.setup)
    left, right = side_by_side()
    with left:
        title = holding.stall_title(found)
        chart(
            holding_figures.stall(found),
            title=title,
            key="batching_stall",
            alt=f"{title}. Worst gap and first token against the size of the pieces, both logarithmic.",
            data=holding_tables.stall(found),
        )
    with right:
        st.markdown(holding.stall_words(found))


def arithmetic(evaluation: Evaluation) -> list[str]:
    """The section's formulas with this scenario's numbers."""
    return words.arithmetic(frontier(evaluation))
