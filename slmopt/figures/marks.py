"""What figures are made of: lines, points, bands, bars, words and the common layout.

Every helper returns plain Plotly JSON, so that a figure is one call:
`theme.figure([line(x, y), points([x0], [y0])], base_layout(x_title=…, notes=[…], shapes=[…]))`.
Positions are data values, on log axes too: `base_layout` turns those of words into Plotly's log10.
"""

import html
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from slmopt.figures import theme
from slmopt.figures.theme import KINDS, KindName, Side, Spec

Anchor = Literal["left", "center", "right"]
Vertical = Literal["top", "middle", "bottom"]


def safe(text: str) -> str:
    """Text from a file for a figure: no tag, entity or template in it takes effect."""
    return html.escape(text, quote=False).replace("%{", "%\u2060{")


def line(
    x: ArrayLike,
    y: ArrayLike,
    kind: KindName = "ceiling",
    *,
    colour: str | None = None,
    width: float | None = None,
    dash: str | None = None,
    **more: Any,
) -> Spec:
    """A line of one kind of number; `width` in px. Measured numbers are points, never a bare line."""
    look = KINDS[kind]
    stroke = {
        "color": colour or look.colour,
        "width": look.width if width is None else width,
        "dash": dash or look.dash,
    }
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": stroke, "hoverinfo": "skip", **more}


def told(kind: str, x: str, y: str) -> Spec:
    """What a pointer over a line reads; `x` and `y` are d3 templates such as "%{x:,.3~r} tokens".

    `line(x, y, **told("ceiling", "%{x:,.3~r} tokens", "at least %{y:,.3~r} ms"))`
    """
    return {"hoverinfo": "all", "hovertemplate": f"<b>{kind}</b><br>{x}<br>{y}<extra></extra>"}


def points(
    x: ArrayLike,
    y: ArrayLike,
    kind: KindName = "ceiling",
    *,
    now: bool = False,
    size: float | None = None,
    colour: str | None = None,
    hover: str | Sequence[str] | None = None,
    **more: Any,
) -> Spec:
    """Markers of one kind; `now` makes them larger, `hover` is what a pointer over them reads.

    Open markers are filled with the page, so that lines end at their edge.
    """
    look = KINDS[kind]
    stroke = colour or look.colour
    diameter = size or (theme.NOW_SIZE if now else look.size)
    filled = kind == "measured"
    marker = {
        "symbol": look.symbol,
        "size": diameter,
        "color": stroke if filled else theme.PAGE,
        "line": {"color": stroke, "width": 0 if filled else 2.5 if now else 2},
    }
    told = {"hoverinfo": "skip"} if hover is None else {"hovertemplate": "%{hovertext}<extra></extra>"}
    text = {} if hover is None else {"hovertext": hover}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": marker,
        "cliponaxis": False,
        **told,
        **text,
        **more,
    }


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, **more: Any) -> list[Spec]:
    """The estimate: the area between its p10 and its p90, two traces."""
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip"}
    fill = {"fill": "tonexty", "fillcolor": theme.tint(theme.ESTIMATE, theme.BAND_OPACITY)}
    return [{**edge, "y": low, **more}, {**edge, "y": high, **fill, **more}]


def span(position: float, low: float, high: float, *, upright: bool = True, **more: Any) -> Spec:
    """An estimate's band at one place: a short dashed line from p10 to p90."""
    along, across = [low, high], [position, position]
    x, y = (across, along) if upright else (along, across)
    return line(x, y, "estimate", **more)


def bar(
    length: ArrayLike,
    label: ArrayLike,
    side: Side,
    *,
    hatched: bool = True,
    base: ArrayLike | None = None,
    width: float = 0.55,
    outline: bool = False,
    **more: Any,
) -> Spec:
    """Horizontal bars of the memory or the compute side; `outline` draws free room instead."""
    colour = theme.SIDE_COLOUR[side]
    marker: Spec = {"color": theme.PAGE if outline else colour, "line": {"width": 0}}
    if outline:
        marker["line"] = {"color": colour, "width": 1.5}
    elif hatched:
        marker["pattern"] = {
            "shape": theme.SIDE_HATCH[side],
            "size": theme.HATCH_SIZE,
            "solidity": theme.HATCH_SOLIDITY,
            "fgcolor": theme.PAGE,
            "fgopacity": theme.HATCH_OPACITY,
            "fillmode": "overlay",
        }
    start = {} if base is None else {"base": base}
    return {
        "type": "bar",
        "orientation": "h",
        "x": length,
        "y": label,
        "width": width,
        "marker": marker,
        "hoverinfo": "skip",
        **start,
        **more,
    }


def note(
    x: float | str,
    y: float | str,
    text: str,
    *,
    at: Anchor = "left",
    up: Vertical = "middle",
    dx: float = 0,
    dy: float = 0,
    **more: Any,
) -> Spec:
    """Words at a place in the plot, in ink; `dx`, `dy` in px, right and up.

    `name=` lets a phone override find them again.
    """
    place = {"x": x, "y": y, "xanchor": at, "yanchor": up, "xshift": dx, "yshift": dy}
    return {"text": text, "showarrow": False, "align": at, **place, **more}


def end_label(x: float, y: float, text: str, *, bold: bool = False, **more: Any) -> Spec:
    """A line's name at its right end, instead of a legend. Needs `theme.MARGIN_END_LABELS`."""
    return note(x, y, f"<b>{text}</b>" if bold else text, dx=10, **more)


def region(side: Side, x0: float, x1: float, *, axis: Literal["x", "y"] = "x", **more: Any) -> Spec:
    """The area in which one side decides, tinted."""
    across = {"x": "y", "y": "x"}[axis]
    ends = {
        f"{axis}0": x0,
        f"{axis}1": x1,
        f"{across}0": 0,
        f"{across}1": 1,
        f"{across}ref": f"{across} domain",
    }
    look = {"fillcolor": theme.SIDE_COLOUR[side], "opacity": theme.TINT[side], "line": {"width": 0}}
    return {"type": "rect", "layer": "below", "name": f"{side} region", **ends, **look, **more}


def region_word(side: Side, x: float, text: str | None = None, *, at: Anchor = "left", **more: Any) -> Spec:
    """Which side decides, along the bottom of its region, beginning (or ending) at `x`."""
    words = text or {"memory": "memory decides", "compute": "compute decides", "over": "over capacity"}[side]
    dx = {"left": 8, "center": 0, "right": -8}[at]
    here = {"yref": "y domain", "name": f"{side} word", "up": "bottom", "dx": dx, "dy": 2, "at": at, **more}
    return note(x, 0, f"{theme.SIDE_MARK[side]} {words}", **here)


def limit_line(
    value: float,
    *,
    axis: Literal["x", "y"] = "x",
    start: float | None = None,
    end: float | None = None,
    **more: Any,
) -> Spec:
    """A dotted line at a limit; it crosses the whole plot unless `start` and `end` say how far."""
    across = {"x": "y", "y": "x"}[axis]
    whole = start is None and end is None
    reach = {f"{across}ref": f"{across} domain"} if whole else {}
    ends = {
        f"{across}0": 0 if start is None else start,
        f"{across}1": 1 if end is None else end,
        f"{axis}0": value,
        f"{axis}1": value,
    }
    look = {"color": theme.INK, "width": 1.5, "dash": "2px,3px"}
    return {"type": "line", "layer": "below", "line": look, **ends, **reach, **more}
