"""The device's throughput against each user's speed, and what a token costs, as the batch grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import band, limit_line, line, note, points, told
from slmopt.figures.named import Named
from slmopt.figures.placing import Scale, apart, plot_height, stop_above, stop_below
from slmopt.figures.theme import Spec
from slmopt.serving.frontier import Frontier, Line, Place
from slmopt.words import numbers as n

_LEFT_ROOM = 6.0
_PHONE_ROOM = 2.5
_APART = 1.4


def frontier(results: Sequence[Named[Frontier]]) -> theme.Figure:
    """One line a scenario from one sequence (right) to all that fit (left), by the typical estimate.

    The first is the present scenario and carries the marks: now, the knee, and the most that targets allow.
    """
    lines = [one.result.lines["typical"] for one in results]
    xs = (min(float(one.user.min()) for one in lines), max(float(one.user.max()) for one in lines))
    ys = (min(float(one.device.min()) for one in lines), max(float(one.device.max()) for one in lines))
    x, y = (
        (stop_below(xs[0] / _LEFT_ROOM), stop_above(xs[1] * 1.3)),
        (stop_below(ys[0]), stop_above(ys[1] * 1.3)),
    )
    data: list[Spec] = []
    for at, one in enumerate(results):
        found = one.result.lines["typical"]
        words = told(one.name or "estimate", "%{x:,.3~r} tokens/s per user", "%{y:,.3~r} per device")
        colour = theme.ESTIMATE if len(results) == 1 else theme.SCENARIOS[at % len(theme.SCENARIOS)]
        data.append(
            line(found.user, found.device, "estimate", colour=colour, name=one.name or "estimate", **words)
        )
    first = results[0].result
    colour = theme.ESTIMATE if len(results) == 1 else theme.SCENARIOS[0]
    marks = _marks(first)
    for name, place, now in marks:
        data.append(
            points(
                [place.about_user],
                [place.about_device],
                "estimate",
                now=now,
                colour=colour,
                hover=[_hover(name, place)],
                name=name,
            )
        )
    notes = [
        *_names(results, Scale(*y, plot_height(theme.HEIGHT_SIDE, dict(theme.MARGIN)))),
        *_mark_words(marks, first.largest),
    ]
    shapes: list[Spec] = []
    target = first.evaluation.setup.scenario.target_tpot_ms
    if target is not None and x[0] < 1e3 / target < x[1]:
        shapes.append(limit_line(1e3 / target, name="target"))
        notes.append(note(1e3 / target, 0, "target", yref="y domain", up="bottom", dx=5, dy=2))
    layout = base_layout(
        x_title="Per user (tokens/s)",
        y_title="Per device, prompts included (tokens/s)",
        x_scale="log",
        y_scale="log",
        x_limits=x,
        y_limits=y,
        height=theme.HEIGHT_SIDE,
        notes=notes,
        shapes=shapes,
        # The present batch stands furthest right, its words beside it.
        phone={"xaxis.range": [float(np.log10(x[0])), float(np.log10(x[1] * _PHONE_ROOM))]},
    )
    return theme.figure(data, layout)


def _marks(found: Frontier) -> list[tuple[str, Place, bool]]:
    """The present batch, and the knee where it is another."""
    marks = [(f"{found.now.batch:,} now", found.now, True)]
    if found.knee.batch != found.now.batch:
        marks.insert(0, (f"knee {found.knee.batch:,}", found.knee, False))
    return marks


def _mark_words(marks: Sequence[tuple[str, Place, bool]], end: Place) -> list[Spec]:
    return [
        note(
            place.about_user,
            place.about_device,
            f"<b>{name}</b>" if now else name,
            at="left" if now else "right",
            up="bottom" if now else "top",
            dx=9 if now else -9,
            dy=3 if now else -3,
            name=f"mark {name}",
        )
        for name, place, now in marks
        # Beside the line's end its name says enough; a pointer over the mark tells the rest.
        if now or place.about_user > _APART * end.about_user
    ]


def _names(results: Sequence[Named[Frontier]], scale: Scale) -> list[Spec]:
    """Each line's name and its largest batch at its left end."""
    ends = [
        (float(r.result.lines["typical"].user[-1]), float(r.result.lines["typical"].device[-1]))
        for r in results
    ]
    shifts = apart([scale.px(y) for _, y in ends])
    return [
        note(
            x,
            y,
            f"<b>{one.name}</b> {one.result.reach:,}" if one.name else f"{one.result.reach:,} fit",
            at="right",
            dx=-8,
            dy=shift,
            name=f"end {at}",
        )
        for at, ((x, y), one, shift) in enumerate(zip(ends, results, shifts, strict=True))
    ]


def _hover(name: str, place: Place) -> str:
    return (
        f"<b>{name}, estimate</b><br>about {n.tokens_per_s(place.about_device, 2)} per device"
        f"<br>about {n.tokens_per_s(place.about_user, 2)} per user"
    )


def cost(found: Frontier) -> theme.Figure:
    """The cost of a million output tokens at each batch; the energy of one where no price is known."""
    priced = found.priced
    title = "Cost of a million tokens" if priced else "Energy a token (J)"

    def values(one: Line) -> np.ndarray:
        return one.cost if priced else one.energy

    slow, middle, fast = (values(found.lines[level]) for level in ("slow", "typical", "fast"))
    best = values(found.lines["ceiling"])
    y = (stop_below(float(np.nanmin(best))), stop_above(float(np.nanmax(slow))))
    now = found.now.about_cost if priced else found.now.about_energy
    data: list[Spec] = [
        *band(found.batch, fast, slow, name="estimated band"),
        line(found.batch, middle, "estimate", **told("estimate", "%{x:,.0f} sequences", "about %{y:,.3~r}")),
        line(found.batch, best, "ceiling", **told("ceiling", "%{x:,.0f} sequences", "at least %{y:,.3~r}")),
    ]
    notes: list[Spec] = []
    if y[0] <= now <= y[1] * 1.0001 and found.now.batch <= found.batch[-1]:
        hover = f"<b>{found.now.batch:,} now, estimate</b><br>about {n.figures(now, 2)}"
        data.append(points([found.now.batch], [now], "estimate", now=True, hover=[hover], name="now"))
        notes.append(
            note(found.now.batch, now, f"<b>{found.now.batch:,} now</b>", up="bottom", dx=9, dy=3, name="now")
        )
    layout = base_layout(
        x_title="Sequences at once",
        y_title=title,
        x_scale="log",
        y_scale="log",
        x_limits=(0.9, float(found.batch[-1]) * 1.15),
        y_limits=y,
        height=theme.HEIGHT_SIDE,
        notes=notes,
    )
    return theme.figure(data, layout)
