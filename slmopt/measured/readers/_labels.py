"""Labels of rows by their numbers, letter by letter for all of them at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

_THREE: Final = np.array([list(f"{number:03}".encode()) for number in range(1000)], dtype=np.uint8)
"""Three digits of every number that has no more."""


def numbered(place: str, numbers: npt.NDArray[np.int64]) -> pd.Series[str]:
    """``place`` and a number, such as "row 7", for each of these numbers, which ascend from 1 on."""
    head = np.frombuffer(f"{place} ".encode(), dtype=np.uint8)
    parts: list[Any] = []
    begin, digits = 0, 1
    while begin < len(numbers):
        end = int(np.searchsorted(numbers, 10**digits))
        if end > begin:
            parts.append(_letters(head, numbers[begin:end], digits))
        begin, digits = end, digits + 1
    texts = pa.chunked_array(parts or [pa.array([], pa.large_string())])
    return pd.Series(pd.array(texts.combine_chunks(), dtype="str"))


def _letters(head: npt.NDArray[np.uint8], numbers: npt.NDArray[np.int64], digits: int) -> Any:
    """The labels of numbers that all have so many digits."""
    size, width = len(numbers), len(head) + digits
    letters = np.empty((size, width), dtype=np.uint8)
    letters[:, : len(head)] = head
    rest, end = numbers, width
    while end > len(head):
        begin = max(end - 3, len(head))
        above = rest // 1000
        letters[:, begin:end] = _THREE[rest - 1000 * above, begin - end :]
        rest, end = above, begin
    ends = np.arange(size + 1, dtype=np.int64) * width
    return pa.LargeStringArray.from_buffers(size, pa.py_buffer(ends), pa.py_buffer(letters.reshape(-1)))
