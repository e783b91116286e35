"""Where words and ranges go: round ranges, widths of text, labels kept off one another. Lengths in px."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from slmopt.figures.marks import Anchor, Vertical, note
from slmopt.figures.theme import Spec

# A figure over the page's whole width beside the panel, and the same on a phone.
WIDE_PX = 1040
PHONE_PX = 358
# Mean width of a character of Source Sans at 13 px, bold ones a little more.
_CHARACTER_PX = 6.3
_LINE_PX = 17
_STOPS = (1.0, 2.0, 5.0, 10.0)
_ENDS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis as drawn: limits as data values, length in px."""

    low: float
    high: float
    length: float
    log: bool = True

    def px(self, value: float) -> float:
        """The distance from the axis's start."""
        if self.log:
            return self.length * math.log(value / self.low) / math.log(self.high / self.low)
        return self.length * (value - self.low) / (self.high - self.low)

    def value(self, px: float) -> float:
        """The value at that distance."""
        share = px / self.length
        return (
            float(self.low * (self.high / self.low) ** share)
            if self.log
            else self.low + share * (self.high - self.low)
        )


def stop_below(value: float) -> float:
    """The largest of … 1, 2, 5, 10, 20 … that is not above the value."""
    decade = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return max(stop * decade for stop in _STOPS if stop * decade <= value * (1 + 1e-9))


def stop_above(value: float) -> float:
    """The smallest of … 1, 2, 5, 10, 20 … that is not below the value."""
    return _first_above(value, _STOPS)


def round_above(value: float) -> float:
    """The smallest round end of a linear axis that is not below the value."""
    return _first_above(value, _ENDS)


def _first_above(value: float, steps: Sequence[float]) -> float:
    decade = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return min(step * decade for step in steps if step * decade >= value * (1 - 1e-9))


def decade_below(value: float) -> float:
    """The power of ten at or below the value."""
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def decade_above(value: float) -> float:
    """The power of ten at or above the value."""
    return float(10.0 ** math.ceil(math.log10(value) - 1e-9))


def width(text: str) -> float:
    """About how wide the text is drawn: its longest line, tags left out."""
    return max(len(re.sub(r"<[^>]*>", "", line)) for line in text.split("<br>")) * _CHARACTER_PX


def height(text: str) -> float:
    """About how high the text is drawn."""
    return (text.count("<br>") + 1) * _LINE_PX


def apart(positions: Sequence[float], gap: float = _LINE_PX) -> list[float]:
    """Shifts that keep labels at least ``gap`` apart, moved as little as their order allows."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    blocks: list[tuple[float, list[int]]] = []
    for index in order:
        block = (positions[index], [index])
        # Labels that would touch share the middle of where they belong.
        while blocks and block[0] - blocks[-1][0] < gap * (len(block[1]) + len(blocks[-1][1])) / 2:
            before = blocks.pop()
            members = [*before[1], *block[1]]
            block = (sum(positions[member] for member in members) / len(members), members)
        blocks.append(block)
    shifts = [0.0] * len(positions)
    for centre, members in blocks:
        for place, member in enumerate(members):
            shifts[member] = centre + (place - (len(members) - 1) / 2) * gap - positions[member]
    return shifts


def clusters(positions: Sequence[float], gap: float) -> list[list[int]]:
    """Neighbours closer than ``gap``, as lists of indices from the lowest position up."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    found: list[list[int]] = []
    for index in order:
        if found and positions[index] - positions[found[-1][-1]] < gap:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def plot_width(margin: Spec, *, phone: bool = False) -> float:
    """Width of the plot itself between these margins."""
    return float((PHONE_PX if phone else WIDE_PX) - margin["l"] - margin["r"])


def plot_height(whole: int, margin: Spec) -> float:
    """Height of the plot itself between these margins."""
    return float(whole - margin["t"] - margin["b"])


def both(words: Callable[[bool], Sequence[Spec]]) -> tuple[list[Spec], Spec]:
    """The notes for wide screens and those for phones (``words(True)``), and what shows a phone its own."""
    notes: list[Spec] = []
    phone: Spec = {}
    for narrow in (False, True):
        for index, word in enumerate(words(narrow)):
            name = f"{'phone' if narrow else 'wide'} {index}"
            notes.append({**word, "name": name, "visible": not narrow})
            phone[f"annotations[{name}].visible"] = narrow
    return notes, phone


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in px from the plot's lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    def shared(self, other: "Box") -> float:
        """The area that both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        up = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(0.0, across) * max(0.0, up)


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


# What another label, a line and the plot's edge cost a label that would cover them, in px² or px.
_LABEL_COST = 20.0
_LINE_COST = 4.0
_EDGE_COST = 400.0
_LINE_PAD = 2.0


@dataclass(slots=True)
class Room:
    """A plot in which labels take their places one after the other, each where it covers least."""

    x: Scale
    y: Scale
    taken: list[Box] = field(default_factory=list)
    curves: list[tuple[Array, Array]] = field(default_factory=list)
    overhang: float = 8.0

    def curve(self, x: Sequence[float] | Array, y: Sequence[float] | Array) -> None:
        """A line that labels keep off."""
        finite = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
        if finite:
            across = np.asarray([self.x.px(a) for a, _ in finite])
            self.curves.append((across, np.asarray([self.y.px(max(b, self.y.low)) for _, b in finite])))

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
        return max((self._ends(curve, left, right)[1] for curve in self.curves), default=0.0)

    def below(self, left: float, right: float) -> float:
        """Px of the lowest curve between two px."""
        return min((self._ends(curve, left, right)[0] for curve in self.curves), default=0.0)

    def place(self, x: float, y: float, text: str, places: Sequence[Place], **more: object) -> Spec:
        """The note beside the point at the first of ``places`` that covers nothing, else where it covers least."""
        across, up = self.x.px(x), self.y.px(y)
        boxes = [place.box(across, up, text) for place in places]
        costs = [self.cost(box) for box in boxes]
        best = costs.index(min(costs))
        self.taken.append(boxes[best])
        chosen = places[best]
        return note(x, y, text, at=chosen.at, up=chosen.up, dx=chosen.dx, dy=chosen.dy, **more)

    def place_if_free(
        self, x: float, y: float, text: str, places: Sequence[Place], **more: object
    ) -> list[Spec]:
        """The note at the first of ``places`` that covers nothing; none where there is no such place."""
        across, up = self.x.px(x), self.y.px(y)
        free = any(self.cost(place.box(across, up, text)) == 0 for place in places)
        return [self.place(x, y, text, places, **more)] if free else []

    def cost(self, box: Box) -> float:
        """How much a label would cover; 0 where it stands free."""
        total = _LABEL_COST * sum(box.shared(other) for other in self.taken)
        for curve in self.curves:
            low, high = self._ends(curve, box.left, box.right)
            total += (
                _LINE_COST
                * (box.right - box.left)
                * max(0.0, min(high, box.top) - max(low, box.bottom) + _LINE_PAD)
            )
        outside = max(0.0, -self.overhang - box.left) + max(0.0, box.right - self.x.length - self.overhang)
        outside += max(0.0, -box.bottom) + max(0.0, box.top - self.y.length - self.overhang)
        return total + _EDGE_COST * outside

    @staticmethod
    def _ends(curve: tuple[Array, Array], left: float, right: float) -> tuple[float, float]:
        """The lowest and highest px of a curve between two px; an empty range where it does not reach there."""
        across, up = curve
        start, end = max(left, float(across[0])), min(right, float(across[-1]))
        if start > end:
            return math.inf, -math.inf
        values = [*np.interp([start, end], across, up), *up[(across >= start) & (across <= end)]]
        return float(min(values)), float(max(values))
