"""A figure's frame: axes, margins, titles, and words placed on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from slmopt.figures import theme
from slmopt.figures.marks import note
from slmopt.figures.theme import Spec

Scale = Literal["linear", "log", "category"]


def title_above(text: str, left: float = theme.MARGIN["l"]) -> Spec:
    """The y axis's "Quantity (unit)": lying, above the axis, flush with the figure's title."""
    return note(0, 1, text, xref="paper", yref="paper", up="bottom", dx=-left, dy=8, name="y title")


def axis(
    title: str | None,
    scale: Scale = "linear",
    limits: tuple[float, float] | None = None,
    *,
    grid: bool = False,
    **more: Any,
) -> Spec:
    """An axis; log axes tick at decades. `limits` are data values on log axes too."""
    spec: Spec = {
        "type": scale,
        "showgrid": grid,
        "gridcolor": theme.LINES,
        "zeroline": False,
        "automargin": False,
        "tickfont": {"size": theme.TICK_PX},
        # Room between labels and plot, without a visible tick.
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "rgba(0,0,0,0)",
    }
    if title:
        spec["title"] = {"text": title, "font": {"size": theme.TEXT_PX}, "standoff": 6}
    if scale == "log":
        spec |= {"dtick": 1, "tickformat": ",~f"}
    elif scale == "linear":
        spec["tickformat"] = ",~f"
    if limits is not None:
        spec["range"] = [math.log10(v) for v in limits] if scale == "log" else list(limits)
    return {**spec, **more}


def base_layout(
    *,
    x_title: str | None = None,
    y_title: str | None = None,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    x_limits: tuple[float, float] | None = None,
    y_limits: tuple[float, float] | None = None,
    x_axis: Spec | None = None,
    y_axis: Spec | None = None,
    height: int = theme.HEIGHT_MAIN,
    margin: Spec | None = None,
    notes: Sequence[Spec] = (),
    shapes: Sequence[Spec] = (),
    phone: Spec | None = None,
    **more: Any,
) -> Spec:
    """The layout that all figures share: no legend, horizontal grid, decades, ink, fixed margins.

    `x_axis`, `y_axis` and `margin` add to or replace single properties. `phone` maps dotted paths to values
    for narrow screens: {"margin.r": 8, "annotations[ridge].text": "ridge", "data[band].visible": False};
    notes, shapes and traces are found by `name` or by index, and "annotations[wide *].visible" is of all so named.
    """
    edges = {**theme.MARGIN, **({} if y_title else {"t": theme.MARGIN_BARE}), **(margin or {})}
    scales: dict[str, Scale] = {"x": x_scale, "y": y_scale}
    words = [_on_log(word, scales) for word in notes]
    if y_title:
        words.append(title_above(y_title, edges["l"]))
    return {
        "height": height,
        "margin": {**edges, "pad": 0, "autoexpand": False},
        "xaxis": axis(x_title, x_scale, x_limits, **(x_axis or {})),
        "yaxis": axis(None, y_scale, y_limits, **{"grid": True, **(y_axis or {})}),
        "annotations": words,
        "shapes": list(shapes),
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": theme.PAGE,
            "bordercolor": theme.LINES,
            "align": "left",
            "font": {"family": theme.FONT, "size": theme.TEXT_PX, "color": theme.INK},
        },
        # Words, ticks and axis titles inherit it.
        "font": {"family": theme.FONT, "size": theme.TEXT_PX, "color": theme.INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "bargap": 0.4,
        "barmode": "stack",
        # Not None, or Plotly adds its own template to the message.
        "template": {},
        "meta": {"phone": phone or {}},
        **more,
    }


def _on_log(word: Spec, scales: dict[str, Scale]) -> Spec:
    """The note with log10 of its position on each log axis, as Plotly wants it of notes, and only of them."""
    placed = dict(word)
    for name, scale in scales.items():
        # Notes tied to the paper, to a domain or to a further axis keep their numbers.
        if scale == "log" and f"{name}ref" not in word:
            placed[name] = math.log10(word[name])
    return placed
