"""The words on Batching's main figure for one scenario, placed so that none covers another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slmopt.figures import theme
from slmopt.figures.marks import end_label, region_word
from slmopt.figures.placing import Scale, apart, both, left_margin, plot_height, plot_width, width
from slmopt.figures.room import Place, Room
from slmopt.figures.theme import Spec
from slmopt.theory.batch_points import BatchingView
from slmopt.words import numbers as n
from slmopt.words.roofline import crossing_words

Array = npt.NDArray[np.float64]

# Batches begin a little left of 1, so that its marker stays clear of the axis.
FIRST_BATCH = 0.93


def throughput_margin(y_limits: tuple[float, float]) -> dict[str, int]:
    """The main figure's margins: room for the rate's ticks, and for names at the lines' ends."""
    return {"l": left_margin(y_limits[1]), "r": theme.MARGIN_END_LABELS, "t": 30, "b": 50}


def throughput_words(view: BatchingView, y_limits: tuple[float, float]) -> tuple[list[Spec], Spec]:
    """Notes of the main figure, and what a phone shows of them."""
    return both(lambda narrow: _throughput(view, y_limits, narrow))


def _throughput(view: BatchingView, y_limits: tuple[float, float], narrow: bool) -> list[Spec]:
    margin = throughput_margin(y_limits)
    if narrow:
        margin |= {"r": 84}
    room = Room(
        Scale(FIRST_BATCH, view.top, plot_width(margin, phone=narrow)),
        Scale(*y_limits, plot_height(theme.HEIGHT_PHONE if narrow else theme.HEIGHT_MAIN, margin)),
    )
    _throughput_obstacles(view, room)
    found = [*_ends(view, room.y, narrow), *_capacity_words(view, room)]
    found += _weights_word(view, room, narrow)
    found.append(_now_word(view, room, narrow))
    found += _crossing_word(view, room, narrow)
    found += _limit_word(view, room)
    if not narrow and fits(view) > 0:
        found.append(_band_word(view, room))
    return found


def fits(view: BatchingView) -> float:
    """Sequences that memory holds; infinite where it is unknown."""
    return np.inf if view.fit is None else float(view.fit)


def _throughput_obstacles(view: BatchingView, room: Room) -> None:
    curves = view.wide
    inside = curves.batch <= fits(view)
    room.curve(curves.batch, view.weights_only)
    room.curve(curves.batch, curves.device)
    # The band's edges are no lines: words may stand on its tint.
    room.curve(curves.batch[inside], curves.band["typical"][inside], 0.2)
    marks = [view.first, view.now, view.largest, view.crossing]
    for mark in marks:
        if mark is not None and 1 <= mark.batch <= view.top:
            room.marker(mark.batch, mark.device_tokens_per_s)
    if view.crossing_weights_only is not None and 1 <= view.crossing_weights_only[0] <= view.top:
        room.marker(*view.crossing_weights_only)
    if view.fit and view.fit < view.top:
        room.upright(view.fit, room.y.low, room.y.high)
    limit = view.evaluation.ceiling.crossover.throughput_limit
    if limit is not None and view.crossing is None:
        room.level(limit, max(1, view.fit or 1), view.top)


def _ends(view: BatchingView, y: Scale, narrow: bool) -> list[Spec]:
    """The lines' names at their ends; one where caches cost nothing."""
    ends = [float(view.weights_only[-1]), float(view.wide.device[-1])]
    if ends[0] < 1.01 * ends[1]:
        return [end_label(view.top, ends[1], "ceiling", bold=True)]
    shifts = apart([y.px(end) for end in ends])
    cache = "with cache" if narrow else "with cache reads"
    return [
        end_label(view.top, ends[0], "weights alone", dy=shifts[0]),
        end_label(view.top, ends[1], cache, bold=True, dy=shifts[1]),
    ]


def _capacity_words(view: BatchingView, room: Room) -> list[Spec]:
    """How many fit, above beside the line; and the word for what lies beyond."""
    if view.fit is None or view.fit >= view.top:
        return []
    found: list[Spec] = []
    top = room.y.high
    if view.fit:
        text = f"{view.fit:,} fit{'s' if view.fit == 1 else ''}"
        places = [Place("right", "top", -7, -2), Place("left", "top", 7, -2), Place("left", "top", 7, -24)]
        found.append(room.place(view.fit, top, text, places))
    beyond = room.x.length - room.x.px(max(1, view.fit))
    if beyond > 120:
        room.taken.append(Place("right", "bottom", -8, 2).box(room.x.length, 0, "✕ over capacity"))
        found.append(region_word("over", view.top, at="right"))
    elif beyond > 34:
        found.append(region_word("over", view.top, " ", at="right"))
    return found


def _now_word(view: BatchingView, room: Room, narrow: bool) -> Spec:
    now = view.now
    text = f"<b>{now.batch:,.0f} now</b>"
    if not narrow:
        over = " ✕" if now.batch > fits(view) else ""
        text += f", ≤{n.NBSP}{n.figures(now.device_tokens_per_s)}{over}"
    return room.place(
        now.batch, now.device_tokens_per_s, text, _above_first(room, now.batch, now.device_tokens_per_s, text)
    )


def _above_first(room: Room, x: float, y: float, text: str) -> list[Place]:
    """Places beside a point on a rising line: above it, up to the left, over all lines, below."""
    across, up, long = room.x.px(x), room.y.px(y), width(text)
    lift = max(room.above(across - 6, across - 6 + long) - up, 6) + 4
    drop = max(up - room.below(across, across + long), 6) + 5
    return [
        Place("center", "bottom", 0, 9),
        Place("right", "bottom", -4, 9),
        Place("right", "middle", -12, 9),
        Place("left", "bottom", -4, 9),
        Place("left", "bottom", -6, lift),
        Place("right", "bottom", -4, 27),
        Place("left", "bottom", -4, 27),
        Place("left", "top", 8, -8),
        Place("center", "top", 0, -10),
        Place("left", "top", 4, -drop),
    ]


_BESIDE = (
    Place("right", "bottom", -8, 3),
    Place("left", "bottom", -4, 9),
    Place("right", "bottom", -8, 12),
    Place("left", "top", 4, -9),
    Place("center", "top", 0, -10),
    Place("left", "top", 4, -25),
)


def _weights_word(view: BatchingView, room: Room, narrow: bool) -> list[Spec]:
    """The crossover that weights alone would say, with as many words as find room."""
    alone = view.crossing_weights_only
    if alone is None or not 1 < alone[0] <= view.top:
        return []
    batch = crossing_words(alone[0])
    full = f"{batch}, the crossover by weights alone"
    free = room.cost(_BESIDE[0].box(room.x.px(alone[0]), room.y.px(alone[1]), full)) == 0
    text = batch if narrow else full if free else f"{batch} by weights alone"
    return [room.place(*alone, text, _BESIDE)]


def _crossing_word(view: BatchingView, room: Room, narrow: bool) -> list[Spec]:
    if view.crossing is None or not 1 < view.crossing.batch <= view.top:
        return []
    mark, text = view.crossing, crossing_words(view.crossing.batch)
    below = [
        Place("left", "top", 5, -9),
        Place("right", "top", -4, -9),
        *_BESIDE,
        Place("center", "top", 0, -26),
    ]
    return [room.place(mark.batch, mark.device_tokens_per_s, text if narrow else f"crossover {text}", below)]


def _limit_word(view: BatchingView, room: Room) -> list[Spec]:
    """What large batches approach, at the right end; left out where it finds no place."""
    limit = view.evaluation.ceiling.crossover.throughput_limit
    if limit is None:
        return []
    places = [
        Place("right", "bottom", -5, 3),
        Place("right", "top", -5, -4),
        Place("right", "bottom", -5, 18),
    ]
    return room.place_if_free(view.top, limit, f"limit {n.figures(limit)}", places)


def _band_word(view: BatchingView, room: Room) -> Spec:
    """How the present band stands to the ceiling, below the band where it is lowest over the words."""
    slow, fast = view.evaluation.estimate["slow"], view.evaluation.estimate["fast"]
    ceiling = view.evaluation.ceiling.device_tokens_per_s
    low, high = (n.percent(e.device_tokens_per_s / ceiling) for e in (slow, fast))
    text = (
        f"{n.span(low.removesuffix(f'{n.NBSP}%'), high) if low != high else f'≈{n.NBSP}{low}'} of the ceiling"
    )
    batch = view.wide.batch[view.wide.batch <= fits(view)]
    end = room.x.px(float(batch[-1])) - 14
    start = max(room.x.px(1) + 4, end - width(text))
    across = room.x.value(start)
    lowest = min(float(np.interp(at, view.wide.batch, view.wide.band["slow"])) for at in (across, batch[-1]))
    return room.place(across, lowest, text, [Place("left", "top", 0, -5), Place("left", "top", 0, -22)])
