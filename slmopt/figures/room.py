"""Labels kept off one another, off lines and markers: each takes the place where it covers least. Lengths in px."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from slmopt.figures.marks import Anchor, Vertical, note
from slmopt.figures.placing import Scale, height, width
from slmopt.figures.theme import Spec

Array = npt.NDArray[np.float64]

# What another label, a line and the plot's edge cost a label that would cover them, in px² or px.
_LABEL_COST = 20.0
_LINE_COST = 4.0
_EDGE_COST = 800.0
_LINE_PAD = 2.0
# A label far from its point costs as well, from some distance on.
_AWAY_COST = 30.0
_NEAR_PX = 16.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in px from the plot's lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    def shared(self, other: Box) -> float:
        """The area that both cover."""
        if self.right <= other.left or other.right <= self.left:
            return 0.0
        if self.top <= other.bottom or other.top <= self.bottom:
            return 0.0
        across = min(self.right, other.right) - max(self.left, other.left)
        return across * (min(self.top, other.top) - max(self.bottom, other.bottom))

    def away(self, x: float, y: float) -> float:
        """How far a point is from the rectangle."""
        return math.hypot(max(self.left - x, 0.0, x - self.right), max(self.bottom - y, 0.0, y - self.top))


@dataclass(frozen=True, slots=True)
class Place:
    """A place for a label beside a point: anchors, and the shift from the point."""

    at: Anchor = "left"
    up: Vertical = "bottom"
    dx: float = 0.0
    dy: float = 0.0

    def box(self, x: float, y: float, text: str) -> Box:
        """What the label covers, the point being at (x, y)."""
        long, high = width(text), height(text)
        left = x + self.dx - {"left": 0.0, "center": long / 2, "right": long}[self.at]
        bottom = y + self.dy - {"bottom": 0.0, "middle": high / 2, "top": high}[self.up]
        return Box(left, bottom, left + long, bottom + high)


@dataclass(frozen=True, slots=True)
class Curve:
    """A line in px, from left to right; ``weight`` says how much it matters that no label covers it."""

    across: Sequence[float]
    up: Sequence[float]
    weight: float = 1.0

    def ends(self, left: float, right: float) -> tuple[float, float]:
        """Its lowest and highest px between two px; an empty range where it does not reach there."""
        start, end = max(left, self.across[0]), min(right, self.across[-1])
        if start > end:
            return math.inf, -math.inf
        first, after = bisect_left(self.across, start), bisect_right(self.across, end)
        values = [self._at(start, first), self._at(end, after), *self.up[first:after]]
        return min(values), max(values)

    def _at(self, across: float, index: int) -> float:
        """Its height at a px, which lies between the points before and at this index."""
        if index == 0 or index == len(self.across):
            return self.up[min(index, len(self.up) - 1)]
        before, behind = self.across[index - 1], self.across[index]
        share = (across - before) / (behind - before) if behind > before else 0.0
        return self.up[index - 1] + share * (self.up[index] - self.up[index - 1])


@dataclass(slots=True)
class Room:
    """A plot in which labels take their places one after the other, each where it covers least."""

    x: Scale
    y: Scale
    taken: list[Box] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    overhang: float = 8.0

    def curve(self, x: Sequence[float] | Array, y: Sequence[float] | Array, weight: float = 1.0) -> None:
        """A line that labels keep off."""
        finite = np.isfinite(y)
        across, up = np.asarray(x, float)[finite], np.asarray(y, float)[finite]
        if len(up):
            heights = self.y.all_px(np.fmax(up, self.y.low))
            self.curves.append(Curve(self.x.all_px(across).tolist(), heights.tolist(), weight))

    def upright(self, x: float, low: float, high: float) -> None:
        """A vertical line between two data values."""
        across = self.x.px(x)
        self.taken.append(Box(across - 2, self.y.px(low), across + 2, self.y.px(high)))

    def level(self, y: float, start: float, end: float) -> None:
        """A horizontal line between two data values."""
        up = self.y.px(y)
        self.taken.append(Box(self.x.px(start), up - 1.5, self.x.px(end), up + 1.5))

    def marker(self, x: float, y: float, size: float = 15.0) -> None:
        """A marker on the plot."""
        across, up = self.x.px(x), self.y.px(y)
        self.taken.append(Box(across - size / 2, up - size / 2, across + size / 2, up + size / 2))

    def above(self, left: float, right: float) -> float:
        """Px of the highest curve between two px."""
        return max((curve.ends(left, right)[1] for curve in self.curves), default=0.0)

    def below(self, left: float, right: float) -> float:
        """Px of the lowest curve between two px."""
        return min((curve.ends(left, right)[0] for curve in self.curves), default=0.0)

    def place(self, x: float, y: float, text: str, places: Sequence[Place], **more: Any) -> Spec:
        """The note beside the point at the first of ``places`` that covers nothing, else where it covers least."""
        across, up = self.x.px(x), self.y.px(y)
        boxes = [place.box(across, up, text) for place in places]
        costs = [self.cost(box) + _AWAY_COST * max(0.0, box.away(across, up) - _NEAR_PX) for box in boxes]
        best = costs.index(min(costs))
        self.taken.append(boxes[best])
        chosen = places[best]
        return note(x, y, text, at=chosen.at, up=chosen.up, dx=chosen.dx, dy=chosen.dy, **more)

    def place_if_free(
        self, x: float, y: float, text: str, places: Sequence[Place], **more: Any
    ) -> list[Spec]:
        """The note at the first of ``places`` that covers nothing; none where there is no such place."""
        across, up = self.x.px(x), self.y.px(y)
        free = any(self.cost(place.box(across, up, text)) == 0 for place in places)
        return [self.place(x, y, text, places, **more)] if free else []

    def first_free(self, options: Sequence[tuple[float, float, str, Place]]) -> list[Spec]:
        """The first of (x, y, text, place) that covers nothing; none where all do."""
        costs = [self.cost(place.box(self.x.px(x), self.y.px(y), text)) for x, y, text, place in options]
        return [self.least(options)] if min(costs) == 0 else []

    def least(self, options: Sequence[tuple[float, float, str, Place]]) -> Spec:
        """The first of (x, y, text, place) that covers nothing, else the one that covers least."""
        costs = [self.cost(place.box(self.x.px(x), self.y.px(y), text)) for x, y, text, place in options]
        x, y, text, place = options[costs.index(min(costs))]
        return self.place(x, y, text, [place])

    def cost(self, box: Box) -> float:
        """How much a label would cover; 0 where it stands free."""
        total = _LABEL_COST * sum(box.shared(other) for other in self.taken)
        for curve in self.curves:
            low, high = curve.ends(box.left, box.right)
            covered = max(0.0, min(high, box.top) - max(low, box.bottom) + _LINE_PAD)
            total += curve.weight * _LINE_COST * (box.right - box.left) * covered
        outside = max(0.0, -self.overhang - box.left) + max(0.0, box.right - self.x.length - self.overhang)
        outside += max(0.0, -box.bottom) + max(0.0, box.top - self.y.length - self.overhang)
        return total + _EDGE_COST * outside
