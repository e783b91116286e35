"""Speculation's figures: speed-up against acceptance, against the draft's length, against the batch."""

from __future__ import annotations

from functools import partial

import numpy as np

from slmopt.figures import speculation as figures
from slmopt.reports import speculation_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.speculation import Speculation
from slmopt.theory.speculation_curves import speculation_curves
from slmopt.words import speculation as words


def pictures(evaluation: Evaluation, found: Speculation) -> tuple[Picture, Picture, Picture]:
    """Speed-up for several lengths over acceptance; over the length; over sequences at once."""
    most = evaluation.capacity.max_sequences
    curves = speculation_curves(evaluation.setup, evaluation.typical.decode_roof, float(most or 0))
    losing = curves.by_batch < 1.0
    loses_from = float(curves.batch[int(np.argmax(losing))]) if losing.any() and not losing[0] else None
    acceptance, length = words.acceptance_title(found), words.length_title(found)
    batch = words.batch_title(
        float(curves.by_batch[0]), float(curves.by_batch[-1]), float(curves.batch[-1]), loses_from
    )
    now = evaluation.setup.scenario.batch
    return (
        Picture(
            "speculation_acceptance",
            acceptance,
            f"{acceptance}. Speed-up against acceptance, 0 to 1, for several draft lengths.",
            figures.by_acceptance(curves, found),
            partial(tables.by_acceptance, curves),
            kinds=("estimate",),
        ),
        Picture(
            "speculation_length",
            length,
            f"{length}. Speed-up and expected tokens against draft length, 0 to 16.",
            figures.by_length(curves, found),
            partial(tables.by_length, curves),
        ),
        Picture(
            "speculation_batch",
            batch,
            f"{batch}. Speed-up against sequences at once.",
            figures.by_batch(curves, now, found.speedup, most),
            partial(tables.by_batch, curves),
        ),
    )
