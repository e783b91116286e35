"""JSON lines that are all laid out as the first of them: split at commas, as a table is, in a third of the time of JSON.

Nothing is taken that JSON would not say. Where every line splits into as many cells as the first, each cell begins with the
first line's key and the rest of it is one JSON value, the line is one object with those values: a comma inside a text
would leave a cell whose value never ends. Whatever is laid out otherwise is left to a reader of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]

from slmopt.measured.readers._cells import Floats, Times

_BLOCK: Final = 1 << 20


class Unlike(ValueError):  # noqa: N818 - no error: such lines are read as JSON
    """Some line is not laid out as the first, or some value is not plain."""


def columns_of(lines: bytes | memoryview, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The values of each key: numbers as NumPy arrays, texts as Arrow's dictionaries (an empty one: null), times as dates.

    ``lines`` end with a line feed each and hold no carriage return; ``kinds`` names every key that a line may have. Keys
    that are passed over are looked at all the same. Raises :class:`Unlike`.
    """
    prefixes = _layout(bytes(lines[:_BLOCK]).partition(b"\n")[0], kinds)
    try:
        table = pacsv.read_csv(
            pa.BufferReader(pa.py_buffer(lines)),
            pacsv.ReadOptions(column_names=list(prefixes), use_threads=False, block_size=_BLOCK),
            # An empty line is then one cell, and not passed over.
            pacsv.ParseOptions(delimiter=",", quote_char=False, ignore_empty_lines=False),
            pacsv.ConvertOptions(
                column_types=dict.fromkeys(prefixes, pa.binary()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise Unlike from error
    last = table.column_names[-1]
    found = {}
    for name, prefix in prefixes.items():
        cells = table.column(name)
        if not _all(pc.starts_with(cells, prefix)) or (name == last and not _all(pc.ends_with(cells, b"}"))):
            raise Unlike
        # Without an end Arrow multiplies the largest number there is by that of the cells.
        values = pc.binary_slice(cells, len(prefix), -1 if name == last else len(lines))
        found[name] = _FORMS[kinds[name]](values.combine_chunks())
    return found


def _layout(line: bytes, kinds: Mapping[str, str]) -> dict[str, bytes]:
    """What each cell of a line begins with: a brace or a space, its key, a colon and a space."""
    prefixes: dict[str, bytes] = {}
    for at, cell in enumerate(line.split(b",")):
        key = cell.partition(b": ")[0]
        try:
            name = json.loads(key[1:])
        except ValueError as error:
            raise Unlike from error
        if (
            key[:1] != (b" " if at else b"{")
            or not isinstance(name, str)
            or name in prefixes
            or name not in kinds
        ):
            raise Unlike
        prefixes[name] = key + b": "
    return prefixes


def _all(held: Any) -> bool:
    return bool(pc.all(held).as_py())


def _numbers(values: Any) -> Floats:
    """Numbers as JSON writes them, or nulls; of nulls alone one in the memory of one."""
    null = pc.equal(values, b"null")
    some = pc.any(null).as_py()
    if some and _all(null):
        return np.broadcast_to(np.float64(np.nan), len(values))
    stated = pc.filter(values, pc.invert(null)) if some else values
    try:
        numbers: Floats = stated.view(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise Unlike from error
    if not np.isfinite(numbers).all() or not _is_json(stated):
        raise Unlike
    if not some:
        return numbers
    found = np.full(len(values), np.nan)
    found[~null.to_numpy(zero_copy_only=False)] = numbers
    return found


_ZERO, _MINUS, _PLUS, _POINT = b"0-+."


def _is_json(values: Any) -> bool:
    """Whether texts that spell finite numbers spell them as JSON does.

    No sign but a minus, digits on both sides of a point, no zero before others.
    """
    _, places, letters = values.buffers()
    ends = np.frombuffer(places, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    ends = ends.astype(np.intp)
    text = np.frombuffer(letters, dtype=np.uint8)[: ends[-1]]
    begins, lasts = ends[:-1], ends[1:] - 1
    first = text.take(begins)
    if ((first == _POINT) | (first == _PLUS)).any() or (text.take(lasts) == _POINT).any():
        return False
    digit = text - _ZERO < 10
    point = text == _POINT
    if (point[1:-1] & ~(digit[:-2] & digit[2:])).any():
        return False
    if (first == _MINUS).any():
        begins = begins + (first == _MINUS)
        first = text.take(begins)
    padded = (first == _ZERO) & (begins < lasts)
    return not digit.take(begins[padded] + 1).any()


def _texts(values: Any) -> Any:
    """Texts by their different ones, each of which is looked at as JSON."""
    coded = values.dictionary_encode()
    known = []
    for value in coded.dictionary.to_pylist():
        try:
            text = json.loads(value)
        except ValueError as error:
            raise Unlike from error
        if text is not None and not isinstance(text, str):
            raise Unlike
        known.append(text or "")
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(known, pa.string()))


_UTC: Final = b'+00:00"'


def _times(values: Any) -> Times:
    """Dates and times as our own harness writes them, to the millisecond and in UTC."""
    whole = pc.and_(pc.ends_with(values, _UTC), pc.equal(pc.binary_length(values), 31))
    if not _all(pc.and_(whole, pc.starts_with(values, b'"'))):
        raise Unlike
    try:
        texts = pc.binary_slice(values, 1, 24).view(pa.string())
        found: Times = texts.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise Unlike from error
    return found


_FORMS: Final = {"number": _numbers, "passed over": _numbers, "text": _texts, "time": _times}
