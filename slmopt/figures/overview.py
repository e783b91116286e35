"""Figures of the Overview: where a pass's time goes, targets, memory as boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from slmopt.advice.targets import targets
from slmopt.figures import theme
from slmopt.figures.frame import axis, base_layout
from slmopt.figures.marks import bar, limit_line, line, note, points
from slmopt.figures.named import Named
from slmopt.figures.theme import Spec
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.roof import PassTime
from slmopt.theory.unknown import bracket
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.overview import target_words

Phase = Literal["decode", "prefill"]
_MOST_BOXES = 64
_HEIGHT_OF_ONE = 90
_PHASES: tuple[Phase, Phase] = ("decode", "prefill")
_PHASE_NAMES: dict[Phase, str] = {"decode": "Decode step", "prefill": "Prefill, one prompt"}


def passes(results: Sequence[Named[Evaluation]]) -> theme.Figure:
    """Both phases as bars of memory and compute time, each phase on a scale of its own. Times in ms or s."""
    data: list[Spec] = []
    notes: list[Spec] = []
    layout_axes: Spec = {}
    phone: Spec = {}
    rows = 2 * len(results)
    for index, phase in enumerate(_PHASES):
        bars, words, narrow, reach = _phase(results, phase, index)
        data += bars
        notes += words
        top, bottom = (1.0, 0.59) if index == 0 else (0.41, 0.0)
        suffix = "" if index == 0 else "2"
        scale, unit = n.time_scale(reach)
        # A phone has no room beside the longest bar for what stands at its end.
        phone |= {**narrow, f"xaxis{suffix}.range": [0, reach / scale * 1.6], f"xaxis{suffix}.nticks": 4}
        layout_axes[f"xaxis{suffix}"] = axis(
            f"Time ({unit})", limits=(0, reach / scale * 1.28), anchor=f"y{suffix}", nticks=8
        )
        layout_axes[f"yaxis{suffix}"] = axis(
            None,
            limits=(rows - 0.4, -1.1),
            domain=[bottom, top],
            anchor=f"x{suffix}",
            tickmode="array",
            tickvals=list(range(rows)),
            ticktext=[
                f"{mark}{_named(r)} {side}"
                for r in results
                for mark, side in (("▲", "memory"), ("▼", "compute"))
            ],
        )
    layout = base_layout(
        notes=notes,
        height=_grown(theme.HEIGHT_MAIN, results),
        margin={"l": 86, "r": 8, "t": 14, "b": 46},
        phone=phone,
    )
    return theme.figure(data, {**layout, **layout_axes, "barmode": "overlay"})


def _grown(height: int, results: Sequence[Named[Evaluation]]) -> int:
    """Each further scenario needs room for its bars."""
    return height + _HEIGHT_OF_ONE * (len(results) - 1)


def _named(result: Named[Evaluation]) -> str:
    return f" {result.name}" if result.name else ""


def _phase(
    results: Sequence[Named[Evaluation]], phase: Phase, index: int
) -> tuple[list[Spec], list[Spec], Spec, float]:
    data: list[Spec] = []
    notes: list[Spec] = []
    phone: Spec = {}
    suffix = "" if index == 0 else "2"
    refs: dict[str, Any] = {"xref": f"x{suffix}", "yref": f"y{suffix}"}
    axes: dict[str, Any] = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    times = [_time(result.result, phase) for result in results]
    reach = max(float(np.fmax(time.memory_s, time.compute_s)) for time in times)
    scale, unit = n.time_scale(reach)
    alone = len(results) == 1
    heading = _heading(results[0].result, phase) if alone else _PHASE_NAMES[phase]
    notes.append(note(0, -0.86, f"<b>{heading}</b>", at="left", dx=-78, **refs))
    for row, time in enumerate(times):
        weights, cache = float(time.weight_s) / scale, float(time.cache_s) / scale
        compute = float(time.compute_s) / scale
        y = 2 * row
        data.append(bar([weights], [y], "memory", **axes))
        if cache:
            beside = bar([cache], [y], "memory", base=[weights], **axes)
            for part in (data[-1], beside):
                part["marker"]["line"] = {"color": theme.PAGE, "width": 1.5}
            data.append(beside)
        if np.isfinite(compute):
            data.append(bar([compute], [y + 1], "compute", **axes))
        parts = f"weights {n.figures(weights)}" + (f", cache {n.figures(cache)}" if cache else "")
        if cache and alone:
            notes.append(note(0, y - 0.32, parts, at="left", up="bottom", **refs))
        wins = bool(time.compute_bound)
        end = compute if wins else weights + cache
        data.append(points([end], [y + (1 if wins else 0)], "ceiling", hover=[_hover(time, phase)], **axes))
        known = bool(np.isfinite(compute))
        ends = [
            (weights + cache, y, "memory", not wins),
            *([(compute, y + 1, "compute", wins)] if known else []),
        ]
        for length, place, side, decides in ends:
            number = _number(length, unit, decides)
            name = f"{phase} {row} {side}"
            verdict = f", {side} decides" if decides and known else ""
            if decides and bool(time.link_bound):
                verdict = f", but the link decides: {n.seconds(float(time.link_s))}"
            notes.append(note(length, place, number + verdict, dx=14 if decides else 8, name=name, **refs))
            phone[f"annotations[{name}].text"] = number
        if known:
            continue
        unknown = _unknown(results[row].result, phase, time)
        notes.append(note(0, y + 1, unknown, at="left", dx=8, **refs))
    return data, notes, phone, reach


def _unknown(evaluation: Evaluation, phase: Phase, time: PassTime) -> str:
    setup = evaluation.setup
    found = bracket(time, setup.decode if phase == "decode" else setup.prefill)
    if found is None:
        return "no matrix rate is known: enter it under Hardware"
    return f"{n.seconds(found.fast_s, 2)} at its {found.fast_rate} rate, {n.seconds(found.slow_s, 2)} at {found.slow_rate}"


def _number(value: float, unit: str, decides: bool) -> str:
    number = f"{n.figures(value)}{n.NBSP}{unit}"
    return f"<b>≥{n.NBSP}{number}</b>" if decides else number


def _time(evaluation: Evaluation, phase: Phase) -> PassTime:
    return evaluation.ceiling.decode if phase == "decode" else evaluation.ceiling.prefill


def _heading(evaluation: Evaluation, phase: Phase) -> str:
    s = evaluation.setup.scenario
    if phase == "decode":
        return f"Decode step, {s.batch:,} sequence{'s' if s.batch > 1 else ''} at {s.depth:,} tokens"
    fed = s.prompt - s.prefix_hit
    return f"Prefill, one prompt of {fed:,}" + (f" beside {s.prefix_hit:,} cached" if s.prefix_hit else "")


def _hover(time: PassTime, phase: Phase) -> str:
    return (
        f"<b>{phase.capitalize()}, ceiling</b><br>at least {n.seconds(float(time.seconds))}"
        f"<br>moves {n.bytes_(float(time.cost.bytes))}<br>does {n.flops(float(time.cost.flops))}"
        f"<br>{n.figures(float(time.cost.intensity))} FLOP/byte"
    )


def target_shares(results: Sequence[Named[Evaluation]]) -> theme.Figure:
    """Each time target at 100 %: the ceiling, and the estimate's band, as shares of it."""
    data: list[Spec] = []
    notes: list[Spec] = []
    phone: Spec = {}
    row, reach = 0, 112.0
    names = {"ttft": "First token", "tpot": pace.name()}
    for result in results:
        for target in targets(result.result):
            if target.name == "users" or target.fast is None or target.slow is None or target.typical is None:
                continue
            share = 100 / target.target
            ceiling, fast, typical, slow = (
                v * share for v in (target.ceiling, target.fast, target.typical, target.slow)
            )
            reach = max(reach, slow * 1.06)
            words, hover, least, aim = target_words(target)
            hover = f"<b>{names[target.name]}, estimate</b><br>about {hover}"
            data.append(line([fast, slow], [row, row], "estimate"))
            data.append(points([typical], [row], "estimate", hover=[hover]))
            bound = f"<b>{names[target.name]}, ceiling</b><br>{least}"
            data.append(points([ceiling], [row], "ceiling", hover=[bound]))
            heading = f"<b>{names[target.name]}{_named(result)}</b>  {words}, target {aim}"
            notes.append(note(0, row - 0.42, heading, at="left", name=f"target {row}", bgcolor=theme.PAGE))
            phone[f"annotations[target {row}].text"] = f"<b>{names[target.name]}{_named(result)}</b>  {words}"
            row += 1
    layout = base_layout(
        x_title="Time, as a share of the target's (%)" if pace.as_speed() else "Share of the target (%)",
        x_limits=(0, reach),
        y_limits=(max(row, 1) - 0.5, -0.85),
        y_axis={"showticklabels": False, "showgrid": False},
        height=_grown(theme.HEIGHT_BARS, results),
        margin={"l": 8, "r": 8, "t": 20, "b": 46},
        notes=[*notes, note(100, 1, "target", at="center", up="bottom", yref="paper", dy=2)],
        shapes=[limit_line(100)],
        phone=phone,
    )
    return theme.figure(data, layout)


def memory_boxes(results: Sequence[Named[Evaluation]]) -> theme.Figure:
    """Weights, one box for each sequence held, outlines for those that still fit, and the capacity."""
    giga, unit = n.giga()
    data: list[Spec] = []
    notes: list[Spec] = []
    limits = []
    for row, result in enumerate(results):
        bars, words, limit = _boxes(result, row)
        data += bars
        notes += words
        limits.append(limit)
    reach = max(limits)
    capacity = results[0].result.capacity.usable
    shapes = [] if capacity is None else [limit_line(capacity / giga)]
    if capacity is not None:
        notes.append(
            note(
                capacity / giga, 1, n.trimmed(n.bytes_(capacity)), at="right", up="bottom", yref="paper", dy=2
            )
        )
    layout = base_layout(
        x_title=f"Memory ({unit})",
        x_limits=(0, reach * 1.02),
        y_limits=(len(results) - 0.2, -0.8),
        y_axis={"showticklabels": False, "showgrid": False},
        height=_grown(theme.HEIGHT_BARS, results),
        margin={"l": 8, "r": 12, "t": 20, "b": 46},
        notes=notes,
        shapes=shapes,
        barmode="overlay",
    )
    return theme.figure(data, layout)


def _boxes(result: Named[Evaluation], row: int) -> tuple[list[Spec], list[Spec], float]:
    giga, _ = n.giga()
    c = result.result.capacity
    start = (c.weight_bytes + c.buffer_bytes + c.shared_bytes) / giga
    each = c.bytes_per_sequence / giga
    held = start + c.now * each
    over = c.usable is not None and held * giga > c.usable
    data = [
        bar(
            [start],
            [row],
            "over" if c.usable is not None and start * giga > c.usable else "memory",
            width=0.6,
        )
    ]
    whose = f"<b>{result.name}</b>  " if result.name else ""
    notes = [note(0, row - 0.33, f"{whose}weights {n.figures(start)}", at="left", up="bottom", dy=2)]
    boxes = min(c.now, _MOST_BOXES)
    base = start + np.arange(boxes) * (c.now * each / boxes)
    width = np.full(boxes, c.now * each / boxes)
    look: dict[str, Any] = {"width": 0.6, "hatched": False}
    cell = bar(width, np.full(boxes, row), "over" if over else "memory", base=base, **look)
    cell["marker"]["line"] = {"color": theme.PAGE, "width": 1 if boxes < _MOST_BOXES else 0}
    data.append(cell)
    text = f"{c.now:,} sequence{'s' if c.now > 1 else ''} now, {n.figures(c.now * each)}"
    notes.append(note(start, row + 0.33, text, at="left", up="top", dy=-2, dx=0))
    more = 0 if c.max_sequences is None else c.max_sequences - c.now
    if more > 0:
        shown = min(more, _MOST_BOXES)
        step = more * each / shown
        free = bar(
            np.full(shown, step),
            np.full(shown, row),
            "memory",
            base=held + np.arange(shown) * step,
            outline=True,
            width=0.6,
        )
        if shown == _MOST_BOXES:
            free["marker"]["line"]["width"] = 0.5
        data.append(free)
        notes.append(
            note(held + more * each, row - 0.33, f"room for {more:,} more", at="right", up="bottom", dy=2)
        )
    top = max(held + max(0, more) * each, (c.usable or 0.0) / giga)
    return data, notes, top
