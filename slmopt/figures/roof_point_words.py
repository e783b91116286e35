"""The names of the points on the roofline: one for neighbours, above the roof, where nothing else is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slmopt.figures.placing import Scale, clusters, width
from slmopt.figures.roof_frame import Frame, known
from slmopt.figures.room import Place, Room
from slmopt.figures.theme import Spec
from slmopt.theory.roofline_points import RooflineView
from slmopt.theory.roofline_points import Spot as Point
from slmopt.words import numbers as n

# Labels up to the left of neighbouring points touch below this distance.
_SLOPE_GAP_PX = 40
_FLAT_PAD_PX = 14


@dataclass(frozen=True, slots=True)
class _Item:
    """A point's name: alone, and beside a neighbour's."""

    intensity: float
    rate: float
    alone: str
    joined: str
    flat: bool
    now: bool = False


def point_words(view: RooflineView, drawn: Frame, room: Room, narrow: bool) -> list[Spec]:
    """Names of decode's points and of prefill."""
    items = _items(view, drawn, narrow)
    slope = [item for item in items if not item.flat]
    flat = [item for item in items if item.flat]
    groups = [
        [slope[i] for i in group]
        for group in clusters([room.x.px(item.intensity) for item in slope], _SLOPE_GAP_PX)
    ]
    found = [_up_left(members, room, narrow) for members in groups]
    return found + [_above([flat[i] for i in group], room, narrow) for group in _touching(flat, room.x)]


def _items(view: RooflineView, drawn: Frame, narrow: bool) -> list[_Item]:
    """One item for points that are the same batch."""

    def item(spot: Point, alone: str, joined: str, *, now: bool = False) -> _Item:
        return _Item(
            spot.intensity, spot.flops_per_s / drawn.scale, alone, joined, spot.bound == "compute", now
        )

    now, largest = view.now, view.largest
    here = _now_text(view, narrow)
    found = [item(now, here, here, now=True)]
    if now.batch != 1:
        fits = largest is not None and largest.batch == 1
        alone = "1 fits" if fits else "1" if narrow else "1 sequence"
        found.insert(0, item(view.first, alone, "1 fits" if fits else "1"))
    if largest is not None and largest.batch not in (1, now.batch):
        found.append(item(largest, f"{largest.batch:,} fit", f"{largest.batch:,} fit"))
    if known(view.prefill_roof):
        fed = view.evaluation.setup.scenario.prompt - view.evaluation.setup.scenario.prefix_hit
        text = "<b>Prefill</b>"
        found.append(
            item(view.prefill, text if narrow else f"{text}, {fed:,} token{'' if fed == 1 else 's'}", text)
        )
    return found


def _now_text(view: RooflineView, narrow: bool) -> str:
    here = f"<b>{view.now.batch:,} now</b>"
    if narrow:
        return here
    if view.fits_none:
        return f"{here} ✕{n.NBSP}none fits"
    if view.evaluation.capacity.fits is False:
        return f"{here} ✕"
    if view.largest is not None and view.largest.batch == view.now.batch:
        return f"{here}, fits" if view.now.batch == 1 else f"{here}, all that fit"
    return here


def _text(members: Sequence[_Item]) -> str:
    return members[0].alone if len(members) == 1 else ", ".join(item.joined for item in members)


def _named(members: Sequence[_Item], narrow: bool) -> Sequence[_Item]:
    """Those of a group that are named: a phone has room for the present one."""
    return [item for item in members if item.now] or members if narrow else members


def _up_left(members: Sequence[_Item], room: Room, narrow: bool) -> Spec:
    """Left of a group's first point and above its last: there the slope has not arrived yet."""
    named = _named(members, narrow)
    first, last, text = named[0], named[-1], _text(named)
    rise = room.y.px(last.rate) - room.y.px(first.rate)
    across, up, long = room.x.px(first.intensity), room.y.px(first.rate), width(text)
    lift = max(room.above(across - 6, across - 6 + long) - up + 5, 12 + rise)
    places = [
        Place("right", "middle", -12, 9 + rise / 2),
        Place("right", "bottom", -8, 10),
        Place("right", "bottom", 4, 11 + rise),
        Place("left", "bottom", -6, lift),
    ]
    return room.place(first.intensity, first.rate, text, places)


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


def _above(members: Sequence[_Item], room: Room, narrow: bool) -> Spec:
    """Over the middle of a group on the flat part."""
    members = _named(members, narrow)
    text = _text(members)
    middle = (room.x.px(members[0].intensity) + room.x.px(members[-1].intensity)) / 2
    places = [
        Place("center", "bottom", 0, 11),
        Place("right", "bottom", 8, 11),
        Place("left", "bottom", -8, 11),
        Place("left", "bottom", -8, 28),
        Place("right", "bottom", 8, 28),
    ]
    return room.place(room.x.value(middle), max(item.rate for item in members), text, places)
