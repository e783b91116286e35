"""Figures around the cache: blocks, a shared prefix, the host's memory, sessions; and a prompt in pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import Anchor, bar, limit_line, line, note, points, told
from slmopt.figures.placing import apart, plot_height, round_above, stop_above, stop_below
from slmopt.figures.theme import Spec
from slmopt.serving.holding import Moving, Sessions, Sharing, Stranded
from slmopt.serving.pools import Stall
from slmopt.words import numbers as n

_SIDES: dict[str, Anchor] = {"left": "left", "right": "right"}


def stranded(rows: Sequence[Stranded]) -> theme.Figure:
    """The share of the bytes held that holds nothing, a bar for each block size; reserving last."""
    shares = [100 * row.share for row in rows]
    places = list(range(len(rows)))
    notes = [
        note(share, at, f"<b>{share:.0f}{n.NBSP}%</b>{_fit(row)}", at="left", dx=8, name=f"row {at}")
        for at, (row, share) in enumerate(zip(rows, shares, strict=True))
    ]
    layout = base_layout(
        x_title="Of the cache held, empty (%)",
        x_limits=(0, max(10.0, 1.5 * max(shares))),
        y_limits=(len(rows) - 0.45, -0.55),
        y_axis={
            "tickmode": "array",
            "tickvals": places,
            "ticktext": ["Longest length" if not row.block else f"Blocks of {row.block:,}" for row in rows],
            "showgrid": False,
        },
        height=theme.HEIGHT_SIDE,
        margin={"l": 112, "r": 8, "t": 14, "b": 46},
        notes=notes,
    )
    return theme.figure([bar(shares, places, "memory", hatched=False)], layout)


def _fit(row: Stranded) -> str:
    return "" if np.isnan(row.fit) else f", {n.count(row.fit)} fit"


def sharing(found: Sharing) -> theme.Figure:
    """The mean first token against the share of prompts that hit."""
    top = float(found.ttft_s[0])
    scale, unit = n.time_scale(top)
    share = 100 * found.hit_rate
    data = [
        line(
            share,
            found.ttft_s / scale,
            "estimate",
            **told("estimate", "%{x:.0f} % hit", f"about %{{y:,.3~r}} {unit}"),
        ),
        points([0, 100], [top / scale, float(found.ttft_s[-1]) / scale], "estimate"),
    ]
    notes = [
        note(0, top / scale, "nobody hits", at="left", up="bottom", dx=10, dy=3),
        note(100, float(found.ttft_s[-1]) / scale, "everybody hits", at="right", up="top", dx=-4, dy=-8),
    ]
    layout = base_layout(
        x_title="Prompts that find the prefix cached (%)",
        y_title=f"First token, mean ({unit})",
        x_limits=(-3, 103),
        y_limits=(0, round_above(1.15 * top / scale)),
        height=theme.HEIGHT_SIDE,
        notes=notes,
    )
    return theme.figure(data, layout)


def moving(found: Moving) -> theme.Figure:
    """Seconds to bring a sequence's cache back from the host, and to compute it again, against its context."""
    low = stop_below(float(min(found.load_s.min(), found.compute_s.min())) * 1e3)
    high = stop_above(float(max(found.load_s.max(), found.compute_s.max())) * 1e3)
    now, load, again = found.now
    data = [
        line(
            found.context,
            1e3 * found.load_s,
            **told("link's rate", "%{x:,.3~r} tokens", "at least %{y:,.3~r} ms"),
        ),
        line(
            found.context,
            1e3 * found.compute_s,
            "estimate",
            **told("estimate", "%{x:,.3~r} tokens", "about %{y:,.3~r} ms"),
        ),
        points([now], [1e3 * load], now=True, hover=[f"<b>bring back</b><br>at least {n.seconds(load)}"]),
        points(
            [now],
            [1e3 * again],
            "estimate",
            now=True,
            hover=[f"<b>compute again</b><br>about {n.seconds(again, 2)}"],
        ),
    ]
    above = again >= load
    notes = [
        note(
            now,
            1e3 * load,
            "<b>bring back</b>",
            up="top" if above else "bottom",
            dx=10,
            dy=-4 if above else 4,
        ),
        note(
            now,
            1e3 * again,
            "<b>compute again</b>",
            at="right",
            up="bottom" if above else "top",
            dx=-10,
            dy=4 if above else -4,
        ),
    ]
    layout = base_layout(
        x_title="Context (tokens)",
        y_title="Time (ms)",
        x_scale="log",
        y_scale="log",
        x_limits=(float(found.context[0]), float(found.context[-1])),
        y_limits=(low, high),
        height=theme.HEIGHT_SIDE,
        notes=notes,
    )
    return theme.figure(data, layout)


def sessions(found: Sessions) -> theme.Figure:
    """The first token of each turn, with the cache of the turns before and without."""
    top = float(found.again_s.max())
    scale, unit = n.time_scale(top)
    data: list[Spec] = []
    notes = []
    height = plot_height(theme.HEIGHT_SIDE, dict(theme.MARGIN))
    ends = [height * float(values[-1]) / top for values in (found.again_s, found.reused_s)]
    lines = (
        ("computed again", found.again_s, theme.SCENARIOS[1]),
        ("cache kept", found.reused_s, theme.SCENARIOS[0]),
    )
    for (name, values, colour), shift in zip(lines, apart(ends), strict=True):
        words = told(f"{name}, estimate", "turn %{x:,.0f}", f"about %{{y:,.3~r}} {unit}")
        data.append(line(found.turn, values / scale, "estimate", colour=colour, name=name, **words))
        notes.append(
            note(
                float(found.turn[-1]),
                float(values[-1]) / scale,
                f"<b>{name}</b>",
                at="right",
                up="bottom",
                dx=-4,
                dy=6 + shift,
                name=name,
            )
        )
    layout = base_layout(
        x_title="Turn",
        y_title=f"First token ({unit})",
        x_limits=(1, max(2.0, float(found.turn[-1]))),
        y_limits=(0, round_above(1.2 * top / scale)),
        height=theme.HEIGHT_SIDE,
        notes=notes,
    )
    return theme.figure(data, layout)


def stall(found: Stall) -> theme.Figure:
    """Worst gap of those who decode, and the newcomer's first token, against the size of the pieces."""
    top = float(max(found.gap_s.max(), found.ttft_s.max(), found.whole.gap_s))
    low, high = stop_below(found.step_s * 1e3 * 0.6), stop_above(top * 1e3 * 1.1)
    data: list[Spec] = []
    notes: list[Spec] = []
    last = len(found.chunk) - 1
    lines = (
        ("first token", found.ttft_s, theme.SCENARIOS[0], last // 4, "left", 6),
        ("worst gap", found.gap_s, theme.SCENARIOS[1], (2 * last) // 3, "right", -8),
    )
    for name, values, colour, at, side, dx in lines:
        words = told(f"{name}, estimate", "pieces of %{x:,.0f} tokens", "about %{y:,.3~r} ms")
        data.append(line(found.chunk, 1e3 * values, "estimate", colour=colour, name=name, **words))
        place = float(found.chunk[at]), 1e3 * float(values[at])
        notes.append(note(*place, f"<b>{name}</b>", at=_SIDES[side], up="bottom", dx=dx, dy=4, name=name))
    shapes = [limit_line(1e3 * found.step_s, axis="y", name="step")]
    notes.append(
        note(
            float(found.chunk[-1]),
            1e3 * found.step_s,
            "a step alone, or separate pools",
            at="right",
            up="top",
            dx=-4,
            dy=-2,
        )
    )
    if found.target_s is not None and low < 1e3 * found.target_s < high:
        shapes.append(limit_line(1e3 * found.target_s, axis="y", name="target"))
        notes.append(note(float(found.chunk[0]), 1e3 * found.target_s, "target", up="bottom", dx=6, dy=2))
    layout = base_layout(
        x_title="Prompt fed in pieces of (tokens)",
        y_title="Time (ms)",
        x_scale="log",
        y_scale="log",
        x_limits=(float(found.chunk[0]) * 0.9, max(float(found.chunk[-1]), 2.0) * 1.1),
        y_limits=(low, high),
        height=theme.HEIGHT_SIDE,
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)
