"""Guesses what the columns of an unknown table are: from their names, their cells, and the size of their values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import pandas as pd

from slmopt.measured.readers._cells import (
    FAILED,
    Floats,
    format_in_name,
    is_missing,
    parse_column,
    parse_number,
)
from slmopt.measured.readers._delimited import Sheet, decimal_sign
from slmopt.measured.readers._names import (
    BYTES,
    DURATIONS,
    MEASURES,
    SECONDS,
    SPEEDS,
    Name,
    kind_of,
    read_name,
    words,
)
from slmopt.measured.readers._tidy import is_tidy, untidy


@dataclass(slots=True)
class Choice:
    """One column's meaning; ``why`` says where its unit or meaning was taken from."""

    column: str
    field: str
    statistic: str = ""
    scale: float = 1.0
    unit: str = ""
    why: str = ""
    variant: str = ""
    """Tables with several runs side by side: whose column this is; '' for what they share."""


@dataclass(slots=True)
class Layout:
    """How a table is laid out; see ``mapping.Mapping``."""

    layout: Literal["long", "wide", "transposed", "tidy"] = "long"
    decimal: str = "."
    choices: list[Choice] = field(default_factory=list)
    value_columns: tuple[str, ...] = ()
    value_field: str = ""
    variant: Literal["", "batch", "model", "test"] = ""
    documented: bool = False
    ignored: list[str] = field(default_factory=list)
    """Columns that look like a measurement and are not read."""


def _turned_as(sheet: Sheet) -> Literal["long", "transposed", "tidy"]:
    if is_tidy(sheet):
        return "tidy"
    return "transposed" if is_transposed(sheet) else "long"


def turned(sheet: Sheet, layout: str) -> Sheet:
    """The sheet with a run a row, as its layout's columns name it."""
    if layout == "transposed":
        return transpose(sheet)
    return untidy(sheet) if layout == "tidy" and is_tidy(sheet) else sheet


BATCH_HEADER: Final = re.compile(r"(?:(?:batch(?: size)?|bs)[ _=:]*)?(\d{1,5})", re.IGNORECASE)
"""A column name that is a number of sequences."""

_TEST_HEADER: Final = re.compile(r"^(?:pp|tg) ?\d+$", re.IGNORECASE)


def guess(sheet: Sheet) -> Layout:
    """The layout of a sheet; no choices and no values where nothing was recognised as a measurement."""
    decimal = decimal_sign(sheet)
    kind = _turned_as(sheet)
    if kind != "long":
        inner = guess(turned(sheet, kind))
        inner.layout = kind
        return inner
    names = [read_name(header) for header in sheet.header]
    sample = sheet.sample()
    found: dict[tuple[str, str], list[Choice]] = {}
    ignored: list[str] = []
    for position, (header, name) in enumerate(zip(sheet.header, names, strict=True)):
        if (
            not name.field
            or BATCH_HEADER.fullmatch(header.strip())
            or name.statistic == "other"
            or (name.statistic == "sd" and name.field not in SPEEDS)
        ):
            continue
        if sheet.header.count(header) > 1:
            ignored.append(header)
            continue
        cells = [row[position] for row in sample]
        choice = _choice(header, name, cells, sheet, position, decimal)
        if choice is not None:
            found.setdefault((name.field, name.statistic), []).append(choice)
    choices = _without_doubles(found, ignored)
    if not any(choice.field in MEASURES for choice in choices):
        return _wide(sheet, choices, decimal)
    if any(choice.field in _PROMPTS for choice in choices):
        # Beside a prompt length a "context" is the server's limit, not what was cached.
        choices = [
            choice for choice in choices if choice.field != "depth_tokens" or "depth" in choice.column.lower()
        ]
    documented = all(
        name.documented for header, name in zip(sheet.header, names, strict=True) if header and name.field
    )
    known = all(
        name.field or header in {"row", "source_file"}
        for header, name in zip(sheet.header, names, strict=True)
        if header
    )
    return Layout(decimal=decimal, choices=choices, documented=documented and known, ignored=ignored)


_PROMPTS: Final = frozenset({"prompt_tokens", "both_tokens", "total_prompt_tokens"})


def _without_doubles(found: dict[tuple[str, str], list[Choice]], ignored: list[str]) -> list[Choice]:
    """One column a field and statistic; several columns of one measurement are runs side by side, told apart by their names."""
    choices: list[Choice] = []
    for (field_name, _), same in found.items():
        if len(same) > 1 and field_name in MEASURES:
            variants = _variants([choice.column for choice in same])
            if all(variants) and len(set(variants)) == len(variants):
                for choice, variant in zip(same, variants, strict=True):
                    choice.variant = variant
                choices += same
                continue
            ignored += [choice.column for choice in same[1:]]
        choices.append(same[0])
    return choices


def _variants(headers: list[str]) -> list[str]:
    """What is left of each header without the words, or else the beginning, that all share."""
    split = [words(header).split() for header in headers]
    common = set(split[0]).intersection(*split[1:])
    left = [" ".join(part for part in parts if part not in common) for parts in split]
    if common:
        return left
    lowered = [header.lower() for header in headers]
    size = next((at for at, letters in enumerate(zip(*lowered, strict=False)) if len(set(letters)) > 1), 0)
    return [header[size:].strip(" _-") for header in headers] if size >= 4 else left


def _choice(
    header: str, name: Name, cells: list[str], sheet: Sheet, position: int, decimal: str
) -> Choice | None:
    """The column's choice with its unit, or None where its cells contradict its name."""
    choice = Choice(header, name.field, name.statistic, unit=name.unit, why="name")
    if kind_of(name.field) != "number":
        return choice
    values, _, _ = parse_column(pd.Series(cells, dtype="str"), decimal)
    good = values[np.isfinite(values)]
    stated = sum(1 for cell in cells if not is_missing(cell))
    if stated and len(good) < 0.2 * stated:
        return None  # a column of words under a name of numbers
    units = [unit for cell in cells if (unit := parse_number(cell, decimal)[2].lower())]
    if name.field in SPEEDS and len(units) > len(good) / 2 and not any("t" in unit for unit in units):
        return None  # ratios ("3.5X"), percentages, watts
    if name.field in DURATIONS:
        _set_seconds(choice, name, cells, good, _sibling_unit(sheet, position))
    elif name.field == "weight_bytes":
        unit = (name.unit or next((u for cell in cells if (u := parse_number(cell, decimal)[2])), "")).lower()
        if unit not in BYTES and not (len(good) and np.median(good) > 1e6):
            return None
        choice.scale, choice.unit = BYTES.get(unit, 1.0), unit or "bytes"
    elif name.field == "params":
        unit = next((u for cell in cells if (u := parse_number(cell, decimal)[2])), "").lower()
        sibling = _sibling_unit(sheet, position)
        scale = {"b": 1e9, "m": 1e6, "k": 1e3}.get(unit or sibling)
        if scale is None:
            scale = 1e9 if len(good) and np.median(good) < 5000 else 1.0
            choice.why = "billions, by the size of the values" if scale > 1 else "name"
        choice.scale = scale
    elif name.field == "acceptance" and len(good) and np.max(good) > 1.5:
        choice.scale, choice.why = 0.01, "percent, by the size of the values"
    return choice


def _set_seconds(choice: Choice, name: Name, cells: list[str], good: Floats, sibling: str) -> None:
    """Unit of a duration: from its name, a column beside it, its cells, or at last from the size of its values."""
    in_cells = next((u for cell in cells if (u := parse_number(cell)[2].lower()) in SECONDS), "")
    for unit, why in (
        (name.unit, "unit in the name"),
        (sibling, "unit in the column beside it"),
        (in_cells, "unit in the cells"),
    ):
        if unit in SECONDS:
            choice.unit, choice.scale, choice.why = unit, SECONDS[unit], why
            return
    # No token takes a second a piece on what people benchmark, and no whole request a few milliseconds.
    limit = {"ttft": 30.0, "tpot": 1.5, "itl": 1.5, "e2e": 1500.0}[choice.field]
    choice.unit = "ms" if len(good) and float(np.median(good)) > limit else "s"
    choice.scale = SECONDS[choice.unit]
    choice.why = f"no unit given: {choice.unit} by the size of the values"


def _sibling_unit(sheet: Sheet, position: int) -> str:
    """The unit in a column '<name>_unit', where all rows agree on it."""
    wanted = f"{sheet.header[position]}_unit".lower()
    for other, header in enumerate(sheet.header):
        if header.lower() == wanted:
            units = {row[other].strip().lower() for row in sheet.sample()} - {""}
            return units.pop() if len(units) == 1 else ""
    return ""


def _wide(sheet: Sheet, choices: list[Choice], decimal: str) -> Layout:
    """A table with one column a variant: batch sizes, tests, or models as column names over bare numbers."""
    used = {choice.column for choice in choices}
    numeric: list[str] = []
    some = False
    for position, header in enumerate(sheet.header):
        if header in used or not header:
            continue
        cells = [row[position] for row in sheet.sample()]
        values, _, odd = parse_column(pd.Series(cells, dtype="str"), decimal)
        if all(cell.strip().lower() in FAILED for cell in odd):
            numeric.append(header)
            some = some or bool(np.isfinite(values).any())
    bare = [header for header in numeric if BATCH_HEADER.fullmatch(header.strip())]
    tests = [header for header in numeric if _TEST_HEADER.match(header)]
    models = [header for header in numeric if format_in_name(header.replace(" ", "-"))]
    for variant, columns in (("test", tests), ("batch", bare), ("model", models)):
        if len(columns) >= 2 and some:
            return Layout("wide", decimal, choices, tuple(columns), _context_field(sheet.above), variant)  # type: ignore[arg-type]
    return Layout(decimal=decimal)


def _context_field(above: str) -> str:
    """Which speed a wide table holds, from the last sentence above it."""
    sentence = words(next((line for line in reversed(above.split("\n")) if line.strip()), ""))
    if re.search(r"\bprompt\b|\bprefill\b|\bpp\b", sentence):
        return "prefill_speed"
    if re.search(r"\bgenerat\w*\b|\bdecod\w*\b|\beval rate\b|\btg\b", sentence):
        return "decode_speed"
    return "speed"


def is_transposed(sheet: Sheet) -> bool:
    """Whether metrics stand in the first column and runs in the others."""
    firsts = [sheet.header[0], *(row[0] for row in sheet.sample())]
    fields = [read_name(cell).field for cell in firsts[1:]]
    named = [field for field in fields if field]
    across = [read_name(header).field for header in sheet.header[1:]]
    return (
        len(set(named) & MEASURES) >= 1
        and len(named) >= 3
        and len(named) > 0.4 * len(fields)
        and not any(field in MEASURES for field in across)
    )


def transpose(sheet: Sheet) -> Sheet:
    """The sheet with rows and columns exchanged; a 'Unit' column becomes part of the names, the run's name its label."""
    rows = sheet.sample(10_000)
    unit_at = next(
        (at for at, header in enumerate(sheet.header) if header.strip().lower() in {"unit", "units"}), None
    )
    runs = [at for at in range(1, len(sheet.header)) if at != unit_at]
    header = []
    for row in rows:
        unit = row[unit_at].strip() if unit_at is not None else ""
        header.append(f"{row[0].strip()} ({unit})" if unit else row[0].strip())
    records = [[row[at] for row in rows] for at in runs]
    labels = [f"column {sheet.header[at]!r}" for at in runs]
    turned = Sheet(sheet.source, sheet.delimiter, tuple(header), "column", sheet.above, records, labels)
    turned.skips = list(sheet.skips)
    return turned
