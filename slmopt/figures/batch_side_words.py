"""The words on Batching's side figures, each user's speed and a step's time, placed so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slmopt.figures import theme
from slmopt.figures.batch_words import fits
from slmopt.figures.marks import Vertical, end_label
from slmopt.figures.placing import PHONE_PX, Scale, apart, both, plot_height, width
from slmopt.figures.room import Place, Room
from slmopt.figures.theme import Spec
from slmopt.theory.batch_points import BatchingView, Mark
from slmopt.words import numbers as n
from slmopt.words import pace

Array = npt.NDArray[np.float64]

USER_MARGIN = {"l": 44, "r": 16, "t": 30, "b": 50}
STEP_MARGIN = {"l": 44, "r": 72, "t": 30, "b": 50}
_OVER_AND_UNDER: tuple[tuple[Vertical, int], ...] = (("top", -3), ("bottom", 3))
# A side figure on a wide screen.
_SIDE_PX = 538
_VISIBLE = 0.04
_VEIL = theme.tint(theme.PAGE, 0.7)


def near_range(view: BatchingView) -> tuple[float, float]:
    """Limits of the axis of batches that memory holds."""
    if view.linear:
        room = 0.035 * view.reach
        return 1 - room, view.reach + room
    return 0.85, view.reach * 1.12


def _near_room(view: BatchingView, values: Array, top: float, margin: Spec, narrow: bool) -> Room:
    length = PHONE_PX - 44 - min(84, margin["r"]) if narrow else _SIDE_PX - margin["l"] - margin["r"]
    up = plot_height(theme.HEIGHT_PHONE if narrow else theme.HEIGHT_SIDE, margin)
    room = Room(Scale(*near_range(view), float(length), view.linear is False), Scale(0, top, up, log=False))
    room.curve(view.near.batch, values)
    if view.fit and view.fit < view.reach:
        room.upright(view.fit, 0, top)
    return room


def user_words(view: BatchingView, targets: Sequence[float], top: float) -> tuple[list[Spec], Spec]:
    """Notes of the figure of each user's speed, and what a phone shows of them."""

    def words(narrow: bool) -> list[Spec]:
        room = _near_room(view, view.near.user, top, USER_MARGIN, narrow)
        inside = view.near.batch <= fits(view)
        # The band itself is a tint that words may stand on; its median is a line.
        room.curve(view.near.batch[inside], view.near.band["typical"][inside] / view.near.batch[inside], 0.2)
        for target in targets:
            room.level(target, *near_range(view))
        for mark in _marked(view):
            room.marker(mark.batch, mark.user_tokens_per_s)
        notes: list[Spec] = []
        if view.target_s is not None and not targets:
            text = f"the target of {n.figures(1 / view.target_s)} tokens/s lies above"
            notes.append(room.place(room.x.high, top, text, [Place("right", "top", -4, -4)]))
        notes += [word for mark in _marked(view) for word in _user_word(room, view, mark)]
        notes += [_target_word(room, target) for target in targets]
        return [*notes, *_over_word(view, room)]

    return both(words)


def _user_word(room: Room, view: BatchingView, mark: Mark) -> list[Spec]:
    y, text = mark.user_tokens_per_s, _value_text(view, mark, mark.user_tokens_per_s, "≤")
    across, up = room.x.px(mark.batch), room.y.px(y)
    # Over the curve, which falls towards the point.
    lift = room.above(across + 8 - width(text), across + 8) - up + 4
    places = [
        Place("left", "bottom", 8, 4),
        Place("left", "middle", 12, 0),
        Place("center", "bottom", 0, 10),
        Place("right", "bottom", 8, 10),
        Place("right", "bottom", 8, 26),
        Place("left", "bottom", 8, 20),
        Place("right", "top", 8, -11),
        Place("left", "top", -6, -12),
        Place("right", "bottom", 8, max(10, lift)),
        Place("center", "bottom", 0, 34),
    ]
    if mark is view.now:
        return [room.place(mark.batch, y, text, places)]
    return room.place_if_free(mark.batch, y, text, places)


def _value_text(view: BatchingView, mark: Mark, y: float, sign: str) -> str:
    value = f"{sign}{n.NBSP}{n.figures(y)}"
    return f"<b>{mark.batch:,.0f} now</b> {value}" if mark is view.now else value


def _target_word(room: Room, target: float) -> Spec:
    """Beside the dotted line, at the end where nothing else is."""
    aim = pace.shown(1 / target) if pace.as_speed() else pace.each(1 / target)
    text = f"target {n.trimmed(aim)}"
    long, last = width(text), room.x.length
    starts = [6.0, last - long - 4, 0.35 * last, 0.6 * last]
    places = [Place("left", up, start, dy) for start in starts for up, dy in _OVER_AND_UNDER]
    return room.place(room.x.low, target, text, places, bgcolor=_VEIL)


def _marked(view: BatchingView) -> list[Mark]:
    largest = view.largest_within(view.reach)
    return [view.now] if largest is None else [view.now, largest]


def _over_word(view: BatchingView, room: Room) -> list[Spec]:
    """The word for batches beyond memory, above or below in their region."""
    if view.fit is None or view.fit >= view.reach or room.x.length - room.x.px(max(1, view.fit)) < 110:
        return []
    text = "✕ over capacity"
    corners = ((room.y.high, Place("right", "top", -8, -2)), (0.0, Place("right", "bottom", -8, 2)))
    return room.first_free([(room.x.high, y, text, place) for y, place in corners])


def shows_compute(view: BatchingView, scale: float, top: float) -> bool:
    """Whether arithmetic takes long enough to be seen beside what a step reads."""
    return view.known and float(view.near.compute_s[-1]) / scale > _VISIBLE * top


def step_words(view: BatchingView, scale: float, top: float) -> tuple[list[Spec], Spec]:
    """Notes of the figure of a step's time, its parts named at their ends, and what a phone shows of them."""
    curves = view.near
    weights, cache = float(curves.weight_s[-1]) / scale, float(curves.cache_s[-1]) / scale
    parts = [("weights", weights / 2)]
    if cache > _VISIBLE * top:
        parts.append(("cache", weights + cache / 2))
    if shows_compute(view, scale, top):
        parts.append(("compute", float(curves.compute_s[-1]) / scale))

    def words(narrow: bool) -> list[Spec]:
        room = _near_room(view, curves.step_s / scale, top, STEP_MARGIN, narrow)
        for mark in _marked(view):
            room.marker(mark.batch, mark.step_s / scale)
        notes: list[Spec] = []
        for mark in _marked(view):
            y = mark.step_s / scale
            text = _value_text(view, mark, y, "≥")
            across, up = room.x.px(mark.batch), room.y.px(y)
            lift = max(room.above(across - 6, across - 6 + width(text)) - up + 4, 10)
            places = [
                Place("right", "bottom", -9, 2),
                Place("right", "bottom", -2, 10),
                Place("center", "bottom", 0, 10),
            ]
            places.append(Place("left", "bottom", -6, lift))
            if mark is view.now:
                notes.append(room.place(mark.batch, y, text, places))
            else:
                notes += room.place_if_free(mark.batch, y, text, places)
        shifts = apart([room.y.px(value) for _, value in parts])
        return notes + [
            end_label(1, value, name, dy=shift, xref="x domain")
            for (name, value), shift in zip(parts, shifts, strict=True)
        ]

    return both(words)
