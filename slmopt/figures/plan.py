"""The Plan's matrix: techniques by metrics, what each gains alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slmopt.advice.plan import Trial
from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import note
from slmopt.figures.theme import Spec
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.plan import here, metric_name, metrics, value

# Gains beyond this factor look alike: the colour says "much", the number how much.
_STRONGEST = 4.0
# Four columns beside the names leave no room for words on a phone.
_SHORT = {"ttft": "TTFT", "throughput": "tok/s", "capacity": "fit", "gap": "stall"}


def matrix(trials: Sequence[Trial]) -> theme.Figure:
    """One cell a technique and metric: the factor in words, tinted by its logarithm (measured green up, missed down)."""
    shown = metrics(trials)
    cells: list[Spec] = []
    notes: list[Spec] = []
    for row, trial in enumerate(trials):
        for column, metric in enumerate(shown):
            factor = value(trial, metric)
            cells.append(_cell(row, column, factor))
            notes.append(note(column, row, _text(trial, factor), at="center", name=f"cell {row} {column}"))
    for column, metric in enumerate(shown):
        notes.append(
            note(column, -0.55, metric_name(metric), at="center", up="bottom", name=f"head {column}")
        )
    hover = {
        "type": "scatter",
        "mode": "markers",
        "x": [c for _ in trials for c in range(len(shown))],
        "y": [r for r in range(len(trials)) for _ in shown],
        "marker": {"size": 30, "opacity": 0},
        "hovertext": [
            f"<b>{t.technique.name}</b><br>{t.change.what}<br>{here(t)}" for t in trials for _ in shown
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    names = [t.technique.name for t in trials]
    short = {
        f"annotations[head {column}].text": pace.short() if metric == "tpot" else _SHORT[metric]
        for column, metric in enumerate(shown)
    }
    layout = base_layout(
        x_limits=(-0.5, len(shown) - 0.5),
        y_limits=(len(trials) - 0.45, -1.1),
        x_axis={"showticklabels": False},
        y_axis={
            "showgrid": False,
            "tickmode": "array",
            "tickvals": list(range(len(trials))),
            "ticktext": names,
        },
        height=44 * len(trials) + 40,
        margin={"l": 168, "r": 4, "t": 4, "b": 4},
        notes=notes,
        shapes=cells,
        phone={"margin.l": 150, **short},
    )
    return theme.figure([hover], layout)


def _cell(row: int, column: int, factor: float) -> Spec:
    gained = np.isfinite(factor) or factor == np.inf
    strength = (
        0.0
        if not gained
        else float(np.clip(np.log(factor) / np.log(_STRONGEST), -1, 1))
        if factor > 0
        else -1.0
    )
    colour = theme.MEASURED if strength >= 0 else theme.MISSED
    return {
        "type": "rect",
        "layer": "below",
        "x0": column - 0.48,
        "x1": column + 0.48,
        "y0": row - 0.44,
        "y1": row + 0.44,
        "fillcolor": theme.tint(colour, 0.45 * abs(strength)) if abs(strength) > 0.01 else theme.PANEL,
        "line": {"width": 0},
    }


def _text(trial: Trial, factor: float) -> str:
    if trial.gain is None or np.isnan(factor):
        return n.UNKNOWN
    if np.isinf(factor):
        return "fits"
    if abs(factor - 1) < 0.005:
        return "1×"
    return f"{'<b>' if factor >= 1.02 else ''}{n.figures(factor)}×{'</b>' if factor >= 1.02 else ''}"
