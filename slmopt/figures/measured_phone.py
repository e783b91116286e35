"""The Measurements figure on a phone: the sides one above the other, each group one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.figures.measured_marks import (
    FOOT_PX,
    HEAD_PX,
    LABEL_DX,
    WORD_ROW,
    Drawn,
    Group,
    dividers,
    tick_name,
    value,
)
from slmopt.figures.named import Named
from slmopt.figures.placing import width
from slmopt.figures.theme import Spec
from slmopt.words import numbers as n

_ROW_PX: Final = 23
_TWO_LINES_PX: Final = 29
_GAP_PX: Final = 52
_LEFT: Final = 122
_NAME: Final = 20
_WIDE_PX: Final = 350
_ROOMY: Final = 150


def phone_wish(groups: Sequence[Named[Group]], panels: int) -> int:
    """Height in px that a phone would like."""
    row = _ROW_PX if not any("\n" in group.name for group in groups) else _TWO_LINES_PX
    side = (len(groups) + WORD_ROW) * row
    return round(panels * side + (panels - 1) * _GAP_PX) + HEAD_PX + FOOT_PX


def phone(groups: Sequence[Named[Group]], drawn: Sequence[Drawn], height: int) -> Spec:
    """The phone's form: the sides one above the other, each group one row, its marks on one line with one label."""
    total = len(groups) + WORD_ROW
    plot = height - HEAD_PX - FOOT_PX
    half = (plot - _GAP_PX) / 2 / plot
    told: Spec = {"margin.l": _LEFT}
    for side in drawn:
        axis = f"yaxis{side.suffix}"
        told |= {
            f"{axis}.range": [total, 0],
            f"{axis}.showticklabels": True,
            f"{axis}.tickvals": [at + 0.5 for at in range(len(groups))],
            f"{axis}.ticktext": [tick_name(group, _NAME) for group in groups],
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
        told |= _bands(side) | _labels(side)
    if len(drawn) > 1:
        told["xaxis.title.text"] = ""
    return told


def _bands(side: Drawn) -> Spec:
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


def _labels(side: Drawn) -> Spec:
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
        each = (_WIDE_PX - _LEFT) / side.reach
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
