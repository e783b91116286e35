"""JSON that no tool is known for but that holds a list of flat records: read as a table, by the names of its keys.

Facts beside the list (model, hardware, engine) hold for each of its records. Records that say of themselves that they were
estimated or interpolated are no measurements, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slmopt.measured.readers import mapping
from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, text_of
from slmopt.measured.readers._names import MEASURES, read_name
from slmopt.measured.table import ReadResult, Skip, concat, empty_rows, result
from slmopt.measured.text import UnreadableFile

NAME: Final = "json records"

_MAX_COLUMNS: Final = 500


def _flat(entry: Mapping[str, Json], prefix: str = "") -> dict[str, str]:
    """Values of an object and of the objects in it, as texts; lists are left out."""
    cells: dict[str, str] = {}
    for key, value in entry.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not prefix:
            cells |= _flat(value, f"{name}.")
        elif isinstance(value, bool):
            cells[name] = str(value).lower()
        elif not isinstance(value, list | Mapping):
            cells[name] = "" if value is None else str(value)
    return cells


def _measures(entry: Json) -> bool:
    return isinstance(entry, Mapping) and any(read_name(str(key)).field in MEASURES for key in entry)


def _list_in(value: Mapping[str, Json]) -> str:
    """The key of the longest list of records with measurements; empty where there is none."""
    lists = {
        key: len(found)
        for key, found in value.items()
        if isinstance(found, list) and found and all(_measures(entry) for entry in found[:3])
    }
    return max(lists, key=lambda key: lists[key], default="")


def _is_records(value: Json) -> bool:
    return isinstance(value, Mapping) and (_measures(value) or bool(_list_in(value)))


def _read_records(source: str, items: Sequence[Item]) -> ReadResult:
    """Records at the top and those in lists apart, since the same name may mean other units there."""
    groups: dict[str, tuple[list[str], list[dict[str, str]]]] = {}
    skips: list[Skip] = []
    for label, value in items:
        key = _list_in(value)
        if _measures(value) and (not key or len(value[key]) < 2):
            key = ""  # a list of one repeats what stands beside it
        outer = _facts(value) if key else {}
        for order, entry in enumerate(value[key] if key else [value], 1):
            where = label if not key else f"{key} {order}" if len(items) == 1 else f"{label}, {key} {order}"
            why = _not_measured(entry)
            if why:
                skips.append(Skip(where, why))
                continue
            labels, cells = groups.setdefault(key, ([], []))
            cells.append(outer | _flat(entry))
            labels.append(where)
    tables = []
    for labels, cells in groups.values():
        if any(cells):
            tables.append(_as_table(source, labels, cells))
        else:
            skips += [Skip(label, "holds no number and no text under a name") for label in labels]
    return concat([result(NAME, source, empty_rows(), skips), *tables])


def _as_table(source: str, labels: list[str], cells: list[dict[str, str]]) -> ReadResult:
    names = list(dict.fromkeys(name for entry in cells for name in entry))[:_MAX_COLUMNS]
    records = [[entry.get(name, "") for name in names] for entry in cells]
    sheet = Sheet(source, ",", tuple(names), "record", "", records, labels)
    found = mapping.guess_mapping(sheet)
    if not found.columns:
        raise UnreadableFile(
            f"{source} holds JSON records, but none of their keys is a speed or a latency that this reader knows."
        )
    done = mapping.apply_mapping(sheet, found)
    return ReadResult(NAME, done.rows, done.skipped, done.warnings)


def _facts(value: Mapping[str, Json]) -> dict[str, str]:
    """What stands beside the list and is no measurement: model, device, engine, lengths."""
    flat = _flat({key: entry for key, entry in value.items() if not isinstance(entry, list)})
    return {
        name: text
        for name, text in flat.items()
        if (known := read_name(name).field) and known not in MEASURES
    }


def _not_measured(entry: Json) -> str:
    if not isinstance(entry, Mapping):
        return "not a record"
    if entry.get("estimated") is True or "interpol" in text_of(entry, "estimation_method"):
        return f"estimated, not measured ({text_of(entry, 'estimation_method') or 'so the record says'})"
    if entry.get("error") is True:
        return f"the run failed ({text_of(entry, 'error_type') or 'so the record says'})"
    return ""


READERS: Final[tuple[Reader, ...]] = (JsonReader(NAME, _is_records, _read_records),)
