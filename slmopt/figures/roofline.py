"""The Roofline's main figure: the roof, the path of the batch along it, and the points under it."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, line, note, points, region
from slmopt.figures.named import Named, stroke, together
from slmopt.figures.roof_frame import Frame, decode_spots, frame, known
from slmopt.figures.roof_words import brackets, words
from slmopt.figures.theme import Spec
from slmopt.theory.roof import Roof
from slmopt.theory.roofline_points import Band, MeasuredPoint, RooflineView, Spot
from slmopt.words import numbers as n

_PATH_PX = 11
_PATH_OPACITY = 0.16
_CURVE_MARGIN = {"r": theme.MARGIN_END_LABELS, "l": 48, "t": 30, "b": 50}


def roof(results: Sequence[Named[RooflineView]], measured: Sequence[MeasuredPoint] = ()) -> theme.Figure:
    """Rate against intensity: the roof, the path that a growing batch takes along it, decode and prefill.

    One scenario has the sides' colours and every word; several have a hue and a letter each.
    """
    views = [result.result for result in results]
    drawn = frame(views, measured)
    if len(results) == 1:
        path = [] if views[0].fits_none else _path(views[0], drawn)
        data = [*path, *_roof_lines(views[0], drawn), *_spots(views[0], drawn)]
        notes, phone = words(views[0], drawn)
        shapes = _limits(views[0], drawn)
    else:
        data, notes, phone, shapes = [], [], {}, []
        for index, result in enumerate(results):
            hue = theme.SCENARIOS[index % len(theme.SCENARIOS)]
            data += _overlaid(result, drawn, hue, stroke(index))
        notes = _letters(results, drawn)
    if measured:
        data.append(_measured(measured, drawn))
    layout = base_layout(
        x_title="Arithmetic intensity (FLOP/byte)",
        y_title=f"Rate ({drawn.unit})",
        x_scale="log",
        y_scale="log",
        x_limits=drawn.x,
        y_limits=drawn.y,
        margin=drawn.margin,
        notes=notes,
        shapes=shapes,
        phone={**phone, "margin.l": drawn.margin["l"]},
    )
    return theme.figure(data, layout)


def _path(view: RooflineView, drawn: Frame) -> list[Spec]:
    """A pale trail under the roof from one sequence to the most that fit; its batches can be read by a pointer."""
    path = view.path
    rate = path.flops_per_s / drawn.scale
    trail = line(
        path.intensity,
        rate,
        colour=theme.tint(theme.INK, _PATH_OPACITY),
        width=_PATH_PX,
        name="path of the batch",
    )
    read = {
        "type": "scatter",
        "mode": "markers",
        "x": path.intensity,
        "y": rate,
        "marker": {"size": _PATH_PX, "color": "rgba(0,0,0,0)"},
        "customdata": path.batch,
        "hovertemplate": (
            f"<b>%{{customdata:,d}} sequences, ceiling</b><br>%{{x:,.3~r}} FLOP/byte<br>at most %{{y:,.3~r}} {drawn.unit}"
            "<extra></extra>"
        ),
        "name": "batches",
    }
    return [trail, read]


def _roof_lines(view: RooflineView, drawn: Frame) -> list[Spec]:
    """The slope in the memory colour, each flat part in the compute colour."""
    flats = _flats(view)
    end = max([r.ridge for r in flats], default=drawn.x[1])
    if not view.known and view.other_ridges:
        # As far as any rate of the chip's, or any point, reaches.
        reached = [view.other_ridges[-1], *(spot.intensity for spot in decode_spots(view))]
        end = max(*reached, end if flats else 0.0)
    bandwidth = view.roof.bandwidth / drawn.scale
    lines = [
        line(
            [drawn.x[0], end],
            [drawn.x[0] * bandwidth, end * bandwidth],
            colour=theme.MEMORY,
            name="bandwidth roof",
        )
    ]
    for index, flat in enumerate(flats):
        peak = flat.peak / drawn.scale
        # A unit that serves prefill alone has a roof of its own, drawn thinner.
        width = 3 if index == 0 and known(view.roof) else 2
        lines.append(
            line(
                [flat.ridge, drawn.x[1]], [peak, peak], colour=theme.COMPUTE, width=width, name="compute roof"
            )
        )
    return lines


def _flats(view: RooflineView) -> list[Roof]:
    flats = [r for r in (view.roof, view.prefill_roof) if known(r)]
    return flats[:1] if len(flats) == 2 and flats[0].peak == flats[1].peak else flats


def _spots(view: RooflineView, drawn: Frame) -> list[Spec]:
    data: list[Spec] = []
    others = [
        spot for spot in (view.first, view.largest) if spot is not None and spot.batch != view.now.batch
    ]
    data += [_square(spot, drawn, _decode_hover(view, spot)) for spot in others]
    data += _estimate(view.decode_band, drawn, f"Decode, {_sequences(view.now.batch)}")
    if known(view.prefill_roof):
        data += _estimate(view.prefill_band, drawn, "Prefill")
        data.append(_square(view.prefill, drawn, _hover(view.prefill, "Prefill")))
    return [*data, _square(view.now, drawn, _decode_hover(view, view.now), now=True)]


def _square(spot: Spot, drawn: Frame, hover: str, *, now: bool = False, colour: str | None = None) -> Spec:
    return points(
        [spot.intensity], [spot.flops_per_s / drawn.scale], "ceiling", now=now, colour=colour, hover=[hover]
    )


def _estimate(band: Band, drawn: Frame, name: str, colour: str | None = None) -> list[Spec]:
    low, middle, high = (value / drawn.scale for value in (band.slow, band.typical, band.fast))
    hover = (
        f"<b>{name}, estimate</b><br>{n.figures(band.intensity, 2)} FLOP/byte"
        f"<br>about {n.flops_per_s(band.slow, 2)} to {n.flops_per_s(band.fast, 2)}"
    )
    x = [band.intensity, band.intensity]
    return [
        line(x, [low, high], "estimate", colour=colour, name=f"{name}, estimated band"),
        points([band.intensity], [middle], "estimate", colour=colour, hover=[hover]),
    ]


def _decode_hover(view: RooflineView, spot: Spot) -> str:
    return _hover(
        spot, f"Decode, {_sequences(spot.batch)} at {view.evaluation.setup.scenario.depth:,} tokens"
    )


def _hover(spot: Spot, name: str) -> str:
    side = "side unknown: no matrix rate" if spot.bound is None else f"{spot.bound} decides"
    return (
        f"<b>{name}, ceiling</b><br>{n.figures(spot.intensity)} FLOP/byte"
        f"<br>at most {n.flops_per_s(spot.flops_per_s)}<br>{side}"
    )


def _sequences(batch: int) -> str:
    return f"{batch:,} sequence{'' if batch == 1 else 's'}"


def _limits(view: RooflineView, drawn: Frame) -> list[Spec]:
    """Region tints, the ridge, and the intensity that no batch passes where cache reads keep it short of the ridge."""
    shapes: list[Spec] = []
    if view.known:
        ridge = view.roof.ridge
        shapes += [region("memory", drawn.x[0], ridge), region("compute", ridge, drawn.x[1])]
        shapes.append(limit_line(ridge, start=drawn.y[0], end=view.roof.peak / drawn.scale, name="ridge"))
    elif view.other_ridges:
        # The chip's other rates bracket the unknown one: thin and dotted, since none of them is this roof.
        for name, rate in brackets(view):
            ridge = rate / view.roof.bandwidth
            shapes.append(limit_line(rate / drawn.scale, axis="y", start=ridge, end=drawn.x[1], name=name))
    if drawn.shows_limit(view):
        height = view.limit * view.roof.bandwidth / drawn.scale
        shapes.append(limit_line(view.limit, start=drawn.y[0], end=height, name="limit"))
    return shapes


def _measured(measured: Sequence[MeasuredPoint], drawn: Frame) -> Spec:
    hover = [
        f"<b>{p.label}, measured</b><br>{n.figures(p.intensity)} FLOP/byte<br>{n.flops_per_s(p.flops_per_s)}"
        for p in measured
    ]
    rates = [p.flops_per_s / drawn.scale for p in measured]
    return points([p.intensity for p in measured], rates, "measured", hover=hover, name="measured")


def _overlaid(result: Named[RooflineView], drawn: Frame, hue: str, width: float) -> list[Spec]:
    """One of several scenarios: its roof, path, present decode and prefill, all in its hue."""
    view = result.result
    x = [drawn.x[0], *([view.roof.ridge] if view.known else []), drawn.x[1]]
    y = [view.roof.attainable(value) / drawn.scale for value in x]
    data = [line(x, y, colour=hue, width=width, name=f"roof {result.name}")]
    data += _estimate(view.decode_band, drawn, f"Decode, {result.name}", hue)
    if known(view.prefill_roof):
        data.append(_square(view.prefill, drawn, _hover(view.prefill, f"Prefill, {result.name}"), colour=hue))
    hover = _hover(view.now, f"Decode, {result.name}, {_sequences(view.now.batch)}")
    return [*data, _square(view.now, drawn, hover, now=True, colour=hue)]


def _letters(results: Sequence[Named[RooflineView]], drawn: Frame) -> list[Spec]:
    """Names at the roofs' right ends; roofs that end together share one."""
    heights = [result.result.roof.attainable(drawn.x[1]) / drawn.scale for result in results]
    return [
        note(drawn.x[1], heights[at], f"<b>{words}</b>", at="right", up="bottom", dx=-4, dy=3)
        for words, at in together([result.name for result in results], heights)
    ]
