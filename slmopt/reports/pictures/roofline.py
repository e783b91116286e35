"""The Roofline's figures: the roof with its points, and each pass's intensity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import intensity, roofline
from slmopt.figures.named import Named, beside
from slmopt.reports import batch_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.roofline_points import MeasuredPoint, RooflineView
from slmopt.words import roofline as words


def pictures(
    view: RooflineView,
    measured: Sequence[MeasuredPoint] = (),
    pinned: Sequence[Named[RooflineView]] = (),
) -> tuple[Picture, Picture]:
    """The roof, with the rows of an upload on it; operations a byte of decode and prefill."""
    shown = beside(view, pinned)
    return (
        Picture(
            "roofline_roof",
            words.roof_title(view),
            words.roof_alt(view),
            roofline.roof(shown, measured),
            partial(tables.roof_points, view, measured),
            kinds=("ceiling", "estimate", "measured") if measured else ("ceiling", "estimate"),
        ),
        Picture(
            "roofline_intensity",
            words.intensity_title(view),
            words.intensity_alt(view),
            intensity.intensities(shown),
            partial(tables.intensities, view),
        ),
    )
