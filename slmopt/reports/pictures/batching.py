"""Batching's figures: the device's throughput, each user's speed, and where a step's time goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import batch_sides
from slmopt.figures import batching as figures
from slmopt.figures.named import Named, beside
from slmopt.reports import batch_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.batch_points import BatchingView
from slmopt.words import batching as words


def pictures(
    view: BatchingView, pinned: Sequence[Named[BatchingView]] = ()
) -> tuple[Picture, Picture, Picture]:
    """tokens/s of the device, of a user, and the parts of a step, each against the batch."""
    shown = beside(view, pinned)
    return (
        Picture(
            "batching_throughput",
            words.throughput_title(view),
            words.throughput_alt(view),
            figures.throughput(shown),
            partial(tables.throughput, view),
            kinds=("ceiling", "estimate"),
        ),
        Picture(
            "batching_users",
            words.user_title(view),
            words.user_alt(view),
            batch_sides.users(shown),
            partial(tables.users, view),
        ),
        Picture(
            "batching_steps",
            words.step_title(view),
            words.step_alt(view),
            batch_sides.steps(shown),
            partial(tables.steps, view),
        ),
    )
