"""The Overview's figures: where the time goes, the targets, the memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import overview as figures
from slmopt.figures.named import Named, beside
from slmopt.reports import tables
from slmopt.reports.picture import Picture
from slmopt.theory.evaluation import Evaluation
from slmopt.words import overview as words


def pictures(
    evaluation: Evaluation, pinned: Sequence[Named[Evaluation]] = ()
) -> tuple[Picture, Picture, Picture]:
    """Time of a step and of a prompt by part; each target; what fills the memory. Pinned scenarios stand beside."""
    shown = beside(evaluation, pinned)
    return (
        Picture(
            "overview_passes",
            words.step_title(evaluation),
            words.step_alt(evaluation),
            figures.passes(shown),
            partial(tables.passes, evaluation),
            kinds=("ceiling", "estimate"),
            phone_height=400,
        ),
        Picture(
            "overview_targets",
            words.targets_title(evaluation),
            words.targets_alt(evaluation),
            figures.target_shares(shown),
            partial(tables.targets, evaluation),
        ),
        Picture(
            "overview_memory",
            words.memory_title(evaluation),
            words.memory_alt(evaluation),
            figures.memory_boxes(shown),
            partial(tables.memory, evaluation),
        ),
    )
