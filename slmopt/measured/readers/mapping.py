"""Any table with a header: which column is what, said once, shown before use, and kept for the next file.

``guess_mapping`` proposes a ``Mapping`` from names, cells and values; ``apply_mapping`` reads a file with it; a form shows and
changes it in between. A mapping is plain data and goes to JSON and back.

The plain CSV
-------------
A table whose column names are all among these is read without guessing. Any delimiter; a header; one measurement a row;
an empty cell is "not known".

=================== ==================================================================================
column              meaning
=================== ==================================================================================
model               name or file of the model
weights             weight format (Q4_K_M, F16, fp8 …); also ``weight_format``
cache               cache format of keys and values; or ``cache_k`` and ``cache_v``
device, devices     device and how many of them; also ``device_count``
backend             back end or engine; also ``engine``
phase               decode, prefill, mixed or serving
batch, concurrency  sequences a pass advances together, requests in flight
prompt_tokens       prompt tokens a sequence, fed while the clock ran
output_tokens       tokens generated a sequence, while the clock ran
depth_tokens        tokens cached before the clock started
cached_tokens       prompt tokens that a prefix cache supplied
tokens_per_s        output tokens of all sequences together; prompt tokens where the phase is prefill
basis               'sequence' where tokens_per_s is one user's stream
ttft_ms, tpot_ms    time to first token, and per token after it; ``_s`` for seconds, also ``ttft_p50_ms`` … ``tpot_p99_s``
itl_ms, e2e_ms      gap between stream chunks; time of a whole request
repeats, spread     repetitions; standard deviation of the speed over its mean
requests, failures  requests that completed, and that failed
label               which of several runs it is, such as before and after; also ``note``
acceptance          share of drafted tokens accepted; with ``draft_tokens`` a pass
=================== ==================================================================================

and all columns of the one table, so that what was downloaded can be uploaded again. Without a ``phase`` column a row with
``output_tokens`` 0 is a prefill, one with ``prompt_tokens`` 0 a decode, one with both or with a TTFT is serving, and any
other a decode.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, FiniteFloat

from slmopt.measured.readers._apply import rows_of
from slmopt.measured.readers._base import Reader, SheetReader
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._guess import Choice, Layout, guess
from slmopt.measured.readers._names import DOCUMENTED, MEASURES
from slmopt.measured.table import ReadResult
from slmopt.measured.text import UnreadableFile, any_number

NAME: Final = "csv"


class ColumnChoice(BaseModel):
    """What one column is: a field of the table, which statistic of it, and the factor to SI units."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    field: str
    statistic: str = ""
    scale: FiniteFloat = 1.0
    unit: str = ""
    why: str = ""
    variant: str = ""
    """Tables with several runs side by side: whose column this is; '' for what they share."""


class Mapping(BaseModel):
    """How to read a table; ``constants`` are facts that hold for all its rows and that it does not state."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    layout: Literal["long", "wide", "transposed", "tidy"] = "long"
    decimal: Literal[".", ","] = "."
    columns: tuple[ColumnChoice, ...] = ()
    value_columns: tuple[str, ...] = ()
    """Wide tables: the columns that all hold ``value_field``, told apart by ``variant`` in their names."""
    value_field: str = ""
    variant: Literal["", "batch", "model", "test"] = ""
    constants: dict[str, str | FiniteFloat] = {}
    documented: bool = False
    ignored: tuple[str, ...] = ()
    """Columns that look like a measurement and are not read."""


def guess_mapping(sheet: Sheet) -> Mapping:
    """A mapping for the sheet, with the reason of each guess in ``why``; its ``columns`` may be empty."""
    layout = guess(sheet)
    return Mapping(
        layout=layout.layout,
        decimal="," if layout.decimal == "," else ".",
        columns=tuple(ColumnChoice(**asdict(choice)) for choice in layout.choices),
        value_columns=layout.value_columns,
        value_field=layout.value_field,
        variant=layout.variant,
        documented=layout.documented,
        ignored=tuple(layout.ignored),
    )


@any_number
def apply_mapping(sheet: Sheet, mapping: Mapping) -> ReadResult:
    """The sheet's rows as the mapping reads them."""
    layout = Layout(
        layout=mapping.layout,
        decimal=mapping.decimal,
        choices=[Choice(**choice.model_dump()) for choice in mapping.columns],
        value_columns=mapping.value_columns,
        value_field=mapping.value_field,
        variant=mapping.variant,
        documented=mapping.documented,
        ignored=list(mapping.ignored),
    )
    return rows_of(
        sheet, layout, "plain csv" if mapping.documented else f"{NAME}, columns guessed", mapping.constants
    )


def preview(sheet: Sheet, mapping: Mapping, count: int = 10) -> pd.DataFrame:
    """The first rows as the mapping reads them, without the columns that stay empty."""
    few = Sheet(sheet.source, sheet.delimiter, sheet.header, sheet.place, sheet.above, sheet.sample(count))
    few.labels = [f"{sheet.place} {number}" for number in range(1, len(few.records) + 1)]
    return apply_mapping(few, mapping).rows.dropna(axis="columns", how="all")


def _is_plain(sheet: Sheet) -> bool:
    names = [name.lower().replace(" ", "_") for name in sheet.header if name]
    fields = {DOCUMENTED[name][0] for name in names if name in DOCUMENTED}
    return (
        len(set(names)) == len(names)
        and bool(fields & MEASURES)
        and all(name in DOCUMENTED or name in _IGNORED for name in names)
    )


_IGNORED: Final = frozenset({"source_file", "row"})


def _read(sheet: Sheet) -> ReadResult:
    mapping = guess_mapping(sheet)
    if not mapping.columns and not mapping.value_columns:
        raise UnreadableFile(_no_measure(sheet))
    return apply_mapping(sheet, mapping)


def _no_measure(sheet: Sheet) -> str:
    names = ", ".join(repr(name[:40]) for name in sheet.header[:6] if name)
    return (
        f"{sheet.source} has no column with a speed or a latency among {names}{' …' if len(sheet.header) > 6 else ''}; "
        "name one tokens_per_s, ttft_ms or tpot_ms, or map the columns by hand."
    )


READERS: Final[tuple[Reader, ...]] = (SheetReader("plain csv", _is_plain, _read),)
FALLBACK: Final = SheetReader(NAME, lambda _: True, _read)
"""Reads any sheet that no other reader knows."""
