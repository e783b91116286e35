"""Figures of the page Your model: its layers as a strip, and its cache against context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slmopt.figures import placing, theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import limit_line, line, note, points, safe
from slmopt.figures.model_parts import in_one_piece
from slmopt.figures.theme import Spec
from slmopt.theory.cache_growth import CacheGrowth, Grown
from slmopt.theory.model_shape import LayerWeights
from slmopt.words import model as words
from slmopt.words import numbers as n

WINDOW, LATENT, STATE, SPARSE = theme.SCENARIOS
FULL: Final = theme.MEMORY

# The first word that fits a kind of layer gives its hue; a mixture of two takes that of its attention.
_HUES: Final = (
    ("full", FULL),
    ("window", WINDOW),
    ("chunked", WINDOW),
    ("latent", LATENT),
    ("sparse", SPARSE),
    ("mlp", theme.INK),
    ("experts", theme.INK),
)
_GROWN: Final = {
    "full": FULL,
    "window": WINDOW,
    "chunk": WINDOW,
    "latent": LATENT,
    "entries": LATENT,
    "index": SPARSE,
    "state": STATE,
}
# Opacity says what a token uses: attention or state fully, the MLP and its experts half, experts at rest least.
_SEGMENTS: Final = (("mixer", 1.0), ("mlp", 0.55), ("used_experts", 0.55), ("other_experts", 0.22))
_KEY_GAP: Final = 18.0
_KEY_LINE: Final = 22
_LEFT: Final = 60


def hue(kind: str) -> str:
    """The colour of a kind of layer."""
    first = kind.partition(" + ")[0]
    return next((colour for word, colour in _HUES if word == first), STATE)


def layers(strip: Sequence[LayerWeights], all_bytes: float) -> theme.Figure:
    """Every layer as a bar of its weight bytes, coloured by kind; one bar for a model without layers."""
    if not strip:
        return in_one_piece(all_bytes)
    scale, unit = n.byte_scale(max(layer.total for layer in strip))
    places = [layer.place + 1 for layer in strip]
    told = [_layer_hover(layer) for layer in strip]
    data: list[Spec] = []
    for name, opacity in _SEGMENTS:
        sizes = [getattr(layer, name) / scale for layer in strip]
        if not any(sizes):
            continue
        data.append(
            {
                "type": "bar",
                "name": name,
                "x": places,
                "y": sizes,
                "marker": {
                    "color": [theme.tint(hue(layer.kind), opacity) for layer in strip],
                    "line": {"width": 0},
                },
                "hovertext": told,
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    key, phone, rows = _key(strip)
    top = max(layer.total for layer in strip) / scale
    layout = base_layout(
        x_title="Layer",
        y_title=f"Weights of a layer ({unit})",
        x_limits=(0.4, len(strip) + 0.6),
        y_limits=(0, placing.round_above(1.02 * top)),
        x_axis={"nticks": 14, "tickformat": "d"},
        height=340 + _KEY_LINE * rows[0],
        margin={"l": _LEFT, "t": 34 + _KEY_LINE * rows[0]},
        notes=key,
        phone={**phone, "margin.l": _LEFT, "margin.t": 34 + _KEY_LINE * rows[1], "xaxis.nticks": 6},
        bargap=0.16 if len(strip) > 1 else 0.8,
    )
    return theme.figure(data, layout)


def _layer_hover(layer: LayerWeights) -> str:
    mixer = "attention or state"
    parts = [(mixer, layer.mixer), ("MLP and norms", layer.mlp), ("experts used", layer.used_experts)]
    parts.append(("other experts", layer.other_experts))
    listed = "".join(f"<br>{name} {n.bytes_(size)}" for name, size in parts if size)
    return f"<b>Layer {layer.place + 1:,}: {safe(words.kind_name(layer.kind))}</b>{listed}"


def _key(strip: Sequence[LayerWeights]) -> tuple[list[Spec], Spec, tuple[int, int]]:
    """What the colours mean, above the plot: notes, what a phone shows, and the lines that each takes."""
    counts: dict[tuple[str, str], int] = {}
    for layer in strip:
        kind = hue(layer.kind), words.mixer_name(layer.kind)
        counts[kind] = counts.get(kind, 0) + 1
    entries = [
        f'<span style="color:{colour};font-size:17px">■</span> {count:,} {safe(name)}'
        for (colour, name), count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    entries += _shades(strip)
    lines: list[int] = []

    def placed(narrow: bool) -> list[Spec]:
        room = placing.PHONE_PX if narrow else placing.WIDE_PX
        found: list[tuple[str, float, int]] = []
        at, row = 2.0, 0
        for entry in entries:
            wide = placing.width(entry) + 4
            if at > 2 and at + wide > room:
                at, row = 2.0, row + 1
            found.append((entry, at, row))
            at += wide + _KEY_GAP
        lines.append(row + 1)
        return [
            note(
                0,
                1,
                entry,
                xref="paper",
                yref="paper",
                up="bottom",
                dx=at - _LEFT,
                dy=32 + _KEY_LINE * (row_count(found) - 1 - row),
            )
            for entry, at, row in found
        ]

    notes, phone = placing.both(placed)
    return notes, phone, (lines[0], lines[1])


def row_count(found: Sequence[tuple[str, float, int]]) -> int:
    """Lines that placed entries take."""
    return 1 + max(row for _, _, row in found)


def _shades(strip: Sequence[LayerWeights]) -> list[str]:
    """What the depth of a colour means, shown in ink."""
    experts = any(layer.used_experts for layer in strip)
    told = [
        (1.0, "attention or state", any(layer.mixer for layer in strip)),
        (0.55, "MLP, experts in use" if experts else "MLP, norms", True),
        (0.22, "other experts", any(layer.other_experts for layer in strip)),
    ]
    return [
        f'<span style="color:{theme.tint(theme.INK, opacity)};font-size:17px">■</span> {word}'
        for opacity, word, shown in told
        if shown
    ]


def growth(found: CacheGrowth, context_limit: int | None) -> theme.Figure:
    """One sequence's cache against context, a line for each kind of layer; both axes logarithmic."""
    context, now = found.context, found.context_now
    shown = [one for one in found.kinds if float(one.bytes[-1]) > 0]
    if not shown:
        layout = base_layout(
            x_title="Context (tokens)",
            x_scale="log",
            x_limits=(float(context[0]), float(context[-1])),
            height=theme.HEIGHT_SIDE,
            y_axis={"visible": False},
            notes=[note(0.5, 0.5, "nothing is cached", xref="paper", yref="paper", at="center")],
        )
        return theme.figure([], layout)
    data: list[Spec] = []
    for one in shown:
        kept = np.where(one.bytes > 0, one.bytes, np.nan)
        texts = [
            f"<b>{safe(words.grown_name(one))}</b><br>{x:,.0f} tokens<br>{n.bytes_(float(y))}"
            for x, y in zip(context, one.bytes, strict=True)
        ]
        data.append(
            line(
                context,
                kept,
                colour=_GROWN[one.kind],
                width=3,
                hoverinfo="all",
                hovertext=texts,
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
        if one.now > 0:
            data.append(points([now], [one.now], size=9, colour=_GROWN[one.kind]))
    top = placing.decade_above(max(float(one.bytes[-1]) for one in shown))
    low = min(float(one.bytes[one.bytes > 0][0]) for one in shown)
    bottom = max(placing.decade_below(low), top / 1e6)
    marks = _round_sizes(bottom, top)
    limits = [(now, f"now {now:,.0f}")] if now else []
    if context_limit is not None and context_limit < 0.7 * context[-1]:
        limits.append((float(context_limit), f"made for {context_limit:,}"))
    edges = {"l": _LEFT, "r": 116, "t": 46, "b": 50}
    layout = base_layout(
        x_title="Context (tokens)",
        y_title="Cache of one sequence",
        x_scale="log",
        y_scale="log",
        x_limits=(float(context[0]), float(context[-1])),
        y_limits=(bottom, top),
        y_axis={
            "tickmode": "array",
            "tickvals": marks,
            "ticktext": [n.trimmed(n.bytes_(value)) for value in marks],
        },
        height=theme.HEIGHT_SIDE,
        margin=edges,
        notes=[*_end_labels(shown, context, (bottom, top), edges), *_limit_words(limits)],
        shapes=[limit_line(value) for value, _ in limits],
    )
    return theme.figure(data, layout)


def _round_sizes(bottom: float, top: float) -> list[float]:
    """Sizes that are round in the units in use, six at most: powers of ten, or of 32, two of which make 1,024."""
    base = 10.0 if n.giga()[0] == 1e9 else 32.0
    first, last = np.log(bottom) / np.log(base), np.log(top) / np.log(base)
    marks = [float(v) for v in base ** np.arange(np.ceil(first - 1e-9), last + 1e-9)]
    return marks[:: 1 + len(marks) // 6]


def _end_labels(
    shown: Sequence[Grown], context: np.ndarray, span: tuple[float, float], edges: Spec
) -> list[Spec]:
    """Names at the lines' ends, pushed apart where ends lie close."""
    scale = placing.Scale(*span, placing.plot_height(theme.HEIGHT_SIDE, edges))
    ends = [float(one.bytes[-1]) for one in shown]
    shifts = placing.apart([scale.px(end) for end in ends])
    return [
        note(float(context[-1]), end, safe(words.grown_name(one)), dx=10, dy=shift)
        for one, end, shift in zip(shown, ends, shifts, strict=True)
    ]


def _limit_words(limits: Sequence[tuple[float, str]]) -> list[Spec]:
    """Names of the dotted lines: the lower one's at the top to its left, the higher one's below, clear of lines' ends."""
    last = max((value for value, _ in limits), default=0.0)
    return [
        note(value, 0, text, yref="paper", at="left", up="bottom", dx=5, dy=2)
        if value == last and len(limits) > 1
        else note(value, 1, text, yref="paper", at="right", up="top", dx=-5)
        for value, text in limits
    ]
