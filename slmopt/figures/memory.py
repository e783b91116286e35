"""Figures of the Memory page: what-ifs as rows, sequences against context, paged against reserved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import bar, end_label, limit_line, line, note, points, safe, told
from slmopt.figures.named import Named
from slmopt.figures.placing import folded, shortened
from slmopt.figures.theme import Spec
from slmopt.theory.memory import Capacity
from slmopt.words import numbers as n

_ROOM = 1.28
# Room for a row's name beside its bar.
_NAMES_PX = 182.0
_NAMES_PHONE_PX = 96.0


def what_ifs(rows: Sequence[Named[Capacity]]) -> theme.Figure:
    """A row for each what-if: weights, the sequences of now, and the room left for more. Sizes in GB or GiB."""
    giga, unit = n.giga()
    data: list[Spec] = []
    notes: list[Spec] = []
    rows = [Named(safe(row.name), row.result) for row in rows]
    # Card and host differ: where the rows are not all of one memory, no one line is their limit.
    usable = rows[0].result.usable if len({row.result.usable for row in rows}) == 1 else None
    now_fit = rows[0].result.max_sequences
    reach = (usable or max(r.result.held_now for r in rows)) / giga
    for at, row in enumerate(rows):
        c = row.result
        fixed = (c.fixed_bytes + c.shared_bytes) / giga
        drafts = c.draft_bytes / giga
        over = c.usable is not None and c.held_now > c.usable
        held = c.now * c.bytes_per_sequence / giga
        reach = max(reach, fixed + held)
        data.append(
            bar(
                [fixed],
                [at],
                "memory",
                hovertext=[_hover(row)],
                hovertemplate="%{hovertext}<extra></extra>",
                hoverinfo=None,
            )
        )
        if drafts:
            data.append(_drafts(drafts, at, c.weight_bytes / giga))
        cells = bar([held], [at], "over" if over else "memory", base=[fixed], hatched=over)
        if not over:
            cells["marker"]["color"] = theme.tint(theme.MEMORY, 0.5)
        data.append(cells)
        notes += _row_words(row, at, max(fixed + held, (usable or 0.0) / giga), now_fit)
        if c.max_sequences is not None and c.max_sequences > c.now:
            more = c.max_sequences - c.now
            width = more * c.bytes_per_sequence / giga
            data.append(bar([width], [at], "memory", base=[fixed + held], outline=True))
            if width > 0.12 * reach:
                notes.append(note(fixed + held + width / 2, at, f"{more:,} more", at="center"))
    if usable is not None:
        notes.append(
            note(usable / giga, 1, n.trimmed(n.bytes_(usable)), at="right", up="bottom", yref="paper", dy=2)
        )
    first = rows[0].result
    notes.append(note(0, -0.36, _first_words(first), at="left", up="bottom", name="first words"))
    layout = base_layout(
        x_title=f"Memory ({unit})",
        x_limits=(0, reach * _ROOM),
        y_limits=(len(rows) - 0.45, -0.85),
        y_axis={
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": [folded(r.name, _NAMES_PX) for r in rows],
            "showgrid": False,
        },
        height=theme.BAR_ROW_PX * len(rows) + 90,
        margin={"l": 190, "r": 8, "t": 20, "b": 46},
        notes=notes,
        shapes=[] if usable is None else [limit_line(usable / giga)],
        phone={
            "margin.l": 104,
            "xaxis.range": [0, reach * 1.75],
            # All of it would cross the capacity's line.
            "annotations[first words].text": f"weights {n.figures(first.weight_bytes / giga)}",
            "yaxis.ticktext": [folded(row.name, _NAMES_PHONE_PX) for row in rows],
        },
        barmode="overlay",
    )
    return theme.figure(data, layout)


def _drafts(size: float, at: int, base: float) -> Spec:
    """The weights that draft, over the bar of all that is held before the first sequence."""
    found = bar([size], [at], "memory", base=[base])
    found["marker"]["color"] = theme.tint(theme.MEMORY, 0.75)
    return found


def _first_words(c: Capacity) -> str:
    giga, _ = n.giga()
    word = "sequence" if c.now == 1 else "sequences"
    drafts = f", drafts {n.figures(c.draft_bytes / giga)}" if c.draft_bytes else ""
    return f"weights {n.figures(c.weight_bytes / giga)}{drafts}, {c.now:,} {word} {n.figures(c.now * c.bytes_per_sequence / giga)}"


def _row_words(row: Named[Capacity], at: int, end: float, now_fit: int | None) -> list[Spec]:
    c = row.result
    if c.max_sequences is None:
        return []
    gain = f", {n.factor(c.max_sequences / now_fit)}" if at and now_fit else ""
    text = f"<b>{c.max_sequences:,} fit</b>{gain}" if c.max_sequences else "<b>✕ none fits</b>"
    return [note(end, at, text, at="left", dx=10)]


def _hover(row: Named[Capacity]) -> str:
    c = row.result
    return (
        f"<b>{row.name}</b><br>weights {n.bytes_(c.weight_bytes)}"
        f"{f'<br>what drafts {n.bytes_(c.draft_bytes)}' if c.draft_bytes else ''}<br>a sequence {n.bytes_(c.bytes_per_sequence)}"
        f"<br>{n.count(c.max_sequences)} fit"
    )


def against_context(
    context: npt.NDArray[np.float64],
    lines: Sequence[Named[npt.NDArray[np.float64]]],
    now: tuple[float, float] | None,
) -> theme.Figure:
    """Sequences that fit against context, both logarithmic; the first line is the present scenario."""
    data: list[Spec] = []
    notes: list[Spec] = []
    # Where nothing is kept for a sequence any number fits, and no place stands for that.
    drawn = [Named(one.name, np.where(_some(one.result), one.result, np.nan)) for one in lines]
    tops = [float(np.max(one.result, where=_some(one.result), initial=1.0)) for one in drawn]
    for at, one in enumerate(drawn):
        data.append(
            line(
                context,
                one.result,
                width=3 if at == 0 else 1.5,
                **told(one.name, "%{x:,.3~r} tokens", "%{y:,.0f} fit"),
            )
        )
    notes += _end_labels(context, lines)
    if now is not None and 1 <= now[1] < np.inf:
        hover = f"<b>now</b><br>{now[0]:,.0f} tokens<br>{now[1]:,.0f} fit"
        data.append(points([now[0]], [now[1]], now=True, hover=[hover]))
        notes.append(note(now[0], now[1], f"<b>now</b> {now[1]:,.0f}", at="right", up="top", dx=-8, dy=-4))
    top = max([*tops, 10.0])
    layout = base_layout(
        x_title="Context (tokens)",
        y_title="Sequences that fit",
        x_scale="log",
        y_scale="log",
        x_limits=(float(context[0]), float(context[-1])),
        y_limits=(0.8, 10.0 ** np.ceil(np.log10(top))),
        height=theme.HEIGHT_SIDE,
        margin={"r": theme.MARGIN_END_LABELS},
        notes=notes,
    )
    return theme.figure(data, layout)


def _some(fit: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Where a number of sequences fits, at least one."""
    return (fit >= 1) & np.isfinite(fit)


def _end_labels(
    context: npt.NDArray[np.float64], lines: Sequence[Named[npt.NDArray[np.float64]]]
) -> list[Spec]:
    """Names at the lines' ends, pushed apart where ends lie close (log scale)."""
    ends = []
    for at, one in enumerate(lines):
        alive = np.flatnonzero(_some(one.result))
        if alive.size:
            last = int(alive[-1])
            ends.append((float(one.result[last]), float(context[last]), one.name, at == 0))
    ends.sort()
    notes, floor = [], 0.0
    for value, x, name, bold in ends:
        place = max(value, floor)
        floor = place * 1.55
        notes.append(end_label(x, place, shortened(name, theme.MARGIN_END_LABELS - 12), bold=bold))
    return notes


def holdings(rows: Sequence[Named[float]]) -> theme.Figure:
    """Requests held, a bar for each way to give memory out; the first is what the others are compared with."""
    counts = [row.result for row in rows]
    places = list(range(len(rows)))
    most = max([*(count for count in counts if np.isfinite(count)), 1.0])
    first = counts[0]
    # Any number has no length: its bar stays away and its words begin at the axis.
    lengths = [count if np.isfinite(count) else 0.0 for count in counts]
    notes = []
    for at, count in enumerate(counts):
        compares = at and first and 0 < count != first and np.isfinite(first + count)
        gain = f", {n.figures(count / first)}×" if compares else ""
        notes.append(note(lengths[at], at, f"<b>{n.count(count)}</b>{gain}", at="left", dx=8))
    layout = base_layout(
        x_title="Requests held",
        x_limits=(0, most * 1.3),
        y_limits=(len(rows) - 0.45, -0.55),
        y_axis={
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [row.name for row in rows],
            "showgrid": False,
        },
        height=theme.HEIGHT_SIDE,
        margin={"l": 140, "r": 8, "t": 14, "b": 46},
        notes=notes,
        phone={"xaxis.range": [0, most * 1.6]},
    )
    return theme.figure([bar(lengths, places, "memory")], layout)
