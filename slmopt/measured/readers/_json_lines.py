"""Long files of JSON lines that are all of one kind, by columns: Arrow reads pieces, and no object a line arises.

Only where it can be seen that each line is one object with none but the expected keys and types; all else, from a bare NaN
to a key given twice, is left to the reader of single values, which lists what it cannot read. Lines that are laid out
alike are split like a table (:mod:`slmopt.measured.readers._json_cells`), others by Arrow's reader of JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.json as pajson  # type: ignore[import-untyped]

from slmopt.measured.distinct import alike
from slmopt.measured.progress import counted
from slmopt.measured.readers._cells import Floats, Times, parse_times
from slmopt.measured.readers._columns import Texts
from slmopt.measured.readers._json_cells import Unlike, columns_of
from slmopt.measured.table import Skip

_PIECE: Final = 16 << 20
_TYPES: Final = {"number": pa.float64(), "text": pa.string(), "time": pa.string()}

Kind = Literal["number", "text", "time", "passed over"]
Column: TypeAlias = "Floats | Times | Texts"


class OtherLines(ValueError):  # noqa: N818 - no error: such a file is read another way
    """Some line is not what was expected."""


def read_lines(
    data: bytes, start: int, keys: Mapping[str, Kind], needed: str
) -> tuple[dict[str, Column], int, list[Skip]]:
    """The columns of the lines from ``start`` on, how many lines there are, and a last line that was cut off.

    ``keys`` are all that a line may have; what is passed over must be a number all the same, and ``needed`` must stand in
    each line. Raises :class:`OtherLines`.
    """
    end = _end(data)
    last = data.rfind(b"\n", start, end) + 1
    skips: list[Skip] = []
    if last and not data.endswith(b"}", last, end) and _is_cut(data[last:end]):
        number = data.count(b"\n", 0, last) + 1
        skips.append(Skip(f"line {number}", "the file is cut off or broken inside this entry"))
        end = last
    if end <= start:
        raise OtherLines
    bounds = list(_pieces(data, start, end))
    grown = {name: _Growing() for name, kind in keys.items() if kind in _FORMS and kind != "text"}
    texts: dict[str, list[Any]] = {name: [] for name, kind in keys.items() if kind == "text"}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        pieces = counted(pool.map(partial(_piece, keys, needed, data), bounds), len(bounds))
        for (_, stop), piece in zip(bounds, pieces, strict=True):
            for name, parts in texts.items():
                parts.append(piece[name])
            for name, column in grown.items():
                column.add(piece[name], (stop - start) / (end - start))
    columns: dict[str, Column] = {name: _texts(parts) for name, parts in texts.items()}
    columns |= {name: column.whole for name, column in grown.items()}
    return columns, len(columns[needed]), skips


def _end(data: bytes) -> int:
    """Where the text ends but for blank lines, found without a copy of all of it."""
    end = len(data)
    while end and not (tail := data[max(end - 4096, 0) : end].rstrip()):
        end = max(end - 4096, 0)
    return end and max(end - 4096, 0) + len(tail)


def _is_cut(line: bytes) -> bool:
    """Whether a last line is the beginning of an object."""
    if not line.startswith(b"{"):
        return False
    try:
        json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
    except ValueError:
        return True
    return False


def _pieces(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of whole lines."""
    while start < end:
        stop = min(start + _PIECE, end)
        if stop < end:
            stop = data.find(b"\n", stop, end) + 1 or end
        yield start, stop
        start = stop


def _piece(keys: Mapping[str, Kind], needed: str, data: bytes, bounds: tuple[int, int]) -> dict[str, Any]:
    """One stretch by columns, texts still as Arrow's dictionaries; :class:`OtherLines` where a line is not one such object."""
    lines: bytes | memoryview = memoryview(data)[bounds[0] : bounds[1]]
    if not data.endswith(b"\n", *bounds) or data.find(b"\r", *bounds) >= 0:
        lines = bytes(lines).replace(b"\r\n", b"\n").removesuffix(b"\n") + b"\n"
        if b"\r" in lines:
            raise OtherLines
    try:
        found = columns_of(lines, keys)
    except Unlike:
        return _as_json(keys, needed, bytes(lines))
    if needed not in found or np.isnan(found[needed]).any():
        raise OtherLines
    size = len(found[needed])
    return {name: found.get(name, _lacking(kind, size)) for name, kind in keys.items() if kind in _FORMS}


def _as_json(keys: Mapping[str, Kind], needed: str, lines: bytes) -> dict[str, Any]:
    """The same of lines laid out in any way.

    An object ends before the next line begins with another's brace, since neither a brace nor a line's end can stand
    between a value and the comma behind it: so equal counts mean an object a line.
    """
    count = lines.count(b"\n")
    begun = lines.count(b"\n{") + lines.startswith(b"{")
    if begun != count or lines.count(b"}\n") != count or b"NaN" in lines or b"Inf" in lines:
        raise OtherLines
    schema = pa.schema({name: _TYPES.get(kind, pa.float64()) for name, kind in keys.items()})
    try:
        table = pajson.read_json(
            pa.BufferReader(lines),
            pajson.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowException as error:
        raise OtherLines from error
    if table.num_rows != count or table.column(needed).null_count:
        raise OtherLines
    table = table.combine_chunks()
    return {name: _FORMS[kind](table.column(name).chunk(0)) for name, kind in keys.items() if kind in _FORMS}


def _lacking(kind: Kind, size: int) -> Any:
    """A column of a key that no line has."""
    if kind == "number":
        return np.broadcast_to(np.float64(np.nan), size)
    if kind == "time":
        return np.full(size, np.datetime64("NaT", "us"))
    return pa.nulls(size, pa.string()).dictionary_encode()


def _numbers(values: Any) -> Floats:
    if values.null_count == len(values):
        return np.broadcast_to(np.float64(np.nan), len(values))
    found: Floats = values.to_numpy(zero_copy_only=False)
    return found


class _Growing:
    """A column of numbers or times that grows piece by piece, so that it is never there twice; of one value, that value."""

    def __init__(self) -> None:
        self._values: npt.NDArray[Any] | None = None
        self._one: npt.NDArray[Any] = np.empty(0)
        self._size = 0

    def add(self, part: npt.NDArray[Any], share: float) -> None:
        """The next piece, with which this share of all is there."""
        if not self._size:
            self._one = part[:1]
        size, self._size = self._size, self._size + len(part)
        if self._values is None and alike(part) and alike(np.concatenate([self._one, part[:1]])):
            return
        if self._values is None or self._size > len(self._values):
            # What is never written to takes no memory.
            room = np.empty(int(self._size * (1 + _ROOM) / share), dtype=part.dtype)
            room[:size] = self._one if self._values is None else self._values[:size]
            self._values = room
        self._values[size : self._size] = part

    @property
    def whole(self) -> npt.NDArray[Any]:
        """All pieces."""
        if self._values is None:
            return np.broadcast_to(self._one[0], self._size) if self._size else self._one
        return self._values[: self._size]


_ROOM: Final = 0.05
"""By how much the later lines of a file may be shorter than the first ones before a column is moved."""


def _texts(parts: list[Any]) -> Texts:
    """Dictionaries of few different texts as one column; empty texts are missing."""
    known: dict[str, int] = {}
    codes = []
    for part in parts:
        places = [known.setdefault(text, len(known)) if text else -1 for text in part.dictionary.to_pylist()]
        # The one behind all is the missing one.
        lookup = np.array([*places, -1], dtype=np.int32)
        codes.append(lookup[part.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    return pd.Categorical.from_codes(np.concatenate(codes), pd.Index(list(known), dtype="str"))


_UTC: Final = "+00:00"


def _times(texts: Any) -> Times:
    """Dates and times, as our own harness writes them at once, of any other form one by one."""
    if pc.all(pc.and_(pc.ends_with(texts, _UTC), pc.equal(pc.binary_length(texts), 29))).as_py():
        try:
            found: Times = pc.utf8_slice_codeunits(texts, 0, 23).cast(pa.timestamp("us")).to_numpy(False)
        except pa.ArrowInvalid:
            pass
        else:
            return found
    return parse_times(pd.Series(texts.to_pandas(), dtype="str").fillna(""))[0]


_FORMS: Final[dict[Kind, Callable[[Any], Any]]] = {
    "number": _numbers,
    "text": lambda values: values.dictionary_encode(),
    "time": _times,
}
