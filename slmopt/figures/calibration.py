"""The figure of a fit: measured against predicted time of each pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import line, note, points
from slmopt.figures.measured_marks import plain
from slmopt.figures.named import Named
from slmopt.figures.theme import Spec
from slmopt.measured.calibration import Fit
from slmopt.words import numbers as n

_ROOM: Final = 1.25
_SHORT: Final = 100.0


def measured_against_predicted(shown: Sequence[Named[Fit]]) -> theme.Figure:
    """A diamond a point, both axes logarithmic; on the line both times are equal, and beside it the error is ± 25 %."""
    times = np.concatenate(
        [np.concatenate([fit.result.points.seconds, fit.result.predicted_s]) for fit in shown]
    )
    low, high = 1e3 * float(times.min()) / _ROOM, 1e3 * float(times.max()) * _ROOM
    ends = np.array([low, high])
    # Decades alone would leave a short axis with one label or none.
    ticks: Spec = {"dtick": "D2"} if high / low < _SHORT else {}
    data: list[Spec] = [
        *_corridor(ends),
        line(ends, ends, "estimate", name="equal"),
    ]
    for at, fit in enumerate(shown):
        colour = {} if len(shown) == 1 else {"colour": theme.SCENARIOS[at % len(theme.SCENARIOS)]}
        data.append(
            points(
                (1e3 * fit.result.predicted_s).tolist(),
                (1e3 * fit.result.points.seconds).tolist(),
                "measured",
                size=8,
                hover=_hover(fit),
                name=fit.name or "measured",
                **colour,  # type: ignore[arg-type]
            )
        )
    return theme.figure(
        data,
        base_layout(
            x_title="Predicted time a pass (ms)",
            y_title="Measured time a pass (ms)",
            x_scale="log",
            y_scale="log",
            x_limits=(low, high),
            y_limits=(low, high),
            x_axis=ticks,
            y_axis=ticks,
            height=theme.HEIGHT_SIDE,
            notes=[note(high, high, "equal", at="right", up="top", dx=-34, name="equal word")],
        ),
    )


def _corridor(ends: np.ndarray) -> list[Spec]:
    edge: Spec = {"type": "scatter", "mode": "lines", "x": ends, "line": {"width": 0}, "hoverinfo": "skip"}
    fill: Spec = {"fill": "tonexty", "fillcolor": theme.tint(theme.ESTIMATE, theme.BAND_OPACITY)}
    return [{**edge, "y": ends * 0.75, "name": "low"}, {**edge, "y": ends * 1.25, "name": "high", **fill}]


def _hover(fit: Named[Fit]) -> list[str]:
    head = f"{plain(fit.name)}: " if fit.name else ""
    result = fit.result
    return [
        f"<b>{head}{plain(str(label))}</b><br>measured {n.seconds(float(took))}<br>"
        f"predicted {n.seconds(float(said))}, {100 * (float(said) / float(took) - 1):+.0f}{n.NBSP}%"
        for label, took, said in zip(
            result.points.label, result.points.seconds, result.predicted_s, strict=True
        )
    ]
