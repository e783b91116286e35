"""Wide tables: one row for each cell under column names that are batch sizes, tests or models."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slmopt.measured.readers._cells import format_in_name
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._fields import Fields, facts_of
from slmopt.measured.readers._guess import BATCH_HEADER, Layout
from slmopt.measured.readers._names import kind_of
from slmopt.measured.table import ReadResult, Skip, concat_rows, make_rows, result


def wide_rows(sheet: Sheet, layout: Layout, form: str, constants: Mapping[str, str | float]) -> ReadResult:
    """One row for each cell of the value columns."""
    kinds = {choice.column: kind_of(choice.field) for choice in layout.choices}
    columns = sheet.load(
        numbers=[*layout.value_columns, *(name for name, kind in kinds.items() if kind == "number")],
        texts=[name for name, kind in kinds.items() if kind == "text"],
        decimal=layout.decimal,
    )
    shared = facts_of(Fields(columns, layout.choices, constants))
    frames, skips, warnings = [], list(columns.skips), []
    for header in layout.value_columns:
        facts, field = _variant(header, layout)
        speed = columns.number(header)
        own = dict(shared) | facts
        phase = {"prefill_speed": "prefill", "decode_speed": "decode"}.get(field)
        own |= {
            "row": columns.labels + f", column {header!r}",
            "phase": phase,
            "tokens_per_s": speed,
            "tokens_per_s_basis": "sequence" if phase and "batch" not in facts else None,
            "conversion": "one row for each column of a wide table; speed as it is",
        }
        frame = make_rows(own, len(columns))
        good = speed > 0
        skips += [
            Skip(str(label), "no number above 0 in this cell: it did not run, or is below rounding")
            for label in frame["row"][~good]
        ]
        frames.append(frame[good])
    rows = concat_rows(frames)
    if len(rows) and rows["phase"].isna().all():
        warnings.append(
            f"{sheet.source} does not say what its numbers are (which phase, whose tokens): say so before comparing."
        )
    return result(form, sheet.source, rows, skips, warnings)


def _variant(header: str, layout: Layout) -> tuple[dict[str, object], str]:
    """What a value column's name says, and which speed it holds."""
    if layout.variant == "batch":
        found = BATCH_HEADER.fullmatch(header.strip())
        return {"batch": float(found[1]) if found else None}, layout.value_field
    if layout.variant == "test":
        tokens = float(re.sub(r"\D", "", header))
        prefill = header.lower().startswith("pp")
        counts: dict[str, object] = {
            "prompt_tokens": tokens if prefill else 0.0,
            "output_tokens": 0.0 if prefill else tokens,
        }
        return counts, "prefill_speed" if prefill else "decode_speed"
    return {"model": header, "weight_format": format_in_name(header.replace(" ", "-"))}, layout.value_field
