"""Figure of partial offload: decode speed against layers on the card."""

from __future__ import annotations

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import band, limit_line, line, note, points, told
from slmopt.figures.theme import Spec
from slmopt.theory.offload_curve import LayersCurve
from slmopt.words import numbers as n


def against_layers(curve: LayersCurve) -> theme.Figure:
    """tokens/s of all sequences against layers on the card: ceiling, band, how many fit, and where the scenario stands."""
    count = "%{x:,.0f} layers on the card"
    data: list[Spec] = [
        *band(curve.layers, curve.estimate["slow"], curve.estimate["fast"]),
        line(
            curve.layers,
            curve.estimate["typical"],
            "estimate",
            **told("estimate, typical", count, "about %{y:,.2~r} tokens/s"),
        ),
        line(curve.layers, curve.ceiling, "ceiling", **told("ceiling", count, "at most %{y:,.3~r} tokens/s")),
    ]
    notes: list[Spec] = []
    shapes: list[Spec] = []
    if curve.fit is not None:
        shapes.append(limit_line(float(curve.fit)))
        left = curve.fit > curve.whole / 2
        word = f"{curve.fit:,} fit"
        notes.append(
            note(
                curve.fit,
                1,
                word,
                at="right" if left else "left",
                up="top",
                yref="y domain",
                dx=-6 if left else 6,
            )
        )
    if curve.now is not None:
        speed = curve.speed(curve.now)
        hover = f"<b>now, ceiling</b><br>{curve.now:,} layers on the card<br>at most {n.tokens_per_s(speed)}"
        data.append(points([curve.now], [speed], now=True, hover=[hover]))
        right = curve.now < curve.whole / 2
        notes.append(
            note(
                curve.now,
                speed,
                f"<b>now</b> ≤{n.NBSP}{n.figures(speed)}",
                at="left" if right else "right",
                up="bottom",
                dx=8 if right else -8,
                dy=6,
            )
        )
    top = float(curve.ceiling.max())
    layout = base_layout(
        x_title="Layers on the card",
        y_title="Decode (tokens/s)",
        x_limits=(0.0, float(curve.whole)),
        y_limits=(0.0, 1.15 * top),
        height=theme.HEIGHT_SIDE,
        margin={"l": 62, "r": 16},
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)
