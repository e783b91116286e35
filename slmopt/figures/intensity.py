"""The Roofline's second figure: decode's intensity against the batch, and the ridge that it may or may not reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import end_label, limit_line, line, points
from slmopt.figures.named import Named
from slmopt.figures.placing import (
    Scale,
    apart,
    both,
    decade_below,
    plot_height,
    plot_width,
    stop_above,
    stop_below,
)
from slmopt.figures.room import Place, Room
from slmopt.figures.theme import Spec
from slmopt.theory.roofline_points import IntensityCurve, RooflineView
from slmopt.words import numbers as n

_MARGIN = {"r": theme.MARGIN_END_LABELS, "l": 52, "t": 30, "b": 50}
_PHONE_MARGIN = {**_MARGIN, "l": 44, "r": 84}
# Batches begin a little left of 1, so that its marker stays clear of the axis.
_FIRST_BATCH = 0.93
_VEIL = theme.tint(theme.PAGE, 0.75)


@dataclass(frozen=True, slots=True)
class _Line:
    """A curve with its name at the end, in full and for a phone, and a hue where there are several scenarios."""

    curve: IntensityCurve
    name: str
    short: str
    hue: str | None

    @property
    def last(self) -> float:
        """Its intensity at the largest batch shown."""
        return float(self.curve.intensity[-1])


def intensities(results: Sequence[Named[RooflineView]]) -> theme.Figure:
    """Intensity (FLOP/byte) against the batch: a line for each context, or one a scenario where there are several."""
    views = [result.result for result in results]
    lines = _lines(results)
    top = max(float(drawn.curve.batch[-1]) for drawn in lines)
    y = _limits(views, lines)
    data: list[Spec] = [
        line(d.curve.batch, d.curve.intensity, colour=d.hue, width=3 if d.curve.present else 1.5, name=d.name)
        for d in lines
    ]
    data += [_now(result, _hue(results, index)) for index, result in enumerate(results)]
    notes, phone = both(lambda narrow: _words(results, lines, (_FIRST_BATCH, top), y, narrow))
    layout = base_layout(
        x_title="Sequences at once",
        y_title="Intensity (FLOP/byte)",
        x_scale="log",
        y_scale="log",
        x_limits=(_FIRST_BATCH, top),
        y_limits=y,
        height=theme.HEIGHT_SIDE,
        margin=_MARGIN,
        notes=notes,
        shapes=[limit_line(view.roof.ridge, axis="y", name="ridge") for view in views if view.known],
        phone=phone,
    )
    return theme.figure(data, layout)


def _hue(results: Sequence[Named[RooflineView]], index: int) -> str | None:
    return None if len(results) == 1 else theme.SCENARIOS[index % len(theme.SCENARIOS)]


def _lines(results: Sequence[Named[RooflineView]]) -> list[_Line]:
    if len(results) == 1:
        return [_Line(curve, _context(curve), _short(curve), None) for curve in results[0].result.curves]
    return [
        _Line(curve, result.name, result.name, _hue(results, index))
        for index, result in enumerate(results)
        for curve in result.result.curves
        if curve.present
    ]


def _context(curve: IntensityCurve) -> str:
    if not curve.context:
        return "no cache read"
    return f"{curve.context:,} token{'' if curve.context == 1 else 's'}"


def _short(curve: IntensityCurve) -> str:
    name = _context(curve)
    return "no cache" if not curve.context else name if len(name) < 12 else f"{curve.context:,}"


def _limits(views: Sequence[RooflineView], lines: Sequence[_Line]) -> tuple[float, float]:
    """Round limits around every line and ridge, a decade apart at the least."""
    low = min([float(drawn.curve.intensity[0]) for drawn in lines] + [v.roof.ridge for v in views if v.known])
    high = max([drawn.last for drawn in lines] + [1.8 * v.roof.ridge for v in views if v.known])
    top = stop_above(high * 1.2)
    return min(stop_below(low / 1.4), decade_below(top / 10.5)), top


def _now(result: Named[RooflineView], hue: str | None) -> Spec:
    view = result.result
    depth = view.evaluation.setup.scenario.depth
    name = f"{result.name}, decode" if result.name else "Decode"
    hover = (
        f"<b>{name}, {view.now.batch:,} sequence{'' if view.now.batch == 1 else 's'} at {depth:,} tokens, ceiling</b>"
        f"<br>{n.figures(view.now.intensity)} FLOP/byte"
    )
    at = ([view.now.batch], [view.now.intensity])
    return points(*at, "ceiling", now=True, colour=hue, hover=[hover], name=f"{name} now")


def _words(
    results: Sequence[Named[RooflineView]],
    lines: Sequence[_Line],
    x: tuple[float, float],
    y: tuple[float, float],
    narrow: bool,
) -> list[Spec]:
    margin = _PHONE_MARGIN if narrow else _MARGIN
    room = Room(
        Scale(*x, plot_width(margin, phone=narrow)),
        Scale(*y, plot_height(theme.HEIGHT_PHONE if narrow else theme.HEIGHT_SIDE, margin)),
    )
    for drawn in lines:
        room.curve(drawn.curve.batch, drawn.curve.intensity)
    shifts = apart([room.y.px(drawn.last) for drawn in lines])
    found = [
        end_label(x[1], d.last, d.short if narrow else d.name, bold=d.curve.present, dy=shift)
        for d, shift in zip(lines, shifts, strict=True)
    ]
    for result in results:
        view = result.result
        room.marker(view.now.batch, view.now.intensity)
        if view.known:
            room.level(view.roof.ridge, *x)
    found += [_ridge_word(result, room, x) for result in results if result.result.known]
    return [*found, _now_word(results[0].result, room)] if len(results) == 1 else found


def _ridge_word(result: Named[RooflineView], room: Room, x: tuple[float, float]) -> Spec:
    """Above its line at the left, or at another end where curves run there."""
    ridge = result.result.roof.ridge
    text = f"ridge {n.figures(ridge)}" + (f", {result.name}" if result.name else "")
    ends = (
        Place("left", "bottom", 8, 3),
        Place("right", "bottom", -8, 3),
        Place("left", "top", 8, -3),
        Place("right", "top", -8, -3),
    )
    up = room.y.px(ridge)
    costs = [room.cost(place.box(room.x.px(x[place.at == "right"]), up, text)) for place in ends]
    best = ends[costs.index(min(costs))]
    return room.place(x[best.at == "right"], ridge, text, [best], bgcolor=_VEIL)


def _now_word(view: RooflineView, room: Room) -> Spec:
    text = f"<b>{view.now.batch:,} now</b>, {n.figures(view.now.intensity)}"
    places = (
        Place("center", "top", 0, -10),
        Place("left", "top", 10, -6),
        Place("left", "middle", 13, -4),
        Place("right", "bottom", -6, 8),
        Place("center", "bottom", 0, 11),
        Place("left", "top", 10, -20),
        Place("right", "bottom", -4, 24),
    )
    return room.place(view.now.batch, view.now.intensity, text, places, bgcolor=_VEIL)
