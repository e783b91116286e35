"""Speed against quality: formats that the user evaluated."""

from __future__ import annotations

from functools import partial

from slmopt.advice.quality import FormatRow, Scores, best_format
from slmopt.figures import quality as figures
from slmopt.reports import advice_tables as tables
from slmopt.reports.picture import Picture
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words import quality as words


def speed_against_quality(rows: tuple[FormatRow, ...], scores: Scores) -> Picture | None:
    """One point a format that has a score; None where none has."""
    judged = tuple(row for row in rows if row.score is not None)
    if not judged:
        return None
    best = best_format(rows)
    scale = pace.scale(1e-3)
    points = [
        figures.Point(
            row.name,
            scale.of(row.tpot_s),
            row.score or 0.0,
            failed=row.passes is False,
            best=best is not None and row.id == best.id,
            hover=f"<b>{row.name}</b><br>{pace.each(row.tpot_s, 2)}<br>score {n.figures(row.score)}",
        )
        for row in judged
    ]
    title = words.title(judged, best)
    said = "; ".join(
        f"{p.name}: {n.figures(p.pace, 2)} {scale.unit}, score {n.figures(p.score)}" for p in points
    )
    return Picture(
        "plan_quality",
        title,
        f"{title}. Score on the user's own task against {pace.inner()}. {said}.",
        figures.speed_against_quality(points, scores.floor, pace.label(scale.unit, "estimate")),
        partial(tables.formats, judged),
    )
