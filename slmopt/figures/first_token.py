"""Figures of the First token page: TTFT against prompt and against what is cached; the stall of those who decode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import band, bar, end_label, limit_line, line, note, points, told
from slmopt.figures.named import Named, stroke, together
from slmopt.figures.theme import Spec
from slmopt.theory.first_token import PromptCurve
from slmopt.theory.interference import Interference
from slmopt.words import numbers as n


def against_prompt(
    curves: Sequence[Named[PromptCurve]], now: tuple[float, float], target_s: float | None
) -> theme.Figure:
    """TTFT (ms) against prompt length, both logarithmic: ceiling, band, target, and where the scenario stands."""
    data: list[Spec] = []
    notes: list[Spec] = []
    shapes: list[Spec] = []
    for at, one in enumerate(curves):
        c = one.result
        colour = theme.SCENARIOS[at % 4] if len(curves) > 1 else None
        tokens = "%{x:,.3~r} tokens"
        if at == 0:
            # Bands of several scenarios would hide one another.
            data += band(c.x, c.estimate["fast"] * 1e3, c.estimate["slow"] * 1e3)
            guess = told("estimate, typical", tokens, "about %{y:,.2~r} ms")
            data.append(line(c.x, c.estimate["typical"] * 1e3, "estimate", **guess))
        bound = told("ceiling", tokens, "at least %{y:,.3~r} ms")
        width = stroke(at) if len(curves) > 1 else None
        data.append(line(c.x, c.ceiling * 1e3, "ceiling", colour=colour, width=width, **bound))
    if len(curves) > 1:
        ends = [float(one.result.ceiling[-1]) * 1e3 for one in curves]
        for words, at in together([one.name for one in curves], ends):
            notes.append(end_label(float(curves[at].result.x[-1]), ends[at], words))
    first = curves[0].result
    low = float(first.ceiling.min()) * 1e3
    high = float(first.estimate["slow"].max()) * 1e3
    hover = f"<b>now, ceiling</b><br>{now[0]:,.0f} tokens<br>at least {n.seconds(now[1])}"
    data.append(points([now[0]], [now[1] * 1e3], now=True, hover=[hover]))
    notes.append(
        note(
            now[0],
            now[1] * 1e3,
            f"<b>now</b> ≥{n.NBSP}{n.seconds(now[1])}",
            at="left",
            up="top",
            dx=10,
            dy=-4,
        )
    )
    turn = first.compute_from
    if turn is not None and first.x[0] < turn < first.x[-1]:
        shapes.append(limit_line(turn, name="turn"))
        notes.append(
            note(
                turn,
                0.02,
                f"▼ compute decides from {turn:,.0f}",
                at="left",
                up="bottom",
                yref="y domain",
                dx=6,
                name="compute word",
            )
        )
    if target_s is not None:
        shapes.append(limit_line(target_s * 1e3, axis="y"))
        notes.append(
            note(
                float(first.x[0]),
                target_s * 1e3,
                f"target {n.trimmed(n.seconds(target_s))}",
                up="bottom",
                dx=6,
                dy=2,
            )
        )
        low, high = min(low, target_s * 1e3), max(high, target_s * 1e3)
    layout = base_layout(
        x_title="Prompt (tokens)",
        y_title="First token (ms)",
        x_scale="log",
        y_scale="log",
        x_limits=(float(first.x[0]), float(first.x[-1])),
        y_limits=(10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high))),
        margin={"l": 62, "r": theme.MARGIN_END_LABELS if len(curves) > 1 else 16},
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)


def against_hit(curve: PromptCurve, now: tuple[float, float]) -> theme.Figure:
    """TTFT against the prompt tokens that are cached: ceiling and band, linear from zero."""
    scale, unit = n.time_scale(float(curve.estimate["slow"].max()))
    data = [
        *band(curve.x, curve.estimate["fast"] / scale, curve.estimate["slow"] / scale),
        line(
            curve.x,
            curve.estimate["typical"] / scale,
            "estimate",
            **told("estimate, typical", "%{x:,.0f} cached", f"about %{{y:,.2~r}} {unit}"),
        ),
        line(
            curve.x,
            curve.ceiling / scale,
            **told("ceiling", "%{x:,.0f} cached", f"at least %{{y:,.3~r}} {unit}"),
        ),
        points(
            [now[0]],
            [now[1] / scale],
            now=True,
            hover=[f"<b>now</b><br>{now[0]:,.0f} cached<br>at least {n.seconds(now[1])}"],
        ),
    ]
    layout = base_layout(
        x_title="Prompt tokens cached",
        y_title=f"First token ({unit})",
        x_limits=(0, float(curve.x[-1]) * 1.02),
        y_limits=(0, float(curve.estimate["slow"].max()) / scale * 1.1),
        height=theme.HEIGHT_SIDE,
        margin={"l": 54, "r": 16},
        notes=[note(now[0], now[1] / scale, "<b>now</b>", at="left", up="bottom", dx=10, dy=4)],
    )
    return theme.figure(data, layout)


def gaps(rows: Sequence[tuple[str, Interference]], step_s: float) -> theme.Figure:
    """The longest gap between tokens of those who decode, and the newcomer's first token, for each way to feed a prompt."""
    worst = max(one.gap_s for _, one in rows)
    scale, unit = n.time_scale(worst)
    places = list(range(len(rows)))
    notes = [
        note(
            one.gap_s / scale,
            at,
            f"<b>≥{n.NBSP}{n.seconds(one.gap_s)}</b>, first token ≥{n.NBSP}{n.seconds(one.ttft_s)}",
            at="left",
            dx=8,
            name=f"gap {at}",
        )
        for at, (_, one) in enumerate(rows)
    ]
    notes.append(note(step_s / scale, 1, "a step alone", at="left", up="bottom", yref="paper", dy=2))
    layout = base_layout(
        x_title=f"Longest gap between tokens ({unit})",
        x_limits=(0, worst / scale * 2.0),
        y_limits=(len(rows) - 0.4, -0.6),
        y_axis={
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [name for name, _ in rows],
            "showgrid": False,
        },
        height=theme.HEIGHT_SIDE,
        margin={"l": 112, "r": 8, "t": 20, "b": 46},
        notes=notes,
        shapes=[limit_line(step_s / scale)],
        phone={
            f"annotations[gap {at}].text": f"<b>≥{n.NBSP}{n.seconds(one.gap_s)}</b>"
            for at, (_, one) in enumerate(rows)
        },
    )
    return theme.figure([bar([one.gap_s / scale for _, one in rows], places, "compute")], layout)
