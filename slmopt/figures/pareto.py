"""Combinations as points on two quantities, the ones that no other beats joined by a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, line, note, points
from slmopt.figures.theme import Spec

Floats = npt.NDArray[np.float64]
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points, which of them are on the front, and what a pointer over each reads; ``names`` label the front."""

    x: Floats
    y: Floats
    front: npt.NDArray[np.bool_]
    hover: Sequence[str]
    names: Sequence[str]


def pareto(cloud: Cloud, x_title: str, y_title: str, y_target: float | None = None) -> theme.Figure:
    """Estimates: all points pale, the front strong; both axes logarithmic."""
    order = np.argsort(cloud.x[cloud.front], kind="stable")
    fx, fy = cloud.x[cloud.front][order], cloud.y[cloud.front][order]
    hover = np.array(cloud.hover, dtype=object)
    names = [np.array(cloud.names, dtype=object)[cloud.front][at] for at in order]
    data: list[Spec] = [
        points(cloud.x, cloud.y, "estimate", size=5, hover=list(hover), opacity=0.35),
        line(fx, fy, "estimate", line={"color": theme.ESTIMATE, "width": 2, "shape": "hv"}),
        points(fx, fy, "estimate", hover=list(hover[cloud.front][order])),
    ]
    notes = [
        note(float(fx[at]), float(fy[at]), names[at], at="left", up="bottom", dx=6, dy=4, name=f"front {at}")
        for at in _spread(len(names))
    ]
    shapes = []
    if y_target is not None:
        shapes.append(limit_line(y_target, axis="y"))
        notes.append(
            note(1, y_target, "target", at="right", up="top", xref="x domain", dx=-4, dy=-2, name="target")
        )
    phone = {f"annotations[front {at}].visible": False for at in _spread(len(names))[1:-1]}
    layout = base_layout(
        x_title=x_title,
        y_title=y_title,
        x_scale="log",
        y_scale="log",
        x_limits=_limits(cloud.x, 2.2),
        y_limits=_limits(np.append(cloud.y, [] if y_target is None else [y_target]), 1.3),
        notes=notes,
        shapes=shapes,
        phone=phone,
    )
    return theme.figure(data, layout)


def _spread(count: int) -> list[int]:
    """At most a few of the front's points, ends included, whose names have room."""
    if count <= _NAMED:
        return list(range(count))
    return sorted({round(at) for at in np.linspace(0, count - 1, _NAMED).tolist()})


def _limits(values: Floats, room: float) -> tuple[float, float]:
    return float(values.min()) / 1.2, float(values.max()) * room
