"""Figures of the Speculation page: speed-up over acceptance, draft length and batch."""

from __future__ import annotations

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import end_label, limit_line, line, note, points, region, region_word, told
from slmopt.figures.theme import Spec
from slmopt.theory.speculation import Speculation
from slmopt.theory.speculation_curves import SpeculationCurves
from slmopt.words import numbers as n


def by_acceptance(curves: SpeculationCurves, found: Speculation) -> theme.Figure:
    """Speed-up against acceptance, a line for each draft length, the present one strong; below 1 drafting loses."""
    data: list[Spec] = []
    ends = []
    for k, values in curves.by_acceptance.items():
        now = k == found.draft_tokens
        data.append(
            line(
                curves.acceptance,
                values,
                "estimate",
                width=3 if now else 1.25,
                **told(f"estimate, {k} drafted", "acceptance %{x:.2f}", "about %{y:.3~r}×"),
            )
        )
        ends.append((float(values[-1]), k, now))
    top = max(value for value, _, _ in ends)
    notes = _ends(ends, top)
    hover = f"<b>now, estimate</b><br>acceptance {found.acceptance:g}, {found.draft_tokens} drafted<br>about {n.factor(found.speedup)}"
    data.append(points([found.acceptance], [found.speedup], "estimate", now=True, hover=[hover]))
    notes.append(
        note(
            found.acceptance,
            found.speedup,
            f"<b>now</b> ≈{n.NBSP}{n.figures(found.speedup, 2)}×",
            at="right",
            up="bottom",
            dx=-10,
            dy=2,
        )
    )
    if found.break_even is not None and found.break_even > 0:
        data.append(points([found.break_even], [1.0], "estimate", size=8))
        notes.append(
            note(
                found.break_even,
                1.0,
                f"even at {n.figures(found.break_even, 2)}",
                at="left",
                up="top",
                dx=8,
                dy=-4,
            )
        )
    layout = base_layout(
        x_title="Acceptance rate",
        y_title="Speed-up of decode (×)",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, top * 1.08),
        margin={"l": 48, "r": theme.MARGIN_END_LABELS},
        notes=[*notes, region_word("over", 0.0, "drafting loses", name="loses word")],
        shapes=[limit_line(1.0, axis="y"), region("over", 0.0, 1.0, axis="y")],
    )
    return theme.figure(data, layout)


def _ends(ends: list[tuple[float, int, bool]], top: float) -> list[Spec]:
    notes = []
    floor = -np.inf
    for value, k, now in sorted(ends):
        place = max(value, floor)
        floor = place + 0.055 * top
        notes.append(end_label(1.0, place, f"{k} drafted", bold=now))
    return notes


def by_length(curves: SpeculationCurves, found: Speculation) -> theme.Figure:
    """Speed-up and expected tokens against draft length, the best marked."""
    best = found.best_draft_tokens
    data = [
        line(curves.lengths, curves.expected, width=1.25, dash="2px,3px"),
        line(
            curves.lengths,
            curves.by_length,
            "estimate",
            **told("estimate", "%{x:.0f} drafted", "about %{y:.3~r}×"),
        ),
        points(
            [best],
            [float(curves.by_length[best])],
            "estimate",
            now=True,
            hover=[f"<b>best, estimate</b><br>{best} tokens, about {n.factor(found.best_speedup)}"],
        ),
    ]
    last = float(curves.lengths[-1])
    layout = base_layout(
        x_title="Draft length (tokens)",
        y_title="Speed-up (×)",
        x_limits=(0.0, last),
        y_limits=(0.0, float(curves.expected[-1]) * 1.1),
        height=theme.HEIGHT_SIDE,
        margin={"l": 40, "r": 118},
        notes=[
            end_label(last, float(curves.expected[-1]), "tokens a pass"),
            end_label(last, float(curves.by_length[-1]), "speed-up", bold=True),
            note(best, float(curves.by_length[best]), f"best {best}", at="center", up="top", dy=-8),
        ],
        shapes=[limit_line(1.0, axis="y")],
    )
    return theme.figure(data, layout)


def by_batch(curves: SpeculationCurves, now: int, speedup: float, most: float | None) -> theme.Figure:
    """Speed-up against the sequences that are drafted for at once; dotted where memory holds no more."""
    shapes = [limit_line(1.0, axis="y")]
    notes = [note(float(now), speedup, "<b>now</b>", at="left", up="bottom", dx=10, dy=4)]
    if most is not None and 1 <= most < float(curves.batch[-1]):
        shapes.append(limit_line(most))
        notes.append(note(most, 1, f"{n.count(most)} fit", at="right", up="top", yref="y domain", dx=-6))
    layout = base_layout(
        x_title="Sequences at once",
        y_title="Speed-up (×)",
        x_scale="log",
        x_limits=(1.0, float(curves.batch[-1])),
        y_limits=(0.0, max(float(curves.by_batch.max()), 1.0) * 1.2),
        height=theme.HEIGHT_SIDE,
        margin={"l": 40, "r": 16},
        notes=notes,
        shapes=shapes,
    )
    at = points(
        [float(now)],
        [speedup],
        "estimate",
        now=True,
        hover=[f"<b>now, estimate</b><br>about {n.factor(speedup)}"],
    )
    return theme.figure(
        [
            line(
                curves.batch,
                curves.by_batch,
                "estimate",
                **told("estimate", "%{x:,.3~r} sequences", "about %{y:.3~r}×"),
            ),
            at,
        ],
        layout,
    )
