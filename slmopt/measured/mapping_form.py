"""A mapping as a form: a line a column to change, and back; saved as JSON, and found fit for another file or not."""

from __future__ import annotations

import math
from collections.abc import Mapping as Values
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._guess import turned
from slmopt.measured.readers._names import BYTES, DURATIONS, MEASURES, SECONDS, SPEEDS, TEXT_FIELDS, kind_of
from slmopt.measured.readers.mapping import ColumnChoice, Mapping
from slmopt.specs.base import SpecError, sentence

NOTHING: Final = ""
"""A column that is not read."""

UNITS: Final = (
    "",
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "b",
    "kb",
    "mb",
    "gb",
    "kib",
    "mib",
    "gib",
    "%",
    "m",
    "billion",
)
STATISTICS: Final = ("", "mean", "p50", "p95", "p99", "sd")
CONSTANTS: Final = (
    "model",
    "weight_format",
    "device",
    "backend",
    "phase",
    "batch",
    "prompt_tokens",
    "output_tokens",
)
"""Facts that may hold for all rows of a table that does not state them."""

_SCALES: Final = {**SECONDS, **BYTES, "%": 0.01, "m": 1e6, "billion": 1e9}


@dataclass(frozen=True, slots=True)
class FormLine:
    """One column: its first values, what it means (a field, or ``NOTHING``), which statistic of it, and its unit."""

    column: str
    first: str
    field: str
    statistic: str
    unit: str


def form_lines(sheet: Sheet, mapping: Mapping, shown: int = 3) -> list[FormLine]:
    """A line for each column of the sheet, with what the mapping makes of it."""
    table = turned(sheet, mapping.layout)
    chosen = {choice.column: choice for choice in mapping.columns}
    rows = table.sample(shown)
    lines = []
    for at, name in enumerate(table.header):
        if not name or table.header.count(name) > 1:
            continue
        choice = chosen.get(name)
        first = ", ".join(row[at].strip()[:24] for row in rows if row[at].strip())
        lines.append(
            FormLine(
                name,
                first,
                choice.field if choice else NOTHING,
                choice.statistic if choice else "",
                _unit(choice) if choice else "",
            )
        )
    return lines


def _unit(choice: ColumnChoice) -> str:
    """The unit as the form names it, by its scale where it has none."""
    if choice.field == "params":
        return {1e9: "billion", 1e6: "m"}.get(choice.scale, "")
    if choice.field == "acceptance" and choice.scale != 1.0:
        return "%"
    return choice.unit if choice.unit in UNITS else ""


def from_form(base: Mapping, lines: Sequence[FormLine], constants: Values[str, str]) -> Mapping:
    """The mapping that a form says; :class:`SpecError` where it contradicts itself."""
    chosen = [line for line in lines if line.field]
    if not base.value_columns and not any(line.field in MEASURES for line in chosen):
        raise SpecError("No column is a speed or a time yet: choose what one of them measures.")
    seen: dict[tuple[str, str], str] = {}
    kept = {choice.column: choice for choice in base.columns}
    columns = []
    for line in chosen:
        key = (line.field, line.statistic)
        variant = kept[line.column].variant if line.column in kept else ""
        if key in seen and not variant:
            raise SpecError(
                f"{line.column!r} and {seen[key]!r} both are {line.field}: one of them must mean something else."
            )
        seen[key] = line.column
        columns.append(_choice(line, kept.get(line.column), variant))
    told = {name: _constant(name, text) for name, text in constants.items() if text.strip()}
    return base.model_copy(update={"columns": tuple(columns), "constants": told, "documented": False})


def _choice(line: FormLine, before: ColumnChoice | None, variant: str) -> ColumnChoice:
    if before is not None and (before.field, before.statistic, _unit(before)) == (
        line.field,
        line.statistic,
        line.unit,
    ):
        return before
    if line.field in DURATIONS and line.unit not in SECONDS:
        raise SpecError(f"{line.column!r} is a time: choose its unit, such as ms or s.")
    scale = _SCALES.get(line.unit, 1.0)
    if line.field in SPEEDS or kind_of(line.field) != "number":
        scale = 1.0
    return ColumnChoice(
        column=line.column,
        field=line.field,
        statistic=line.statistic,
        scale=scale,
        unit=line.unit,
        why="chosen by hand",
        variant=variant,
    )


def _constant(name: str, text: str) -> str | float:
    if name in TEXT_FIELDS:
        return text.strip()
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SpecError(f"{name} = {text[:40]!r}: it must be a number.")
    return value


def saved(mapping: Mapping) -> str:
    """The mapping as a file."""
    return mapping.model_dump_json(indent=1, exclude_defaults=True) + "\n"


def loaded(content: bytes, sheet: Sheet) -> Mapping:
    """A saved mapping for a sheet; :class:`SpecError` where the file is none, or is for other columns."""
    try:
        found = Mapping.model_validate_json(content)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise SpecError("The mapping is no JSON: give a file that was saved here.") from None
        raise SpecError(f"The mapping cannot be used: {sentence(error, None, Mapping)}") from error
    if not fits(sheet, found):
        raise SpecError("The mapping reads columns that this table does not have: choose them by hand.")
    return found


def fits(sheet: Sheet, mapping: Mapping) -> bool:
    """Whether the sheet has every column that the mapping reads."""
    table = turned(sheet, mapping.layout)
    names = set(table.header)
    return all(choice.column in names for choice in mapping.columns) and set(mapping.value_columns) <= names
