"""What leaves the command line: JSON without NaN, aligned text, and one-line messages on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slmopt.words.numbers import NBSP

GAP = "  "
LONGEST = 1000


def to_stdout(lines: Iterable[str]) -> None:
    """Print lines; no-break spaces become plain ones, so that the text can be searched and cut."""
    sys.stdout.write("".join(f"{line.replace(NBSP, ' ').rstrip()}\n" for line in lines))
    sys.stdout.flush()


def say(message: str) -> None:
    """One line on stderr, whatever line breaks an input had and however long it was."""
    line = " ".join(message.replace(NBSP, " ").split())
    print(line if len(line) <= LONGEST else f"{line[:LONGEST]}…", file=sys.stderr)


def as_json(value: object) -> list[str]:
    """JSON text; what is not finite is null."""
    return [json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)]


def plain(value: object) -> Any:
    """``value`` in Python's own types, as JSON knows them: NaN and infinity are None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def aligned(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Rows as columns of one width each; ``right`` names the columns that end flush, as numbers do.

    A row of one cell is a heading: it stands over the columns and widens none.
    """
    sizes = [
        max((len(row[i]) for row in rows if i < len(row) > 1), default=0)
        for i in range(max(map(len, rows), default=0))
    ]
    flush = set(right)
    return [
        GAP.join(
            cell.rjust(size) if i in flush else cell.ljust(size)
            for i, (cell, size) in enumerate(zip(row, sizes, strict=False))
        ).rstrip()
        for row in rows
    ]
