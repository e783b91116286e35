"""Figures of the Simulate page: who held which slot when, waits as distributions, queue and memory over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, line, note, told
from slmopt.figures.named import Named
from slmopt.figures.placing import apart, plot_height, round_above, stop_above, stop_below
from slmopt.figures.theme import Spec
from slmopt.serving.outcome import Weighted
from slmopt.serving.series import Series, Timeline, shares
from slmopt.words import numbers as n

_DECODE_OPACITY = 0.55
_ROW = 0.78
# Names of lines stand among lines.
_VEIL = theme.tint(theme.PAGE, 0.75)
_SLOT_PX = 15


def timeline(found: Timeline, until: float) -> theme.Figure:
    """A row for each slot: prompts being fed, replies being decoded, and slots kept after the reply's end."""
    scale, unit = n.time_scale(max(until, 1e-9))
    feeding = _stretch(found, found.begin, found.first, theme.COMPUTE, "prefill", scale, unit)
    decoding = _stretch(
        found, found.first, found.end, theme.tint(theme.MEMORY, _DECODE_OPACITY), "decode", scale, unit
    )
    kept = _stretch(found, found.end, found.released, theme.PAGE, "kept, idle", scale, unit)
    kept["marker"] = {"color": theme.PAGE, "line": {"color": theme.MISSED, "width": 1}}
    idle = bool((found.released > found.end + 1e-9).any())
    layout = base_layout(
        x_title=f"Time ({unit})",
        y_title="Slot",
        x_limits=(0, until / scale),
        y_limits=(found.slots - 0.4, -0.6),
        y_axis={"showgrid": False, "nticks": 6},
        height=int(np.clip(90 + _SLOT_PX * found.slots, 160, theme.HEIGHT_MAIN)),
        notes=_key("▼ prompt being read", "▲ reply being written", "✕ slot kept, idle" if idle else ""),
        # Beside the axis's name a phone has room for a word each.
        phone={"annotations[key].text": _words("▼ prompt", "▲ reply", "✕ idle" if idle else "")},
        barmode="overlay",
    )
    return theme.figure([kept, decoding, feeding], layout)


def _stretch(
    found: Timeline, since: np.ndarray, until: np.ndarray, colour: str, name: str, scale: float, unit: str
) -> Spec:
    """One trace: a bar for each stay from ``since`` to ``until``."""
    shown = np.flatnonzero(until > since)
    facts = np.stack([found.request[shown] + 1, found.prompt[shown], found.output[shown]])
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": (until - since)[shown] / scale,
        "base": since[shown] / scale,
        "y": found.slot[shown],
        "width": _ROW,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": facts.T,
        "hovertemplate": f"<b>Request %{{customdata[0]:,}}</b>, {name}<br>%{{customdata[1]:,}} + %{{customdata[2]:,}} tokens"
        f"<br>%{{base:,.3~r}} to %{{x:,.3~r}} {unit}<extra></extra>",
    }


def _key(*words: str) -> list[Spec]:
    return [note(1, 1, _words(*words), xref="paper", yref="paper", at="right", up="bottom", dy=8, name="key")]


def _words(*words: str) -> str:
    return "   ".join(word for word in words if word)


def waits(
    results: Sequence[Named[Weighted]], x_title: str, y_title: str, target_s: float | None = None
) -> theme.Figure:
    """The share that waited no longer than each time; a line for each policy, its name at the median."""
    lines = [(one.name, *shares(one.result)) for one in results]
    lines = [(name, times, share) for name, times, share in lines if len(times)]
    # Tokens that come together wait for nothing, which a logarithmic axis cannot show.
    floor = min((float(times[times > 0].min()) for _, times, _ in lines if (times > 0).any()), default=1e-3)
    top = max((float(times[-1]) for _, times, _ in lines), default=1.0)
    scale, unit = n.time_scale(top)
    low, high = stop_below(floor / scale * 0.8), stop_above(max(top, 1.001 * floor) / scale * 1.2)
    data: list[Spec] = []
    notes: list[Spec] = []
    for at, (name, times, share) in enumerate(lines):
        colour = theme.ESTIMATE if len(lines) == 1 else theme.SCENARIOS[at]
        seen = np.maximum(times, low * scale) / scale
        words = told(name or "estimate", f"%{{x:,.3~r}} {unit}", "%{y:.0f} % wait no longer")
        data.append(line(seen, 100 * share, "estimate", colour=colour, name=name or "estimate", **words))
        if name:
            middle = int(np.searchsorted(share, 0.35 + 0.3 * at))
            # Beside the line on the side that has room.
            left = np.log(seen[middle] / low) > 0.62 * np.log(high / low)
            notes.append(
                note(
                    float(seen[middle]),
                    float(100 * share[middle]),
                    f"<b>{name}</b>",
                    at="right" if left else "left",
                    dx=-8 if left else 8,
                    name=f"line {at}",
                    bgcolor=_VEIL,
                )
            )
    shapes = []
    if target_s is not None and low <= target_s / scale <= high:
        shapes.append(limit_line(target_s / scale, name="target"))
        notes.append(note(target_s / scale, 0, "target", yref="y domain", up="bottom", dx=5, dy=2))
    layout = base_layout(
        x_title=f"{x_title} ({unit})",
        y_title=y_title,
        x_scale="log",
        x_limits=(low, high),
        y_limits=(0, 102),
        height=theme.HEIGHT_SIDE,
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)


def queue(results: Sequence[Named[Series]]) -> theme.Figure:
    """Requests that wait, over time."""
    return _over_time(
        [(one.name, one.result.time, one.result.waiting) for one in results], "Requests waiting"
    )


def memory(results: Sequence[Named[Series]], size: float) -> theme.Figure:
    """Cache bytes held over time, in GB or GiB, against the memory for it."""
    giga, unit = n.giga()
    lines = [(one.name, one.result.time, one.result.bytes / giga) for one in results]
    return _over_time(lines, f"Cache held ({unit})", None if not np.isfinite(size) else size / giga)


def _over_time(
    lines: Sequence[tuple[str, np.ndarray, np.ndarray]], y_title: str, limit: float | None = None
) -> theme.Figure:
    longest = max(float(time[-1]) for _, time, _ in lines)
    scale, unit = n.time_scale(max(longest, 1e-9))
    most = max(float(values.max()) for _, _, values in lines)
    top = round_above(1.08 * max(most, 1e-3))
    shapes: list[Spec] = []
    notes: list[Spec] = []
    if limit is not None and 0 < limit <= 4 * max(most, 1e-9):
        top = max(top, round_above(1.08 * limit))
        shapes.append(limit_line(limit, axis="y", name="memory"))
        notes.append(note(0, limit, f"memory for it {n.figures(limit)}", up="bottom", dx=4, dy=2))
    data = []
    height = plot_height(theme.HEIGHT_SIDE, dict(theme.MARGIN))
    shifts = apart([height * float(values.max()) / top for _, _, values in lines])
    for at, (name, time, values) in enumerate(lines):
        colour = theme.ESTIMATE if len(lines) == 1 else theme.SCENARIOS[at]
        words = told(name or "estimate", f"%{{x:,.3~r}} {unit}", "%{y:,.3~r}")
        drawn = line(time / scale, values, "estimate", colour=colour, name=name or "estimate", **words)
        # The times are even, so two numbers say them all.
        del drawn["x"]
        data.append({**drawn, "x0": time[0] / scale, "dx": (time[-1] - time[0]) / (len(time) - 1) / scale})
        if name:
            peak = int(np.argmax(values))
            notes.append(
                note(
                    float(time[peak]) / scale,
                    float(values[peak]),
                    f"<b>{name}</b>",
                    at="left" if time[peak] < 0.6 * longest else "right",
                    up="bottom",
                    dy=3 + shifts[at],
                    name=f"line {at}",
                    bgcolor=_VEIL,
                )
            )
    layout = base_layout(
        x_title=f"Time ({unit})",
        y_title=y_title,
        x_limits=(0, longest / scale),
        y_limits=(0, top),
        y_axis={"nticks": 6},
        height=theme.HEIGHT_SIDE,
        notes=notes,
        shapes=shapes,
    )
    return theme.figure(data, layout)
