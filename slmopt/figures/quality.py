"""Formats as points: time per token against the score of the user's own evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, note, points


@dataclass(frozen=True, slots=True)
class Point:
    """A format: estimated ms a token or tokens/s, measured score, and whether it failed or is the best that passed."""

    name: str
    pace: float
    score: float
    failed: bool
    best: bool
    hover: str


def speed_against_quality(shown: Sequence[Point], floor: float | None, x_title: str) -> theme.Figure:
    """Scores are measured; below the floor nothing counts."""
    data = [
        points(
            [p.pace],
            [p.score],
            "measured",
            now=p.best,
            colour=theme.MISSED if p.failed else None,
            hover=[p.hover],
        )
        for p in shown
    ]
    notes = [
        note(
            p.pace,
            p.score,
            f"<b>{p.name}</b>" if p.best else f"✕ {p.name}" if p.failed else p.name,
            dx=10,
        )
        for p in shown
    ]
    shapes = []
    scores = [p.score for p in shown]
    if floor is not None:
        shapes.append(limit_line(floor, axis="y"))
        notes.append(note(1, floor, "good enough", at="right", up="top", xref="x domain", dx=-4, dy=-2))
        scores.append(floor)
    low, high = min(scores), max(scores)
    room = max(high - low, abs(high) * 0.05, 1e-6)
    layout = base_layout(
        x_title=x_title,
        y_title="Task score, your evaluation",
        x_limits=(0.0, max(p.pace for p in shown) * 1.3),
        y_limits=(low - 0.25 * room, high + 0.25 * room),
        height=theme.HEIGHT_SIDE,
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)
