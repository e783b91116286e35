"""Reference measurements of a chip, as one more group of the Measurements figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from slmopt.figures.measured_marks import Group, Mark
from slmopt.figures.named import Named
from slmopt.measured.others import of_device
from slmopt.specs.library import library
from slmopt.words import measured_rows as words

MOST_DEVICES = 3


def of_rows(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Reference rows of the devices that judged rows were held against, by the device's name; most rows first."""
    idents = {device.name: device.id for device in library().devices.values()}
    counts = rows.loc[rows["fraction"].notna(), "device"].value_counts()
    found: dict[str, pd.DataFrame] = {}
    for name in counts.index[counts > 0]:
        if str(name) in idents:
            others = of_device(idents[str(name)])
            if len(others):
                found[str(name)] = others
        if len(found) == MOST_DEVICES:
            break
    return found


def groups(found: dict[str, pd.DataFrame]) -> list[Named[Group]]:
    """A group a device: the median of what others reached in decode, from their tenth to their ninetieth percentile."""
    return [
        Named(f"Others with this chip\n{words.short(name)}", Group("", (_mark(name, rows),)))
        for name, rows in found.items()
    ]


def _mark(name: str, rows: pd.DataFrame) -> Mark:
    low, middle, high = (
        float(value) for value in np.quantile(rows["share"].to_numpy(dtype=np.float64), [0.1, 0.5, 0.9])
    )
    return Mark(
        "decode",
        middle,
        low,
        high,
        (float("nan"), float("nan")),
        rows=len(rows),
        hover=words.others_hover(name, len(rows), (low, middle, high)),
    )


def source_lines(found: dict[str, pd.DataFrame], most: int = 6) -> list[str]:
    """Markdown: where the others' measurements are from, those with most rows first."""
    lines: list[str] = []
    for name, rows in found.items():
        counts = rows["source"].value_counts()
        told: Sequence[str] = [words.marked(source, 160) for source in counts.index[:most]]
        more = f"; and {len(counts) - most:,} more" if len(counts) > most else ""
        lines.append(f"**Others with {words.marked(name, 60)}**, {len(rows):,} rows: {'; '.join(told)}{more}")
    return lines
