"""What two sets of rows say side by side."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.measured.before_after import BeforeAfter, Quality, outcome
from slmopt.words import numbers as n
from slmopt.words.measured_rows import format_name, group_name, short

RULE: Final = "Keep a change only if the measurements and the quality evaluation both improve."

COLUMN_WORDS: Final = {
    "source_file": "File",
    "note": "Label or note",
    "weight_format": "Weight format",
    "backend": "Back end",
    "tool_version": "Version",
    "threads": "Threads",
    "flash_attention": "Flash attention",
    "cache_k": "Cache format",
    "chunk_tokens": "Micro-batch",
    "gpu_layers": "Layers on the GPU",
    "device": "Device",
    "model": "Model",
}


def answer(found: BeforeAfter) -> str:
    """The finding, in Markdown."""
    if not len(found.rows):
        return "No row of one side measured what a row of the other did, so nothing can be compared."
    faster, slower, within, unknown = found.counts
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (faster, "faster"),
            (slower, "slower"),
            (within, "within their spread"),
            (unknown, "without a known spread"),
        )
        if count
    ]
    return f"**{n.figures(found.typical)}×** in the mean over {_rows(len(found.rows))}: {', '.join(parts)}."


def notes(found: BeforeAfter) -> list[str]:
    """What to beware of, plain text."""
    told = []
    if found.changed:
        told.append(f"Matched without the {' and '.join(found.changed)}, which the two sides do not share.")
    if any(found.alone):
        told.append(f"Without a partner: {_rows(found.alone[0])} before, {_rows(found.alone[1])} after.")
    if found.counts[3]:
        told.append("Rows without a spread tell little: repeat each at least three times.")
    return told


def verdict(found: BeforeAfter, quality: Quality | None) -> str:
    """Whether to keep the change, and why."""
    said = outcome(found, quality)
    faster, slower, _, _ = found.counts
    if slower:
        why = f"{_rows(slower)} became slower beyond the spread"
    elif quality is not None and quality.worse:
        why = f"quality fell from {n.figures(quality.before)} to {n.figures(quality.after)}"
    elif quality is not None and not quality.improved:
        why = "quality did not improve beyond chance"
    elif not faster:
        why = "no row became faster beyond its spread"
    elif quality is None:
        why = "the measurements improve; enter the quality evaluation"
    else:
        why = "the measurements and the quality evaluation both improve"
    return f"{ {'keep': '✓ Keep it', 'undo': '✕ Undo it', 'undecided': '◐ Not decided'}[said] }: {why}."


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def row_names(rows: pd.DataFrame) -> list[str]:
    """What each matched row measured, plain text."""
    return [row_name(row) for row in rows.itertuples(index=False)]


def row_name(row: Any) -> str:
    """Model, weights and test, as far as they matched."""
    model = getattr(row, "model", None)
    weights = getattr(row, "weights", None)
    known = (
        []
        if model is None or pd.isna(model)
        else [group_name(model, weights) if isinstance(weights, str) else short(model)]
    )
    return ", ".join([*known, str(row.test)])


def beyond_word(value: float) -> str:
    """Whether a ratio is beyond the spread."""
    if np.isnan(value):
        return "no spread known"
    return {1: "faster", -1: "slower", 0: "within the spread"}[int(value)]


def table(found: BeforeAfter) -> pd.DataFrame:
    """The matched rows for people."""
    rows = found.rows
    told = {
        "Model": rows["model"].map(short) if "model" in rows else None,
        "Weights": rows["weights"].map(format_name, na_action="ignore") if "weights" in rows else None,
        "Test": rows["test"].astype("str"),
        "Before (tokens/s)": rows["before"],
        "After (tokens/s)": rows["after"],
        "After / before": rows["ratio"],
        "± (%)": 100 * rows["spread"],
        "Change": rows["beyond"].map(beyond_word, na_action=None),
    }
    return pd.DataFrame({name: column for name, column in told.items() if column is not None})


def title(found: BeforeAfter) -> str:
    """Finding of the figure."""
    low, high = (n.figures(float(found.rows["ratio"].quantile(q))) for q in (0.0, 1.0))
    span = f"**{low}×**" if low == high else f"**{low}** to **{high}×**"
    return f"After runs at {span} the speed of before"


def alt(found: BeforeAfter) -> str:
    """The figure for those who do not see it."""
    return f"{title(found).replace('**', '')}. A diamond for each of {_rows(len(found.rows))}, with the line where nothing changed."
