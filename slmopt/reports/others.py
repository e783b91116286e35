"""Reference measurements of a chip, as one more group of the Measurements figure: decode and prefill, each against its own
ceiling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from slmopt.figures.measured_marks import Group, Mark, Panel
from slmopt.figures.named import Named
from slmopt.measured.others import of_device, prefill_of_device
from slmopt.specs.library import library
from slmopt.words import measured_rows as words

MOST_DEVICES = 3

PANELS: Final[tuple[Panel, ...]] = ("decode", "prefill")


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """What others reached with one chip: rows with their ``share`` of the ceiling, by phase."""

    decode: pd.DataFrame
    prefill: pd.DataFrame

    def of(self, panel: Panel) -> pd.DataFrame:
        """The rows of one side of the figure."""
        return self.decode if panel == "decode" else self.prefill


def of_rows(rows: pd.DataFrame) -> dict[str, Others]:
    """Reference rows of the devices that judged rows were held against, by the device's name; most rows first."""
    idents = {device.name: device.id for device in library().devices.values()}
    counts = rows.loc[rows["fraction"].notna(), "device"].value_counts()
    found: dict[str, Others] = {}
    for name in counts.index[counts > 0]:
        if str(name) in idents:
            ident = idents[str(name)]
            others = Others(of_device(ident), prefill_of_device(ident))
            if len(others.decode) or len(others.prefill):
                found[str(name)] = others
        if len(found) == MOST_DEVICES:
            break
    return found


def counts(found: Mapping[str, Others], panels: Collection[Panel]) -> dict[Panel, int]:
    """Rows a side of the figure, of the sides that it has; a side without any is left out."""
    told = {panel: sum(len(one.of(panel)) for one in found.values()) for panel in PANELS if panel in panels}
    return {panel: count for panel, count in told.items() if count}


def groups(found: Mapping[str, Others], panels: Collection[Panel] = PANELS) -> list[Named[Group]]:
    """A group a device, with a mark on each side that the figure has: the median of what others reached, from their tenth to
    their ninetieth percentile.
    """
    marked = {
        name: tuple(
            _mark(panel, name, one.of(panel)) for panel in PANELS if panel in panels and len(one.of(panel))
        )
        for name, one in found.items()
    }
    return [
        Named(f"Others with this chip\n{words.short(name)}", Group("", marks))
        for name, marks in marked.items()
        if marks
    ]


def _mark(panel: Panel, name: str, rows: pd.DataFrame) -> Mark:
    low, middle, high = (
        float(value) for value in np.quantile(rows["share"].to_numpy(dtype=np.float64), [0.1, 0.5, 0.9])
    )
    prompts = (float(rows["n_prompt"].min()), float(rows["n_prompt"].max())) if panel == "prefill" else None
    return Mark(
        panel,
        middle,
        low,
        high,
        (float("nan"), float("nan")),
        rows=len(rows),
        hover=words.others_hover(name, len(rows), (low, middle, high), prompts),
    )


def source_lines(found: Mapping[str, Others], panels: Collection[Panel] = PANELS, most: int = 6) -> list[str]:
    """Markdown: where the others' measurements are from, those with most rows first."""
    lines: list[str] = []
    for name, one in found.items():
        sources = pd.concat([one.of(panel)["source"] for panel in PANELS if panel in panels])
        told = sources.value_counts()
        said: Sequence[str] = [words.marked(source, 160) for source in told.index[:most]]
        more = f"; and {len(told) - most:,} more" if len(told) > most else ""
        rows = " and ".join(f"{count:,} {panel}" for panel, count in counts({name: one}, panels).items())
        if rows:
            lines.append(f"**Others with {words.marked(name, 60)}**, {rows} rows: {'; '.join(said)}{more}")
    return lines
