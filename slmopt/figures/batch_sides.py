"""Batching's side figures: each user's speed and a step's time at the batches that memory holds."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.figures import theme
from slmopt.figures.batch_parts import Results, ceiling, estimate, hues, letters, mark_of, now_name
from slmopt.figures.batch_side_words import (
    STEP_MARGIN,
    USER_MARGIN,
    near_range,
    shows_compute,
    step_words,
    user_words,
)
from slmopt.figures.frame import Scale, base_layout
from slmopt.figures.marks import limit_line, line, region
from slmopt.figures.placing import plot_height, round_above
from slmopt.figures.theme import Spec
from slmopt.theory.batch_points import BatchingView, Mark
from slmopt.words import numbers as n

# A target this many times above the fastest user would flatten every curve.
_TARGET_IN_SIGHT = 4.0
_WEIGHTS_OPACITY = 0.85
_CACHE_OPACITY = 0.32


def users(results: Results) -> theme.Figure:
    """Tokens/s that one user sees at each batch that memory holds, and the target."""
    views = [result.result for result in results]
    single = len(results) == 1
    top = round_above(1.1 * max(float(view.near.user[0]) for view in views))
    targets = {1 / view.target_s for view in views if view.target_s is not None}
    seen = [target for target in targets if target < _TARGET_IN_SIGHT * top]
    top = max([top, *(round_above(1.1 * target) for target in seen)])
    data: list[Spec] = []
    shapes = [limit_line(target, axis="y", name="target") for target in seen]
    for result, hue, width in hues(results):
        view = result.result
        if single:
            data += estimate(view, view.near, per_user=True)
            shapes += _over(view)
        data += ceiling(view, view.near, view.near.user, result.name or "ceiling", hue, width)
        largest = view.largest_within(view.reach) if single else None
        if largest is not None:
            data.append(mark_of(view, largest, largest.user_tokens_per_s, _all_fit(largest)))
        data.append(
            mark_of(view, view.now, view.now.user_tokens_per_s, now_name(result), now=True, colour=hue)
        )
    margin = USER_MARGIN if single else STEP_MARGIN
    if single:
        notes, phone = user_words(views[0], seen, top)
    else:
        phone = {}
        height = plot_height(theme.HEIGHT_SIDE, margin)
        ends = [(view.near.batch[-1], view.near.user[-1]) for view in views]
        notes = letters(results, ends, lambda value: height * value / top)
    return theme.figure(
        data, _near_layout("Per user (tokens/s)", (0, top), views, margin, notes, shapes, phone)
    )


def steps(results: Results) -> theme.Figure:
    """A decode step's time: reading the weights, reading the caches, and arithmetic where it takes longer."""
    views = [result.result for result in results]
    single = len(results) == 1
    longest = max(float(view.near.step_s[-1]) for view in views)
    scale, unit = n.time_scale(longest)
    top = round_above(1.12 * longest / scale)
    data: list[Spec] = []
    shapes: list[Spec] = []
    for result, hue, width in hues(results):
        view = result.result
        if single:
            data += _areas(view, scale, compute=shows_compute(view, scale, top))
            shapes += _over(view)
        data += ceiling(view, view.near, view.near.step_s / scale, result.name or "ceiling", hue, width)
        largest = view.largest_within(view.reach) if single else None
        if largest is not None:
            data.append(mark_of(view, largest, largest.step_s / scale, _all_fit(largest)))
        data.append(mark_of(view, view.now, view.now.step_s / scale, now_name(result), now=True, colour=hue))
    height = plot_height(theme.HEIGHT_SIDE, STEP_MARGIN)
    if single:
        notes, phone = step_words(views[0], scale, top)
    else:
        phone = {}
        ends = [(view.near.batch[-1], view.near.step_s[-1] / scale) for view in views]
        notes = letters(results, ends, lambda value: height * value / top)
    return theme.figure(
        data, _near_layout(f"Step time ({unit})", (0, top), views, STEP_MARGIN, notes, shapes, phone)
    )


def _all_fit(largest: Mark) -> str:
    return f"{largest.batch:,.0f} sequence{'' if largest.batch == 1 else 's'}, all that fit"


def _over(view: BatchingView) -> list[Spec]:
    """The tint over the batches that memory does not hold."""
    if view.fit is None or view.fit >= view.reach:
        return []
    limit = [limit_line(view.fit, name="capacity")] if view.fit else []
    first, last = near_range(view)
    return [region("over", view.fit or first, last), *limit]


def _near_layout(
    y_title: str,
    y: tuple[float, float],
    views: Sequence[BatchingView],
    margin: Spec,
    notes: Sequence[Spec],
    shapes: Sequence[Spec],
    phone: Spec,
) -> Spec:
    """The layout of both side figures: batches on a linear axis while they are few."""
    widest = max(views, key=lambda view: view.reach)
    scale: Scale = "linear" if widest.linear else "log"
    ticks = {"tickmode": "array", "tickvals": _ticks(widest.reach)} if widest.linear else {}
    return base_layout(
        x_title="Sequences at once",
        y_title=y_title,
        x_scale=scale,
        x_limits=near_range(widest),
        y_limits=y,
        x_axis=ticks,
        y_axis={"nticks": 6},
        height=theme.HEIGHT_SIDE,
        margin=margin,
        notes=notes,
        shapes=shapes,
        phone=phone,
    )


def _ticks(reach: int) -> list[int]:
    """1, round batches, and the last one."""
    step = next(s for s in (1, 2, 4, 8, 16) if reach / s <= 5)
    between = [batch for batch in range(step, reach, step) if 1 < batch <= reach - 0.6 * step]
    return [1, *between, reach]


def _areas(view: BatchingView, scale: float, *, compute: bool) -> list[Spec]:
    """What a step reads, stacked: weights below, caches on top; arithmetic as a line where it can be seen."""
    curves = view.near
    weights, memory = curves.weight_s / scale, (curves.weight_s + curves.cache_s) / scale
    flat = {"type": "scatter", "mode": "lines", "x": curves.batch, "line": {"width": 0}, "hoverinfo": "skip"}
    data = [
        {
            **flat,
            "y": weights,
            "fill": "tozeroy",
            "fillcolor": theme.tint(theme.MEMORY, _WEIGHTS_OPACITY),
            "name": "weights",
        },
        {
            **flat,
            "y": memory,
            "fill": "tonexty",
            "fillcolor": theme.tint(theme.MEMORY, _CACHE_OPACITY),
            "name": "cache",
        },
    ]
    if compute:
        data.append(
            line(curves.batch, curves.compute_s / scale, colour=theme.COMPUTE, width=2, name="compute")
        )
    return data
