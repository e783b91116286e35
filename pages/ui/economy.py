"""Batching's second half: throughput against speed, what a token costs, and what a prompt does to those who decode."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.figures import holding as figures
from slmopt.reports import holding_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving.frontier import frontier
from slmopt.serving.pools import stall
from slmopt.theory.evaluation import Evaluation
from slmopt.words import frontier as words
from slmopt.words import holding


def section(evaluation: Evaluation, pictures: Sequence[Picture]) -> None:
    """The frontier and, where known, the cost as given; what a prompt does to others, once it is asked for."""
    front, *cost = pictures
    left, right = side_by_side()
    with left:
        chart(front)
    with right:
        for picture in cost:
            chart(picture)
        if not cost:
            st.markdown(f"{words.cost_title(frontier(evaluation))}.")
    # Drawn only when open: the page stays quick for those who came for the batch.
    part = st.expander("A long prompt among those who decode", key="slm_stall", on_change="rerun")
    if part.open:
        with part:
            _stall(evaluation)


def _stall(evaluation: Evaluation) -> None:
    found = stall(evaluation.setup)
    title = holding.stall_title(found)
    left, right = side_by_side()
    with left:
        chart(
            Picture(
                "batching_stall",
                title,
                f"{title}. Worst gap and first token against the size of the pieces, both logarithmic.",
                figures.stall(found),
                partial(tables.stall, found),
            )
        )
    with right:
        st.markdown(holding.stall_words(found))


def arithmetic(evaluation: Evaluation) -> list[str]:
    """The section's formulas with this scenario's numbers."""
    return words.arithmetic(frontier(evaluation))
