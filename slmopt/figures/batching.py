"""Batching's main figure: the device's throughput against the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.figures import theme
from slmopt.figures.batch_parts import Results, ceiling, estimate, hues, letters, mark_of, now_name
from slmopt.figures.batch_words import FIRST_BATCH, throughput_margin, throughput_words
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, line, points, region
from slmopt.figures.placing import Scale, plot_height, stop_above, stop_below
from slmopt.figures.theme import Spec
from slmopt.theory.batch_points import BatchingView
from slmopt.words import numbers as n

_THIN = 1.5


def throughput(results: Results) -> theme.Figure:
    """Tokens/s of the device at each batch, both axes logarithmic.

    One scenario shows the estimate's band, the line of weights alone, crossover, capacity and limit; several show
    their ceilings, a hue and a letter each.
    """
    views = [result.result for result in results]
    top = max(view.top for view in views)
    y = _rate_range(views)
    phone: Spec = {}
    if len(results) == 1:
        data, shapes = _throughput_lines(views[0]), _throughput_limits(views[0])
        notes, phone = throughput_words(views[0], y)
    else:
        data, shapes = [], []
        for result, hue, width in hues(results):
            view = result.result
            data += ceiling(view, view.wide, view.wide.device, result.name, hue, width)
            data.append(
                mark_of(view, view.now, view.now.device_tokens_per_s, now_name(result), now=True, colour=hue)
            )
        scale = Scale(*y, plot_height(theme.HEIGHT_MAIN, throughput_margin(y)))
        ends = [(view.wide.batch[-1], view.wide.device[-1]) for view in views]
        notes = letters(results, ends, scale.px)
    layout = base_layout(
        x_title="Sequences at once",
        y_title="Per device (tokens/s)",
        x_scale="log",
        y_scale="log",
        x_limits=(FIRST_BATCH, top),
        y_limits=y,
        margin=throughput_margin(y),
        notes=notes,
        shapes=shapes,
        phone={**phone, "margin.l": throughput_margin(y)["l"]},
    )
    return theme.figure(data, layout)


def _rate_range(views: Sequence[BatchingView]) -> tuple[float, float]:
    """Round limits around every curve; they do not move with the present batch."""
    low = min(float(view.wide.band["slow"][0]) for view in views)
    high = max(float(np.nanmax([*view.wide.device, *view.weights_only])) for view in views)
    return stop_below(low / 1.6), stop_above(high * 2.2)


def _throughput_lines(view: BatchingView) -> list[Spec]:
    curves = view.wide
    data = estimate(view, curves)
    data.append(line(curves.batch, view.weights_only, width=_THIN, name="weights alone"))
    data += ceiling(view, curves, curves.device, "with cache reads", None)
    if view.crossing_weights_only is not None and 1 <= view.crossing_weights_only[0] <= view.top:
        batch, rate = view.crossing_weights_only
        hover = (
            f"<b>Crossover by weights alone, ceiling</b><br>{n.figures(batch)} sequences"
            f"<br>at most {n.tokens_per_s(rate)} per device"
        )
        data.append(points([batch], [rate], hover=[hover], name="crossover by weights alone"))
    if view.crossing is not None and 1 <= view.crossing.batch <= view.top:
        data.append(
            mark_of(
                view,
                view.crossing,
                view.crossing.device_tokens_per_s,
                f"Crossover at {n.figures(view.crossing.batch)}",
            )
        )
    if view.now.batch != 1:
        data.append(mark_of(view, view.first, view.first.device_tokens_per_s, "1 sequence"))
    largest = view.largest_within(view.top)
    if largest is not None and largest.batch != 1:
        name = f"{largest.batch:,.0f} sequences, all that fit"
        data.append(mark_of(view, largest, largest.device_tokens_per_s, name))
    return [
        *data,
        mark_of(view, view.now, view.now.device_tokens_per_s, f"{view.now.batch:,.0f} now", now=True),
    ]


def _throughput_limits(view: BatchingView) -> list[Spec]:
    shapes: list[Spec] = []
    if view.fit is not None and view.fit < view.top:
        shapes.append(region("over", view.fit or FIRST_BATCH, view.top))
        if view.fit:
            shapes.append(limit_line(view.fit, name="capacity"))
    limit = view.evaluation.ceiling.crossover.throughput_limit
    if limit is not None and view.crossing is None:
        shapes.append(limit_line(limit, axis="y", start=max(1, view.fit or 1), end=view.top, name="limit"))
    return shapes
