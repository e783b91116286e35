"""Gains stacked as a waterfall: one bar for the start, one for each technique's share, one for what is reached."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, note
from slmopt.figures.theme import Spec

_ROW_PX = 38


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: a technique that moves the measure from ``before`` to ``after``, and its words."""

    name: str
    before: float
    after: float
    text: str
    hover: str
    gains: bool


def waterfall(
    start: tuple[str, float, str],
    bars: list[Bar],
    end: tuple[str, float, str],
    x_title: str,
    target: float | None,
) -> theme.Figure:
    """Rows from top to bottom; a step that gains is measured green, one that costs is the colour of what is missed."""
    rows = len(bars) + 2
    data = [
        _block(0, 0.0, start[1], theme.ESTIMATE, start[2]),
        *(
            _block(
                row,
                min(bar.before, bar.after),
                abs(bar.after - bar.before),
                theme.MEASURED if bar.gains else theme.MISSED,
                bar.hover,
            )
            for row, bar in enumerate(bars, start=1)
        ),
        _block(rows - 1, 0.0, end[1], theme.ESTIMATE, end[2]),
    ]
    top = max([start[1], end[1], *(max(bar.before, bar.after) for bar in bars)])
    places = [start[1], *(max(bar.before, bar.after) for bar in bars), end[1]]
    words = [start[2], *(bar.text for bar in bars), end[2]]
    notes = [note(x, row, text, dx=6) for row, (x, text) in enumerate(zip(places, words, strict=True))]
    shapes = [_joint(row, bar.before) for row, bar in enumerate(bars)]
    shapes.append(_joint(rows - 2, end[1]))
    if target is not None and target <= top * 1.25:
        shapes.append(limit_line(target))
        notes.append(
            note(target, 1, "target", at="left", up="top", yref="y domain", dx=4, dy=14, name="target")
        )
    names = [start[0], *(bar.name for bar in bars), end[0]]
    layout = base_layout(
        x_title=x_title,
        x_limits=(0.0, top * 1.35),
        y_limits=(rows - 0.4, -0.9),
        y_axis={
            "showgrid": False,
            "tickmode": "array",
            "tickvals": list(range(rows)),
            "ticktext": names,
        },
        height=_ROW_PX * rows + 90,
        margin={"l": 190, "r": 8, "t": 4},
        notes=notes,
        shapes=shapes,
        phone={"margin.l": 150},
    )
    return theme.figure(data, layout)


def _block(row: int, base: float, length: float, colour: str, hover: str) -> Spec:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [length],
        "y": [row],
        "base": [base],
        "width": 0.6,
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hovertext": [hover],
    }


def _joint(row: int, x: float) -> Spec:
    """A thin line from one bar to the next."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": row + 0.3,
        "y1": row + 0.7,
        "line": {"color": theme.INK, "width": 1},
    }
