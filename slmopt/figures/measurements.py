"""The figure of Measurements: every row, or each group's median, as a share of its ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slmopt.figures import theme
from slmopt.figures.frame import axis, base_layout
from slmopt.figures.marks import note, points
from slmopt.figures.measured_marks import (
    FOOT_PX,
    HEAD_PX,
    LABEL_DX,
    WORD_ROW,
    Drawn,
    Group,
    Mark,
    Panel,
    dividers,
    places,
    plain,
    rows_high,
    tick_name,
    value,
)
from slmopt.figures.measured_phone import phone, phone_wish
from slmopt.figures.named import Named
from slmopt.figures.placing import width
from slmopt.figures.theme import Spec

_ROW_PX: Final = 36
_LEAST_PX: Final = 24
_MOST_PX: Final = 640
_LEFT: Final = 182
_LONGEST_NAME: Final = 30
_RIGHT: Final = 8
_GAP: Final = 0.03
# What a usual window leaves beside the panel.
_WIDE_PX: Final = 980


def shares(groups: Sequence[Named[Group]], heads: Mapping[Panel, str]) -> theme.Figure:
    """A row a group; decode and prefill side by side, one above the other on a phone.

    ``heads`` names the sides that are drawn.
    """
    drawn = [Drawn(panel, at, places(groups, panel)) for at, panel in enumerate(heads)]
    data: list[Spec] = []
    notes: list[Spec] = []
    shapes: list[Spec] = []
    axes: Spec = {}
    total = rows_high(groups) + WORD_ROW
    for side in drawn:
        data.append(_diamonds(side))
        notes += [
            _head(side, heads[side.panel]),
            *_labels(side, len(drawn)),
            *_words(side, total, len(drawn)),
        ]
        shapes += [*_bands(side), _ceiling_line(side), *_dividers(side, groups)]
        axes |= _axes(side, len(drawn), total, groups)
    high = height(groups, len(drawn))
    layout = base_layout(
        height=high,
        margin={"l": _LEFT, "r": _RIGHT, "t": HEAD_PX, "b": FOOT_PX},
        notes=notes,
        shapes=shapes,
        phone=phone(groups, drawn, phone_height(groups, len(drawn))),
    )
    return theme.figure(data, {**layout, **axes})


def height(groups: Sequence[Named[Group]], panels: int) -> int:
    """The figure's height in px: what its rows need, here and on a phone."""
    total = rows_high(groups) + WORD_ROW
    each = max(_LEAST_PX, min(_ROW_PX, (_MOST_PX - HEAD_PX - FOOT_PX) / total))
    return max(round(total * each) + HEAD_PX + FOOT_PX, min(_MOST_PX, phone_wish(groups, panels)))


def phone_height(groups: Sequence[Named[Group]], panels: int) -> int:
    """The height on a phone; never more than the figure's own."""
    return min(height(groups, panels), phone_wish(groups, panels))


def _diamonds(side: Drawn) -> Spec:
    marks = [place.mark for place in side.places]
    x = [side.at(mark.share) for mark in marks]
    bars = {
        "type": "data",
        "symmetric": False,
        "array": [max(0.0, side.at(mark.high) - at) for mark, at in zip(marks, x, strict=True)],
        "arrayminus": [max(0.0, at - 100 * mark.low) for mark, at in zip(marks, x, strict=True)],
        "color": theme.MEASURED,
        "thickness": 1.5,
        "width": 0,
    }
    y = [place.middle for place in side.places]
    hover = [_hover(mark) for mark in marks]
    refs: Spec = {"xaxis": f"x{side.suffix}", "yaxis": f"y{side.suffix}", "name": side.panel}
    return points(x, y, "measured", hover=hover, error_x=bars, **refs)


def _hover(mark: Mark) -> str:
    first, *rest = (plain(line) for line in mark.hover or ("",))
    return "<br>".join([f"<b>{first}</b>", *rest])


def _head(side: Drawn, head: str) -> Spec:
    mark = f" {theme.SIDE_MARK[side.binds]} {side.binds} decides" if side.binds else ""
    refs: Spec = {"xref": f"x{side.suffix}", "yref": f"y{side.suffix} domain"}
    kind = ", medians" if side.medians else ""
    return note(0, 1, f"<b>{head}{kind}</b>{mark}", up="bottom", dy=4, **refs)


def _labels(side: Drawn, panels: int) -> list[Spec]:
    """Each mark's percentage, on the side where neither the ceiling's line nor the edge is in the way."""
    each = _px(side, panels)
    notes = []
    for at, place in enumerate(side.places):
        mark = place.mark
        text = f"{plain(mark.test)}  {value(mark)}" if mark.test else value(mark)
        room = width(text) + LABEL_DX + 6
        low, high = side.at(min(mark.low, mark.share)), side.at(max(mark.high, mark.share))
        free = ((side.reach if high >= 100 else 98.5) - high) * each
        right = free > room or low * each < room
        beside: Spec = {"at": "left", "dx": LABEL_DX} if right else {"at": "right", "dx": -LABEL_DX}
        refs: Spec = {**side.refs, "name": f"label {side.panel} {at}"}
        if right and free < room:
            refs["bgcolor"] = _VEIL
        notes.append(note(high if right else low, place.middle, text, **refs, **beside))
    return notes


def _px(side: Drawn, panels: int) -> float:
    """About how long a percent is drawn."""
    return ((_WIDE_PX - _LEFT - _RIGHT) / panels - (panels - 1) * 16) / side.reach


_VEIL: Final = theme.tint(theme.PAGE, 0.75)


def _words(side: Drawn, total: float, panels: int) -> list[Spec]:
    """What line and band are, along the bottom."""
    refs = {**side.refs, "up": "bottom", "dy": 1}
    notes = [note(100, total, "ceiling", dx=6, name=f"ceiling word {side.panel}", **refs)]
    if side.bands:
        text = "usual, p10 to p90"
        low = side.bands[-1].low
        fits = (98 - low) * _px(side, panels) > width(text)
        place: Spec = {"dx": 2} if fits else {"at": "right", "dx": -6}
        notes.append(
            note(low if fits else 100, total, text, name=f"usual word {side.panel}", **place, **refs)
        )
    return notes


def _bands(side: Drawn) -> list[Spec]:
    """What is usual, at each mark for its own work; equal neighbours of a group are one area."""
    look = {
        "fillcolor": theme.ESTIMATE,
        "opacity": theme.BAND_OPACITY,
        "line": {"width": 0},
        "layer": "below",
    }
    return [
        {
            "type": "rect",
            "name": f"usual {side.panel} {at}",
            "x0": band.low,
            "x1": band.high,
            "y0": band.top,
            "y1": band.bottom,
            **side.refs,
            **look,
        }
        for at, band in enumerate(side.bands)
    ]


def _ceiling_line(side: Drawn) -> Spec:
    look = {"color": theme.CEILING, "width": theme.KINDS["ceiling"].width}
    ends = {
        "x0": 100,
        "x1": 100,
        "y0": 0,
        "y1": 1,
        "xref": f"x{side.suffix}",
        "yref": f"y{side.suffix} domain",
    }
    return {"type": "line", "layer": "below", "name": "ceiling", "line": look, **ends}


def _dividers(side: Drawn, groups: Sequence[Named[Group]]) -> list[Spec]:
    """A line wherever another model begins."""
    shapes: list[Spec] = []
    look = {"color": theme.LINES, "width": 1}
    for at, top in dividers(groups):
        ends = {"x0": 0, "x1": 1, "y0": top, "y1": top}
        refs = {
            "xref": f"x{side.suffix} domain",
            "yref": f"y{side.suffix}",
            "name": f"divider {side.panel} {at}",
        }
        shapes.append({"type": "line", "layer": "below", "line": look, **ends, **refs})
    return shapes


def _axes(side: Drawn, panels: int, total: float, groups: Sequence[Named[Group]]) -> Spec:
    middles: list[float] = []
    top = 0.0
    for group in groups:
        middles.append(top + group.result.height / 2)
        top += group.result.height
    names: Spec = {
        "tickmode": "array",
        "tickvals": middles,
        "ticktext": [tick_name(group, _LONGEST_NAME) for group in groups],
    }
    half = 0.5 - _GAP / 2
    domain = [0.0, 1.0] if panels == 1 else [0.0, half] if not side.index else [1 - half, 1.0]
    steps: Spec = {"tick0": 0, "dtick": 25 if side.reach <= 180 else 50}
    return {
        f"xaxis{side.suffix}": axis(
            "Share of the ceiling (%)",
            limits=(0, side.reach),
            domain=domain,
            anchor=f"y{side.suffix}",
            **steps,
        ),
        f"yaxis{side.suffix}": axis(
            None, limits=(total, 0), anchor=f"x{side.suffix}", showticklabels=not side.index, **names
        ),
    }
