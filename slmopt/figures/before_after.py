"""The figure of a change: the ratio of each matched row, after over before, with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slmopt.figures import theme
from slmopt.figures.frame import base_layout
from slmopt.figures.marks import note, points
from slmopt.figures.measured_marks import plain
from slmopt.figures.named import Named
from slmopt.figures.theme import Spec
from slmopt.measured.before_after import BeforeAfter
from slmopt.words import numbers as n
from slmopt.words.before_after import beyond_word, row_names

MOST_ROWS: Final = 24
_ROW_PX: Final = 26
_LEFT: Final = 260
_LONGEST: Final = 40


def ratios(shown: Sequence[Named[BeforeAfter]]) -> theme.Figure:
    """A row a matched measurement, the largest changes first; right of the line is faster."""
    found = shown[0].result
    order = np.argsort(-np.abs(np.log(found.rows["ratio"].to_numpy(dtype=np.float64))), kind="stable")
    rows = found.rows.iloc[order[:MOST_ROWS]]
    ratio = rows["ratio"].to_numpy(dtype=np.float64)
    spread = np.nan_to_num(rows["spread"].to_numpy(dtype=np.float64)) * ratio
    low = min(0.9, float((ratio - spread).min()) * 0.97)
    high = max(1.1, float((ratio + spread).max()) * 1.06)
    bars = {"type": "data", "array": spread.tolist(), "color": theme.MEASURED, "thickness": 1.5, "width": 0}
    names = row_names(rows)
    marks = points(
        ratio.tolist(),
        list(range(len(rows))),
        "measured",
        hover=_hover(rows, names),
        error_x=bars,
        name="ratio",
    )
    line: Spec = {
        "type": "line",
        "layer": "below",
        "name": "unchanged",
        "x0": 1,
        "x1": 1,
        "y0": 0,
        "y1": 1,
        "yref": "y domain",
        "line": {"color": theme.INK, "width": 1.5, "dash": "2px,3px"},
    }
    return theme.figure(
        [marks],
        base_layout(
            x_title="After / before (×)",
            x_limits=(low, high),
            y_limits=(len(rows) - 0.4, -0.9),
            y_axis={
                "showgrid": False,
                "tickmode": "array",
                "tickvals": list(range(len(rows))),
                "ticktext": [plain(_cut(name, _LONGEST)) for name in names],
            },
            height=max(140, _ROW_PX * len(rows) + 84),
            margin={"l": _LEFT, "r": 24},
            notes=[note(1, -0.85, "no change", dx=4, name="unchanged word")],
            shapes=[line],
            phone={"margin.l": 130, "yaxis.ticktext": [plain(_cut(name, 19)) for name in names]},
        ),
    )


def _cut(name: str, longest: int) -> str:
    """A name of bearable length; its end, the test, says most."""
    return name if len(name) <= longest else f"…{name[-(longest - 1) :]}"


def _hover(rows: object, names: list[str]) -> list[str]:
    return [
        f"<b>{plain(name)}</b><br>{n.figures(row.before)} to {n.tokens_per_s(row.after)}<br>"
        f"{n.figures(row.ratio)}×, {beyond_word(row.beyond)}"
        for name, row in zip(names, rows.itertuples(index=False), strict=True)  # type: ignore[attr-defined]
    ]
