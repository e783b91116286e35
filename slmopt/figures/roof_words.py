"""The words on the roofline of one scenario, placed so that none covers another, for wide screens and for phones.

Above the slope and below the flat part nothing else is drawn: points are named upwards to the left, or from above where
they stand on the flat part; limits are named below the roof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slmopt.figures.marks import note, region_word
from slmopt.figures.placing import Place, Room, Scale, both, clusters, width
from slmopt.figures.roof_frame import Frame, known
from slmopt.figures.theme import Spec
from slmopt.theory.roofline_points import RooflineView
from slmopt.words import numbers as n
from slmopt.words.roofline import crossing_words, rate_name

# Labels up to the left of neighbouring points touch below this distance.
_SLOPE_GAP_PX = 40
_FLAT_PAD_PX = 14
_SIDES: tuple[tuple[Literal["left", "right"], int], ...] = (("left", 7), ("right", -7))


@dataclass(frozen=True, slots=True)
class _Item:
    """A point's name: alone, and beside a neighbour's."""

    intensity: float
    rate: float
    alone: str
    joined: str
    flat: bool


def words(view: RooflineView, drawn: Frame) -> tuple[list[Spec], Spec]:
    """All notes, and what a phone shows of them: each place has a set of its own."""
    return both(lambda narrow: _placed(view, drawn, narrow))


def _placed(view: RooflineView, drawn: Frame, narrow: bool) -> list[Spec]:
    x, y = drawn.axes(phone=narrow)
    items = _items(view, drawn, narrow)
    found = [*_point_words(items, x, y), *_roof_words(view, drawn, x, items)]
    room = Room(x, y)
    _obstacles(view, drawn, room)
    if view.known:
        found += [*_region_words(view, drawn, room, narrow), _ridge_word(view, drawn, room, narrow)]
    else:
        found += [_unknown(narrow), *_bracket_words(view, drawn)]
    if drawn.shows_limit(view):
        found.append(_limit_word(view, drawn, room, narrow))
    if not narrow:
        found.append(_band_word(view, drawn, room))
    return found


def _obstacles(view: RooflineView, drawn: Frame, room: Room) -> None:
    """What stands below the roof, and the roof itself."""
    bandwidth, scale = view.roof.bandwidth, drawn.scale
    end = view.roof.ridge if view.known else drawn.x[1]
    x = [drawn.x[0], end, drawn.x[1]] if view.known else [drawn.x[0], end]
    room.curve(
        x,
        [min(value * bandwidth, view.roof.peak if view.known else value * bandwidth) / scale for value in x],
    )
    if view.known:
        room.upright(view.roof.ridge, drawn.y[0], view.roof.peak / scale)
    if drawn.shows_limit(view):
        room.upright(view.limit, drawn.y[0], view.limit * bandwidth / scale)
    bands = [view.decode_band, *([view.prefill_band] if known(view.prefill_roof) else [])]
    for band in bands:
        room.upright(band.intensity, band.slow / scale, band.fast / scale)
        room.marker(band.intensity, band.typical / scale)
    for spot in (view.first, view.now, view.largest):
        if spot is not None:
            room.marker(spot.intensity, spot.flops_per_s / scale)


def _items(view: RooflineView, drawn: Frame, narrow: bool) -> list[_Item]:
    """Names of the points, one for those that are the same batch."""
    found: list[_Item] = []

    def add(spot_at: tuple[float, float], bound: str | None, alone: str, joined: str) -> None:
        found.append(_Item(spot_at[0], spot_at[1] / drawn.scale, alone, joined, bound == "compute"))

    now, largest = view.now, view.largest
    if now.batch != 1:
        fits = largest is not None and largest.batch == 1
        alone = "1 fits" if fits else "1" if narrow else "1 sequence"
        add(
            (view.first.intensity, view.first.flops_per_s), view.first.bound, alone, "1 fits" if fits else "1"
        )
    all_fit = largest is not None and largest.batch == now.batch
    here = f"<b>{now.batch:,} now</b>"
    told = here
    if all_fit:
        told = f"{here}, fits" if now.batch == 1 else f"{here}, all that fit"
    elif view.fits_none:
        told = f"{here} ✕{n.NBSP}none fits"
    elif view.evaluation.capacity.fits is False:
        told = f"{here} ✕"
    add((now.intensity, now.flops_per_s), now.bound, here if narrow else told, here if narrow else told)
    if largest is not None and largest.batch not in (1, now.batch):
        text = f"{largest.batch:,} fit"
        add((largest.intensity, largest.flops_per_s), largest.bound, text, text)
    if known(view.prefill_roof):
        fed = view.evaluation.setup.scenario.prompt - view.evaluation.setup.scenario.prefix_hit
        text = "<b>Prefill</b>" if narrow else f"<b>Prefill</b>, {fed:,} token{'' if fed == 1 else 's'}"
        spot = view.prefill
        add((spot.intensity, spot.flops_per_s), spot.bound, text, "<b>Prefill</b>")
    return found


def _point_words(items: Sequence[_Item], x: Scale, y: Scale) -> list[Spec]:
    slope = [item for item in items if not item.flat]
    flat = [item for item in items if item.flat]
    found: list[Spec] = []
    near = clusters([x.px(item.intensity) for item in slope], _SLOPE_GAP_PX)
    found += [_up_left([slope[index] for index in group], x, y) for group in near]
    found += [_above([flat[index] for index in group], x) for group in _touching(flat, x)]
    return found


def _text(members: Sequence[_Item]) -> str:
    return members[0].alone if len(members) == 1 else ", ".join(item.joined for item in members)


def _up_left(members: Sequence[_Item], x: Scale, y: Scale) -> Spec:
    first, last = members[0], members[-1]
    text = _text(members)
    # A label over several points ends left of the first and above the last.
    rise = y.px(last.rate) - y.px(first.rate)
    if x.px(first.intensity) - 14 < width(text):
        return note(first.intensity, first.rate, text, up="bottom", dx=-6, dy=14 + rise + 0.45 * width(text))
    return note(first.intensity, first.rate, text, at="right", dx=-12, dy=9 + rise / 2)


def _touching(flat: Sequence[_Item], x: Scale) -> list[list[int]]:
    """Groups of points on the flat part whose names would touch."""
    order = sorted(range(len(flat)), key=lambda index: flat[index].intensity)
    groups: list[list[int]] = []
    for index in order:
        before = flat[groups[-1][-1]] if groups else None
        near = before is not None and x.px(flat[index].intensity) - x.px(before.intensity) < (
            (width(before.alone) + width(flat[index].alone)) / 2 + _FLAT_PAD_PX
        )
        if near:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _above(members: Sequence[_Item], x: Scale) -> Spec:
    text = _text(members)
    middle = (x.px(members[0].intensity) + x.px(members[-1].intensity)) / 2
    half = width(text) / 2
    rate = max(item.rate for item in members)
    place = min(max(middle, half), x.length - half)
    return note(x.value(place), rate, text, at="center", up="bottom", dy=11)


def _roof_words(view: RooflineView, drawn: Frame, x: Scale, items: Sequence[_Item]) -> list[Spec]:
    """Bandwidth beside the slope, matrix rates below the flat parts."""
    found: list[Spec] = []
    bandwidth = view.roof.bandwidth
    text = n.trimmed(n.bytes_per_s(bandwidth))
    end = (
        x.px(view.roof.ridge) if view.known else x.px(view.other_ridges[0]) if view.other_ridges else x.length
    )
    # The widest stretch of slope without a point; a point's own label reaches back over the stretch before it.
    taken = sorted((x.px(item.intensity), width(item.alone) + 14) for item in items if not item.flat)
    starts = [0.0, *(px for px, _ in taken)]
    ends = [*(px - reach for px, reach in taken), end]
    room, start = max((stop - begin, begin) for begin, stop in zip(starts, ends, strict=True))
    if room > width(text) + 24:
        at = x.value(start + (room + width(text)) / 2)
        found.append(note(at, at * bandwidth / drawn.scale, text, at="right", dx=-6, dy=9))
    prefill_px = x.px(view.prefill.intensity) if known(view.prefill_roof) else -1.0
    roofs = [r for r in (view.roof, view.prefill_roof) if known(r)]
    same = len(roofs) == 2 and roofs[0].peak == roofs[1].peak
    for roof in roofs[:1] if same else roofs:
        name = n.trimmed(n.flops_per_s(roof.peak))
        if not same:
            unit = view.evaluation.setup.decode if roof is view.roof else view.evaluation.setup.prefill
            name = f"{unit.unit}, {name}"
        at_left = x.length - prefill_px < width(name) + 40
        place: Spec = {"at": "left", "dx": 10} if at_left else {"at": "right", "dx": -6}
        found.append(
            note(
                roof.ridge if at_left else drawn.x[1], roof.peak / drawn.scale, name, up="top", dy=-5, **place
            )
        )
    return found


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
        else:
            room.taken.append(Place("left", "bottom", 8, 2).box(0, 0, f"▲ {text}"))
        found.append(word)
    text = "compute decides" if room.x.length - left > 130 else "compute"
    room.taken.append(Place("left", "bottom", 8, 2).box(left, 0, f"▼ {text}"))
    return [*found, region_word("compute", ridge, text)]


def _ridge_word(view: RooflineView, drawn: Frame, room: Room, narrow: bool) -> Spec:
    ridge = view.roof.ridge
    text = f"ridge {n.figures(ridge)}"
    crossing = view.evaluation.ceiling.crossover.batch
    if crossing is not None and 1 < crossing < 1e6 and not narrow:
        text += f"<br>at {crossing_words(crossing)} sequences"
    # Beside the ridge's middle, or further down where an estimate stands there.
    heights = [room.y.length * share for share in (0.5, 0.36, 0.22, 0.14, 0.62)]
    spots = [Place("left", "middle", 7, up) for up in heights]
    return room.place(ridge, drawn.y[0], text, spots)


def _unknown(narrow: bool) -> Spec:
    text = "No matrix rate is known for this chip:<br>where the roof turns flat stays open."
    if narrow:
        text = "No matrix rate is known:<br>no flat part, no ridge"
    return note(0, 1, text, xref="x domain", yref="y domain", up="top", dx=10, dy=-8)


def brackets(view: RooflineView) -> list[tuple[str, float]]:
    """The lowest and the highest of the chip's other rates, where its own is unknown."""
    known_rates = view.evaluation.setup.decode.known
    return list(known_rates if len(known_rates) < 3 else (known_rates[0], known_rates[-1]))


def _bracket_words(view: RooflineView, drawn: Frame) -> list[Spec]:
    return [
        note(
            drawn.x[1],
            rate / drawn.scale,
            f"{rate_name(name)}: {n.trimmed(n.flops_per_s(rate))}",
            at="right",
            up="bottom",
            dx=-4,
            dy=2,
        )
        for name, rate in brackets(view)
    ]


def _limit_word(view: RooflineView, drawn: Frame, room: Room, narrow: bool) -> Spec:
    """The intensity that no batch passes, low beside its line: on its right, where no batch gets to, if there is room."""
    value = n.figures(view.limit)
    text = f"limit<br>{value}" if narrow else f"no batch<br>passes {value}"
    heights = [room.y.length * share for share in (0.19, 0.13, 0.27, 0.35)]
    spots = [Place(at, "middle", dx, up) for at, dx in _SIDES for up in heights]
    return room.place(view.limit, drawn.y[0], text, spots)


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
