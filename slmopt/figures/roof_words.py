"""The words on the roofline of one scenario, placed so that none covers another, for wide screens and for phones."""

from __future__ import annotations

from typing import Literal

from slmopt.figures.marks import note, region_word
from slmopt.figures.placing import both
from slmopt.figures.roof_frame import Frame, known
from slmopt.figures.roof_point_words import point_words
from slmopt.figures.room import Place, Room
from slmopt.figures.theme import Spec
from slmopt.theory.roofline_points import RooflineView
from slmopt.words import numbers as n
from slmopt.words.roofline import crossing_words, rate_name

_SIDES: tuple[tuple[Literal["left", "right"], int], ...] = (("left", 7), ("right", -7))


def words(view: RooflineView, drawn: Frame) -> tuple[list[Spec], Spec]:
    """All notes, and what a phone shows of them: each place has a set of its own."""
    return both(lambda narrow: _placed(view, drawn, narrow))


def _placed(view: RooflineView, drawn: Frame, narrow: bool) -> list[Spec]:
    room = Room(*drawn.axes(phone=narrow))
    _obstacles(view, drawn, room)
    found = [_unknown(room, narrow)] if not view.known else _region_words(view, drawn, room, narrow)
    found += point_words(view, drawn, room, narrow)
    if view.known:
        found.append(_ridge_word(view, room, narrow))
    if drawn.shows_limit(view):
        found.append(_limit_word(view, room, narrow))
    if not narrow:
        found.append(_band_word(view, drawn, room))
    return [*found, *_peak_words(view, drawn, room, narrow), *_bandwidth_word(view, drawn, room)]


def _obstacles(view: RooflineView, drawn: Frame, room: Room) -> None:
    """What stands below the roof, and the roof itself."""
    scale = drawn.scale
    end = view.roof.ridge if view.known else drawn.x[1]
    x = [drawn.x[0], end, drawn.x[1]] if view.known else [drawn.x[0], end]
    room.curve(x, [view.roof.attainable(value) / scale for value in x])
    if view.known:
        room.upright(view.roof.ridge, drawn.y[0], view.roof.peak / scale)
    if drawn.shows_limit(view):
        room.upright(view.limit, drawn.y[0], view.roof.attainable(view.limit) / scale)
    bands = [view.decode_band, *([view.prefill_band] if known(view.prefill_roof) else [])]
    for band in bands:
        room.upright(band.intensity, band.slow / scale, band.fast / scale)
        room.marker(band.intensity, band.typical / scale)
    for spot in (view.first, view.now, view.largest):
        if spot is not None:
            room.marker(spot.intensity, spot.flops_per_s / scale)


def _bandwidth_word(view: RooflineView, drawn: Frame, room: Room) -> list[Spec]:
    """The bandwidth above the slope, where it is free."""
    bandwidth = view.roof.bandwidth
    text = n.trimmed(n.bytes_per_s(bandwidth))
    end = room.x.px(view.roof.ridge if view.known else drawn.x[1])
    places = [room.x.value(end * share) for share in (0.68, 0.8, 0.55, 0.9, 0.42, 0.3)]
    return room.first_free(
        [(x, x * bandwidth / drawn.scale, text, Place("right", "middle", -7, 11)) for x in places]
    )


def _peak_words(view: RooflineView, drawn: Frame, room: Room, narrow: bool) -> list[Spec]:
    """Matrix rates below the flat parts, with their units where these differ; else the chip's other rates."""
    roofs = [r for r in (view.roof, view.prefill_roof) if known(r)]
    same = len(roofs) == 2 and roofs[0].peak == roofs[1].peak
    found: list[Spec] = []
    for roof in roofs[:1] if same else roofs:
        peak, text = roof.peak / drawn.scale, n.trimmed(n.flops_per_s(roof.peak))
        if not same:
            unit = view.evaluation.setup.decode if roof is view.roof else view.evaluation.setup.prefill
            text = f"{rate_name(unit.unit)}, {text}"
        found += room.first_free(
            [
                (drawn.x[1], peak, text, Place("right", "top", -6, -5)),
                (roof.ridge, peak, text, Place("left", "top", 10, -5)),
                (drawn.x[1], peak, text, Place("right", "bottom", -6, 5)),
                (drawn.x[1], peak, text, Place("right", "top", -6, -22)),
            ]
        )
    if view.known:
        return found
    for name, rate in brackets(view):
        text = rate_name(name) if narrow else f"{rate_name(name)}: {n.trimmed(n.flops_per_s(rate))}"
        places = [Place("right", "bottom", -4, 3), Place("right", "top", -4, -3)]
        found += room.first_free([(drawn.x[1], rate / drawn.scale, text, place) for place in places])
    return found


def brackets(view: RooflineView) -> list[tuple[str, float]]:
    """The lowest and the highest of the chip's other rates, where its own is unknown."""
    known_rates = view.evaluation.setup.decode.known
    return list(known_rates if len(known_rates) < 3 else (known_rates[0], known_rates[-1]))


def _region_words(view: RooflineView, drawn: Frame, room: Room, narrow: bool) -> list[Spec]:
    ridge = view.roof.ridge
    left = room.x.px(ridge)
    found = []
    if left > 70:
        text = "memory decides" if left > 130 else "memory"
        word = region_word("memory", drawn.x[0], text)
        if narrow:
            # On a phone the slope may pass low in the corner; up there nothing can be reached, so nothing is drawn.
            word |= {"y": 1, "yanchor": "top", "yshift": -4}
        corner = Place("left", "top", 8, -4) if narrow else Place("left", "bottom", 8, 2)
        room.taken.append(corner.box(0, room.y.length if narrow else 0, f"▲ {text}"))
        found.append(word)
    text = "compute decides" if room.x.length - left > 130 else "compute"
    room.taken.append(Place("left", "bottom", 8, 2).box(left, 0, f"▼ {text}"))
    return [*found, region_word("compute", ridge, text)]


def _ridge_word(view: RooflineView, room: Room, narrow: bool) -> Spec:
    ridge = view.roof.ridge
    text = f"ridge {n.figures(ridge)}"
    crossing = view.evaluation.ceiling.crossover.batch
    if crossing is not None and 1 < crossing < 1e6 and not narrow:
        text += f"<br>at {crossing_words(crossing)} sequences"
    # Beside the ridge's middle, or further down where an estimate stands there.
    heights = [room.y.value(room.y.length * share) for share in (0.5, 0.36, 0.22, 0.14, 0.62)]
    return room.least([(ridge, y, text, Place("left", "middle", 7, 0)) for y in heights])


def _unknown(room: Room, narrow: bool) -> Spec:
    text = "No matrix rate is known for this chip:<br>where the roof turns flat stays open."
    if narrow:
        text = "No matrix rate is known:<br>no flat part, no ridge"
    room.taken.append(Place("left", "top", 10, -8).box(0, room.y.length, text))
    return note(0, 1, text, xref="x domain", yref="y domain", up="top", dx=10, dy=-8)


def _limit_word(view: RooflineView, room: Room, narrow: bool) -> Spec:
    """The intensity that no batch passes, low beside its line: on its right, where no batch gets to, if there is room."""
    value = n.figures(view.limit)
    text = f"limit<br>{value}" if narrow else f"no batch<br>passes {value}"
    heights = [room.y.value(room.y.length * share) for share in (0.19, 0.13, 0.27, 0.35)]
    return room.least(
        [(view.limit, y, text, Place(at, "middle", dx, 0)) for at, dx in _SIDES for y in heights]
    )


def _band_word(view: RooflineView, drawn: Frame, room: Room) -> Spec:
    """The present estimate's band in figures, beside or below its mark."""
    band = view.decode_band
    text = n.span(n.figures(band.slow / drawn.scale, 2), n.figures(band.fast / drawn.scale, 2))
    middle = room.y.px(band.typical / drawn.scale)
    below = room.y.px(band.slow / drawn.scale) - middle - 4
    spots = [
        Place("left", "middle", 11, -4),
        Place("right", "top", 6, below),
        Place("left", "top", -6, below),
        Place("right", "middle", -11, -8),
        Place("center", "top", 0, below - 6),
    ]
    return room.place(band.intensity, band.typical / drawn.scale, text, spots)
