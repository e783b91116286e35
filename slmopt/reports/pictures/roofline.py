"""The Roofline's figures: the roof with its points, and each pass's intensity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import intensity, roofline
from slmopt.figures import operators as figures
from slmopt.figures.named import Named, beside
from slmopt.reports import batch_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.operators import OperatorsView
from slmopt.theory.roofline_points import MeasuredPoint, RooflineView
from slmopt.words import roofline as words
from slmopt.words.operators import operators_alt, operators_title


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


def operators(view: OperatorsView) -> dict[str, Picture]:
    """A pass's time by its operators, for each phase."""
    found = {"decode": view.decode, "prefill": view.prefill}
    return {
        phase: Picture(
            f"roofline_operators_{phase}",
            operators_title(one, phase),
            operators_alt(one, phase),
            figures.shares(one),
            partial(tables.operators, view),
            kinds=("ceiling",),
        )
        for phase, one in found.items()
    }
