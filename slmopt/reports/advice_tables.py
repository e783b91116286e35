"""Tables of the Plan's sections: formats with their scores, devices that meet a target."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.advice.quality import FormatRow
from slmopt.advice.solve import Solution
from slmopt.specs.library import library

SCORE, VALID = "your task score", "valid replies (0 to 1)"
FORMAT_COLUMNS = (
    "format",
    "bits a weight",
    "file (GB)",
    "time per token (ms)",
    "first token (ms)",
    "sequences that fit",
    SCORE,
    VALID,
)


def formats(rows: Sequence[FormatRow]) -> pd.DataFrame:
    """One row a format; speeds are estimates, scores the user's own and empty where there is none."""
    values = [
        (
            row.name,
            row.bits,
            row.file_bytes / 1e9,
            row.tpot_s * 1e3,
            row.ttft_s * 1e3,
            row.sequences,
            row.score,
            row.validity,
        )
        for row in rows
    ]
    table = pd.DataFrame(values, columns=list(FORMAT_COLUMNS))
    return table.astype({SCORE: "float64", VALID: "float64"})


def devices(found: Solution) -> pd.DataFrame:
    """The preset devices that meet a target, the one with the least bandwidth first."""
    name, _ = found.target
    presets = library().devices
    return pd.DataFrame(
        [
            {
                "device": presets[ident].name,
                "bandwidth_gbs": presets[ident].bandwidth_gbs,
                "power_w": presets[ident].power_w,
                name: reached,
            }
            for ident, reached in found.devices
        ]
    )
