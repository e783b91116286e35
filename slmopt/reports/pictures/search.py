"""The search's figure: combinations that meet the targets, time per token against memory, power or price."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from slmopt.advice.search import pareto
from slmopt.figures import pareto as figures
from slmopt.reports import search_tables as tables
from slmopt.reports.picture import Picture
from slmopt.words import pace
from slmopt.words import search as words


def front(rows: pd.DataFrame, against: str, target_tpot_s: float | None) -> Picture | None:
    """The chart of rows that have both values; None where none has."""
    scale = words.axis(against)[1]
    known = rows[rows["tpot_s"].notna() & rows[against].notna() & (rows[against] > 0)]
    if known.empty:
        return None
    own = pace.scale(1e-3)
    best = pareto(known, (against, "tpot_s"))
    cloud = figures.Cloud(
        x=known[against].to_numpy(dtype=np.float64) / scale,
        y=own.of(known["tpot_s"].to_numpy(dtype=np.float64)),
        front=best,
        hover=words.hovers(known),
        names=[words.short(name) for name in known["device_name"]],
    )
    title = words.title(known[best], against)
    return Picture(
        f"search_{against}",
        title,
        words.alt(known, best, against),
        figures.pareto(
            cloud,
            words.axis(against)[0],
            pace.label(own.unit, "estimate"),
            None if target_tpot_s is None else own.of(target_tpot_s),
        ),
        partial(tables.ranked, known, against),
        kinds=("estimate",),
    )
