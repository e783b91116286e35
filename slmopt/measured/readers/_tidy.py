"""Tables with a metric's name and its value in each row: made into a row a run, with a column a metric."""

from __future__ import annotations

import math
from typing import Final

from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._names import MEASURES, read_name

_VALUES: Final = frozenset({"value", "values", "val", "result", "results", "measurement", "wert", "valeur"})
_UNITS: Final = frozenset({"unit", "units", "einheit"})


def is_tidy(sheet: Sheet) -> bool:
    """Whether a row is one metric of a run. Long files are not: their readers work on columns as they are."""
    return not len(sheet.data) and _metric_at(sheet) is not None


def untidy(sheet: Sheet) -> Sheet:
    """The sheet with a column a metric. Rows that agree in everything else are one run; a metric that comes again begins the
    next.
    """
    metric, value = _metric_at(sheet), _value_at(sheet)
    assert metric is not None
    assert value is not None
    unit = next((at for at, name in enumerate(sheet.header) if name.strip().lower() in _UNITS), None)
    kept = [at for at in range(len(sheet.header)) if at not in (metric, value, unit)]
    runs: dict[tuple[str, ...], list[tuple[str, dict[str, str]]]] = {}
    names: dict[str, None] = {}
    for label, row in zip(sheet.labels, sheet.records, strict=True):
        of = row[unit].strip() if unit is not None else ""
        name = f"{row[metric].strip()} ({of})" if of else row[metric].strip()
        names.setdefault(name)
        same = runs.setdefault(tuple(row[at] for at in kept), [])
        if not same or name in same[-1][1]:
            same.append((label, {}))
        same[-1][1][name] = row[value]
    header = (*(sheet.header[at] for at in kept), *names)
    records = [
        [*facts, *(told.get(name, "") for name in names)] for facts, same in runs.items() for _, told in same
    ]
    labels = [label for same in runs.values() for label, _ in same]
    return Sheet(
        sheet.source,
        sheet.delimiter,
        header,
        sheet.place,
        sheet.above,
        records,
        labels,
        skips=list(sheet.skips),
    )


def _value_at(sheet: Sheet) -> int | None:
    return next((at for at, name in enumerate(sheet.header) if name.strip().lower() in _VALUES), None)


def _metric_at(sheet: Sheet) -> int | None:
    """The column whose cells are names of metrics beside a column of values; None where there is none."""
    if _value_at(sheet) is None or any(read_name(name).field in MEASURES for name in sheet.header):
        return None
    sample = sheet.sample()
    for at in range(len(sheet.header)):
        cells = dict.fromkeys(row[at].strip() for row in sample)
        fields = [read_name(cell).field for cell in cells if cell and math.isnan(parse_number(cell)[0])]
        if set(fields) & MEASURES and sum(map(bool, fields)) > 0.4 * len(cells):
            return at
    return None
