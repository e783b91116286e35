"""Words, tables and drawings of docs/accuracy.md: Markdown and SVG written by hand, no browser."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from slmopt.figures import theme

ROW_PX: Final = 26
LEFT_PX: Final = 190
WIDTH_PX: Final = 640
RIGHT_PX: Final = 70
MOST_ROWS: Final = 24


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: its Markdown, and the figures that limits hold."""

    text: str
    figures: dict[str, float]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; cells may hold any text."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ")


def spread_figure(title: str, groups: pd.DataFrame, target: Path) -> None:
    """Shares of the ceiling, a line a group: p10 to p90 as a bar, the median as a tick, the most as a dot.

    ``groups`` has the group's name as index and the columns rows, p10, p50, p90 and most (fractions, 0 to 1).
    """
    shown = groups.head(MOST_ROWS)
    height = ROW_PX * (len(shown) + 2) + 8
    width = LEFT_PX + WIDTH_PX + RIGHT_PX
    colours = {mode: theme.palette(mode) for mode in ("light", "dark")}
    measured = [colours[mode][theme.MEASURED] for mode in ("light", "dark")]
    ink = [colours[mode][theme.INK] for mode in ("light", "dark")]
    style = (
        f".m{{fill:{measured[0]};stroke:{measured[0]}}}.i{{fill:{ink[0]};stroke:none}}.l{{stroke:{ink[0]};stroke-opacity:.25}}"
        f"@media(prefers-color-scheme:dark){{.m{{fill:{measured[1]};stroke:{measured[1]}}}.i{{fill:{ink[1]}}}.l{{stroke:{ink[1]}}}}}"
        "text{font:13px system-ui,sans-serif}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{html.escape(title)}</title><style>{style}</style>",
    ]
    bottom = ROW_PX * (len(shown) + 1)
    for percent in range(0, 101, 20):
        x = _x(percent / 100)
        parts.append(f'<line class="l" x1="{x}" y1="8" x2="{x}" y2="{bottom}"/>')
        parts.append(f'<text class="i" x="{x}" y="{bottom + 18}" text-anchor="middle">{percent} %</text>')
    for at, (name, row) in enumerate(shown.iterrows()):
        y = ROW_PX * (at + 1)
        low, middle, high, most = (_x(float(row[c])) for c in ("p10", "p50", "p90", "most"))
        parts.append(
            f'<text class="i" x="{LEFT_PX - 8}" y="{y + 4}" text-anchor="end">{html.escape(str(name))}</text>'
            f'<rect class="m" fill-opacity=".35" stroke="none" x="{low}" y="{y - 6}" width="{max(high - low, 1):.1f}" height="12"/>'
            f'<line class="m" stroke-width="3" x1="{middle}" y1="{y - 8}" x2="{middle}" y2="{y + 8}"/>'
            f'<circle class="m" cx="{most}" cy="{y}" r="3"/>'
            f'<text class="i" x="{WIDTH_PX + LEFT_PX + 8}" y="{y + 4}">{int(row["rows"])}</text>'
        )
    target.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _x(fraction: float) -> float:
    return round(LEFT_PX + WIDTH_PX * min(fraction, 1.02), 1)


def spreads(rows: pd.DataFrame, by: str, least: int = 5) -> pd.DataFrame:
    """Shares of the ceiling by the values of a column that at least ``least`` rows have, the highest median first."""
    shares = rows.groupby(by)["fraction"]
    found = pd.DataFrame(
        {
            "rows": shares.size(),
            "p10": shares.quantile(0.1),
            "p50": shares.median(),
            "p90": shares.quantile(0.9),
            "most": shares.max(),
        }
    )
    return found[found["rows"] >= least].sort_values("p50", ascending=False)
