"""Figures of drafting in depth: accepted tokens, and what checking costs."""

from __future__ import annotations

from slmopt.advice.drafts import Checks, Floats
from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import end_label, line, note, told
from slmopt.figures.theme import Spec
from slmopt.words import numbers as n


def accepted(distribution: Floats, reached: Floats) -> theme.Figure:
    """Bars: how often exactly 0 … k drafted tokens are accepted. Steps: how often the first i all are."""
    counts = list(range(len(distribution)))
    bars: Spec = {
        "type": "bar",
        "x": counts,
        "y": distribution,
        "width": 0.6,
        "marker": {"color": theme.ESTIMATE, "line": {"width": 0}},
        "hovertemplate": "<b>expected</b><br>%{x} accepted<br>%{y:.0%} of drafts<extra></extra>",
    }
    by_place = line(
        counts[1:],
        reached,
        "estimate",
        **told("expected", "position %{x}", "%{y:.0%} of drafts reach and pass it"),
    )
    notes = [
        note(x, float(y), n.percent(float(y)), at="center", up="bottom", dy=2)
        for x, y in zip(counts, distribution, strict=True)
        if len(counts) <= 10
    ]
    if len(reached):
        notes.append(
            note(float(counts[1]), float(reached[0]), "pass this place", at="left", up="bottom", dx=8)
        )
    top = max(float(distribution.max()), *(float(v) for v in reached), 0.0) * 1.15
    marks = [0.2 * place for place in range(6) if 0.2 * place <= top]
    layout = base_layout(
        x_title="Drafted tokens accepted",
        y_title="Share of drafts",
        x_limits=(-0.5, counts[-1] + 0.5),
        y_limits=(0.0, top),
        x_axis={"dtick": 1 if len(counts) <= 10 else 4},
        y_axis={"tickmode": "array", "tickvals": marks, "ticktext": [n.percent(v) for v in marks]},
        height=theme.HEIGHT_SIDE,
        margin={"l": 48, "r": 16},
        notes=notes,
    )
    return theme.figure([bars, by_place], layout)


def checking(found: Checks) -> theme.Figure:
    """Time of a pass against the positions that it checks, in steps."""
    step = float(found.by_pass[0])
    lines = [
        ("bytes and operations", found.by_pass, "2px,3px"),
        ("typical", found.typical, None),
        *([("entered", found.entered, None)] if found.entered is not None else []),
    ]
    last = float(found.positions[-1])
    data = [
        line(
            found.positions,
            values / step,
            "estimate",
            dash=dash,
            **told(f"estimate, {name}", "%{x:.0f} positions", "about %{y:.3~r} steps"),
        )
        for name, values, dash in lines
    ]
    notes: list[Spec] = []
    floor = -1.0
    top = max(float(values[-1]) / step for _, values, _ in lines)
    for name, values, _ in sorted(lines, key=lambda entry: float(entry[1][-1])):
        place = max(float(values[-1]) / step, floor)
        floor = place + 0.08 * top
        notes.append(end_label(last, place, name))
    layout = base_layout(
        x_title="Positions checked in one pass",
        y_title="Time (decode steps)",
        x_limits=(1.0, last),
        y_limits=(0.0, top * 1.1),
        height=theme.HEIGHT_SIDE,
        margin={"l": 40, "r": 130},
        notes=notes,
    )
    return theme.figure(data, layout)
