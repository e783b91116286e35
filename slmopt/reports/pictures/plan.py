"""The Plan's figure: what each technique would gain."""

from __future__ import annotations

from functools import partial

from slmopt.advice.plan import Trial
from slmopt.figures import plan as figures
from slmopt.reports import plan_tables as tables
from slmopt.reports.picture import Picture
from slmopt.words import plan as words


def pictures(trials: tuple[Trial, ...]) -> tuple[Picture]:
    """Techniques against metrics."""
    return (
        Picture(
            "plan_matrix",
            words.matrix_title(trials),
            words.matrix_alt(trials),
            figures.matrix(trials),
            partial(tables.gains, trials),
            kinds=("estimate",),
            phone_height=420,
        ),
    )
