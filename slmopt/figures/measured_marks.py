"""Marks of the Measurements figure and where they stand: rows of groups, and the axis's end."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from slmopt.figures.named import Named
from slmopt.figures.theme import Spec
from slmopt.words import numbers as n

Panel = Literal["decode", "prefill"]
Binds = Literal["memory", "compute", ""]

FARTHEST: Final = 2.6
"""Shares beyond this are errors by a factor, and would press all others against the axis."""

WORD_ROW: Final = 0.9
"""Height of the row of words at the bottom, in rows."""

HEAD_PX: Final = 26
FOOT_PX: Final = 50
LABEL_DX: Final = 11
_SLOT = 0.62


@dataclass(frozen=True, slots=True)
class Mark:
    """One diamond: a row, or the median of several.

    ``share``, ``low`` and ``high`` are fractions of the ceiling: a row's spread, or where its group's rows lie;
    ``usual`` is the band of the reference measurements for this work. ``above`` counts rows above their ceiling.
    ``test`` is what the row timed, empty where the group has no other; ``hover`` are lines of plain text.
    """

    panel: Panel
    share: float
    low: float
    high: float
    usual: tuple[float, float]
    test: str = ""
    rows: int = 1
    above: int = 0
    side: Binds = ""
    hover: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The marks of one model and weight format.

    ``model`` tells where a dividing line is drawn, ``end`` what a short form of the group's name must keep.
    """

    model: str
    marks: tuple[Mark, ...]
    end: str = ""

    def of(self, panel: Panel) -> list[Mark]:
        """The marks of one side of the figure."""
        return [mark for mark in self.marks if mark.panel == panel]

    @property
    def height(self) -> float:
        """Rows that the group takes: one, or a little less for each mark."""
        return max(1.0, _SLOT * max(len(self.of("decode")), len(self.of("prefill"))))


@dataclass(frozen=True, slots=True)
class Place:
    """A mark with its group's number, its height on the axis, and where its part of the row begins and ends."""

    mark: Mark
    group: int
    middle: float
    top: float
    bottom: float


@dataclass(slots=True)
class Band:
    """What is usual, in percent, over a part of a group's row."""

    group: int
    low: float
    high: float
    top: float
    bottom: float


def places(groups: Sequence[Named[Group]], panel: Panel) -> list[Place]:
    """The marks of a side from the top down."""
    found: list[Place] = []
    top = 0.0
    for number, group in enumerate(groups):
        marks, high = group.result.of(panel), group.result.height
        for at, mark in enumerate(marks):
            step = high / len(marks)
            middle = top + high / 2 + (at - (len(marks) - 1) / 2) * min(step, _SLOT)
            found.append(Place(mark, number, middle, top + at * step, top + (at + 1) * step))
        top += high
    return found


def rows_high(groups: Sequence[Named[Group]]) -> float:
    """All groups together, in rows."""
    return sum(group.result.height for group in groups)


def dividers(groups: Sequence[Named[Group]]) -> list[tuple[int, float]]:
    """Number and height of each group with which another model begins."""
    found: list[tuple[int, float]] = []
    top = 0.0
    for at, group in enumerate(groups):
        if at and group.result.model != groups[at - 1].result.model:
            found.append((at, top))
        top += group.result.height
    return found


@dataclass(frozen=True)
class Drawn:
    """One side of the figure, the first or the second."""

    panel: Panel
    index: int
    places: list[Place]

    @property
    def suffix(self) -> str:
        """What Plotly adds to the names of its axes."""
        return "2" if self.index else ""

    @property
    def refs(self) -> Spec:
        """Its axes, for words and shapes."""
        return {"xref": f"x{self.suffix}", "yref": f"y{self.suffix}"}

    @property
    def medians(self) -> bool:
        """Whether a mark stands for several rows."""
        return any(place.mark.rows > 1 for place in self.places)

    @property
    def binds(self) -> Binds:
        """The side of the roofline that decides for all its marks, if one does."""
        sides = {place.mark.side for place in self.places}
        return sides.pop() if len(sides) == 1 else ""

    @cached_property
    def reach(self) -> float:
        """Where the axis ends, in percent."""
        highest = max((max(place.mark.high, place.mark.share) for place in self.places), default=1.0)
        highest = min(highest, FARTHEST)
        return max(118.0, 100 * highest * (1.3 if highest > 1 else 1.0))

    def at(self, share: float) -> float:
        """A share's place; what is beyond the axis stands near its end, marked by an arrow."""
        return min(100 * share, 0.8 * self.reach) if share > FARTHEST else 100 * share

    @cached_property
    def bands(self) -> list[Band]:
        """What is usual at each mark; equal neighbours of a group are one."""
        found: list[Band] = []
        for place in self.places:
            low, high = (100 * end for end in place.mark.usual)
            if math.isnan(low):
                continue
            last = found[-1] if found else None
            alike = last is not None and abs(last.low - low) + abs(last.high - high) < 1
            if last is not None and alike and last.group == place.group:
                last.bottom = place.bottom
            else:
                found.append(Band(place.group, low, high, place.top, place.bottom))
        return found


def plain(text: str) -> str:
    """Text in which no tag that Plotly knows takes effect."""
    return html.escape(text, quote=False)


def value(mark: Mark) -> str:
    """A mark's share, and that it is above the ceiling."""
    text = n.percent(mark.share)
    if not mark.above:
        return text
    if mark.rows > 1:
        return f"{text}, {mark.above:,} ✕"
    return f"<b>{text} ✕{' →' if mark.share > FARTHEST else ''}</b>"


def tick_name(group: Named[Group], longest: int) -> str:
    """The group's name for an axis: its model is cut rather than its weights; a second line is the device."""
    first, _, second = group.name.partition("\n")
    end = group.result.end
    if len(first) > longest:
        keep = max(4, longest - len(end) - 2)
        first = f"{first[:keep].rstrip()}… {end}" if end else f"{first[: longest - 1]}…"
    lines = [first, second if len(second) <= longest else f"{second[: longest - 1]}…"]
    return "<br>".join(plain(line) for line in lines if line)
