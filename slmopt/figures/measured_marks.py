"""Marks of the Measurements figure and where they stand: rows of groups, the axis's end, and the phone's form."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from slmopt.figures.named import Named
from slmopt.figures.placing import width
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
_PHONE_ROW_PX = 23
_PHONE_TWO_LINES_PX = 29
_PHONE_GAP_PX = 52
_PHONE_LEFT = 122
_PHONE_NAME = 20
_PHONE_PX = 350
_ROOMY = 150


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


def phone_wish(groups: Sequence[Named[Group]], panels: int) -> int:
    """Height in px that a phone would like."""
    row = _PHONE_ROW_PX if not any("\n" in group.name for group in groups) else _PHONE_TWO_LINES_PX
    side = (len(groups) + WORD_ROW) * row
    return round(panels * side + (panels - 1) * _PHONE_GAP_PX) + HEAD_PX + FOOT_PX


def phone(groups: Sequence[Named[Group]], drawn: Sequence[Drawn], height: int) -> Spec:
    """The phone's form: the sides one above the other, each group one row, its marks on one line with one label."""
    total = len(groups) + WORD_ROW
    plot = height - HEAD_PX - FOOT_PX
    half = (plot - _PHONE_GAP_PX) / 2 / plot
    told: Spec = {"margin.l": _PHONE_LEFT}
    for side in drawn:
        axis = f"yaxis{side.suffix}"
        told |= {
            f"{axis}.range": [total, 0],
            f"{axis}.showticklabels": True,
            f"{axis}.tickvals": [at + 0.5 for at in range(len(groups))],
            f"{axis}.ticktext": [tick_name(group, _PHONE_NAME) for group in groups],
            f"{axis}.tickfont.size": 11,
            f"data[{side.index}].y": [place.group + 0.5 for place in side.places],
        }
        if len(drawn) > 1:
            told[f"{axis}.domain"] = [0, half] if side.index else [1 - half, 1]
            told[f"xaxis{side.suffix}.domain"] = [0, 1]
        told[f"annotations[ceiling word {side.panel}].y"] = total
        # Where the axis ends soon after 100 %, the line's name finds no room behind it.
        if side.reach < _ROOMY:
            told[f"annotations[ceiling word {side.panel}].xanchor"] = "right"
            told[f"annotations[ceiling word {side.panel}].xshift"] = -6
        if side.bands:
            told[f"annotations[usual word {side.panel}].y"] = total
            told[f"annotations[usual word {side.panel}].text"] = "usual"
        for at, _ in dividers(groups):
            told |= {f"shapes[divider {side.panel} {at}].{end}": at for end in ("y0", "y1")}
        told |= _phone_bands(side) | _phone_labels(side)
    if len(drawn) > 1:
        told["xaxis.title.text"] = ""
    return told


def _phone_bands(side: Drawn) -> Spec:
    told: Spec = {}
    seen: set[int] = set()
    for at, band in enumerate(side.bands):
        name = f"shapes[usual {side.panel} {at}]"
        if band.group in seen:
            told[f"{name}.visible"] = False
        else:
            told |= {f"{name}.y0": band.group, f"{name}.y1": band.group + 1}
        seen.add(band.group)
    return told


def _phone_labels(side: Drawn) -> Spec:
    """One label a group, beside its rightmost mark; it stands on the left where the ceiling's line is near."""
    told: Spec = {}
    numbers = {place.group for place in side.places}
    for group in numbers:
        members = [(at, place.mark) for at, place in enumerate(side.places) if place.group == group]
        shares = [mark.share for _, mark in members]
        for at, _ in members[1:]:
            told[f"annotations[label {side.panel} {at}].visible"] = False
        low, high = min(shares), max(shares)
        text = value(members[0][1])
        if len(members) > 1:
            least, most = n.percent(low), n.percent(high)
            text = most if least == most else f"{least.removesuffix(f'{n.NBSP}%')} to {most}"
            text = f"<b>{text} ✕</b>" if any(mark.above for _, mark in members) else text
        ends = [side.at(max(mark.high, mark.share)) for _, mark in members]
        last = max((mark for _, mark in members), key=lambda mark: mark.share)
        start = side.at(min(last.low, last.share))
        each = (_PHONE_PX - _PHONE_LEFT) / side.reach
        free = ((99.0 if max(ends) < 100 else side.reach) - max(ends)) * each
        needed = width(text) + LABEL_DX
        left = free < needed < start * each
        told |= {
            f"annotations[label {side.panel} {members[0][0]}].{name}": given
            for name, given in (
                ("text", text),
                ("y", group + 0.5),
                ("x", start if left else max(ends)),
                ("xanchor", "right" if left else "left"),
                ("xshift", -LABEL_DX if left else LABEL_DX),
            )
        }
    return told


def tick_name(group: Named[Group], longest: int) -> str:
    """The group's name for an axis: its model is cut rather than its weights; a second line is the device."""
    first, _, second = group.name.partition("\n")
    end = group.result.end
    if len(first) > longest:
        keep = max(4, longest - len(end) - 2)
        first = f"{first[:keep].rstrip()}… {end}" if end else f"{first[: longest - 1]}…"
    lines = [first, second if len(second) <= longest else f"{second[: longest - 1]}…"]
    return "<br>".join(plain(line) for line in lines if line)
