"""What the figures of Batching share: ceilings, bands, marks and hues."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from slmopt.figures import theme
from slmopt.figures.marks import band, end_label, line, points
from slmopt.figures.named import Named, stroke
from slmopt.figures.placing import apart
from slmopt.figures.theme import Spec
from slmopt.theory.batch_points import BatchingView, Curves, Mark
from slmopt.theory.roofline import LEVELS
from slmopt.words import numbers as n

Array = npt.NDArray[np.float64]
Inside = npt.NDArray[np.bool_]
Results = Sequence[Named[BatchingView]]

_DOTTED = "2px,3px"


def hues(results: Results) -> list[tuple[Named[BatchingView], str | None, float | None]]:
    """Each result with its hue and width; a single one keeps those of the kinds."""
    if len(results) == 1:
        return [(results[0], None, None)]
    return [
        (r, theme.SCENARIOS[index % len(theme.SCENARIOS)], stroke(index)) for index, r in enumerate(results)
    ]


def now_name(result: Named[BatchingView]) -> str:
    """The present batch, and whose it is where there are several."""
    name = f"{result.result.now.batch:,.0f} now"
    return f"{result.name}, {name}" if result.name else name


def letters(
    results: Results, ends: Sequence[tuple[float, float]], px: Callable[[float], float]
) -> list[Spec]:
    """Each line's letter at its own end (x, y), kept apart in height."""
    shifts = apart([px(y) for _, y in ends])
    return [
        end_label(x, y, result.name, bold=True, dy=shift)
        for (x, y), result, shift in zip(ends, results, shifts, strict=True)
    ]


def estimate(view: BatchingView, curves: Curves, *, per_user: bool = False) -> list[Spec]:
    """The estimate up to what memory holds: its band, and its median as the dashed line within."""
    inside = held(view, curves)
    if not inside.any():
        return []
    batch = curves.batch[inside]
    share = batch if per_user else 1.0
    low, middle, high = (curves.band[level][inside] / share for level in LEVELS)
    return [
        *band(batch, low, high, name="estimated band"),
        line(batch, middle, "estimate", name="estimate"),
    ]


def ceiling(
    view: BatchingView,
    curves: Curves,
    values: Array,
    name: str,
    colour: str | None,
    width: float | None = None,
) -> list[Spec]:
    """A ceiling: solid as far as memory holds the batch, dotted beyond."""
    inside = held(view, curves)
    data: list[Spec] = []
    if inside.any():
        data.append(line(curves.batch[inside], values[inside], colour=colour, width=width, name=name))
    if not inside.all():
        # The dotted part begins where the solid one ends.
        start = max(0, int(inside.sum()) - 1)
        over = f"{name}, over capacity"
        data.append(
            line(curves.batch[start:], values[start:], colour=colour, width=2, dash=_DOTTED, name=over)
        )
    return data


def mark_of(
    view: BatchingView, mark: Mark, y: float, name: str, *, now: bool = False, colour: str | None = None
) -> Spec:
    """A batch's marker at height ``y``; a pointer over it reads what the device and a user get."""
    hover = (
        f"<b>{name}, ceiling</b><br>at most {n.tokens_per_s(mark.device_tokens_per_s)} per device"
        f"<br>at most {n.tokens_per_s(mark.user_tokens_per_s)} per user<br>at least {n.seconds(mark.step_s)} a step"
    )
    if now:
        slow, fast = view.evaluation.estimate["slow"], view.evaluation.estimate["fast"]
        ends = (
            n.figures(slow.device_tokens_per_s, 2),
            n.tokens_per_s(fast.device_tokens_per_s, 2),
        )
        hover += f"<br>estimate: about {ends[0]} to {ends[1]} per device"
    return points([mark.batch], [y], now=now, colour=colour, hover=[hover], name=name)


def held(view: BatchingView, curves: Curves) -> Inside:
    """Which batches memory holds; all where it is unknown."""
    return np.asarray(curves.batch <= (np.inf if view.fit is None else view.fit))
