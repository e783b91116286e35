"""JSON as people have it: whole, by lines, objects one after another, after banners, cut off, with bare NaN.

Values come out with a label that says where they stood ('item 2', 'line 5'); what could not be read is listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slmopt.measured.table import Skip
from slmopt.measured.text import UnreadableFile

Json = Any
"""A decoded JSON value."""

Item = tuple[str, Json]
"""A value and where it stood."""

# A line that begins a value at the margin. Indented lines are inside one; "[12:30:01] text" is a log.
_CANDIDATE: Final = re.compile(r'^(?:\{|\[\s*(?:[\[{"\]]|-?\d|$))', re.MULTILINE)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[\]{},]', re.DOTALL)
_MAX_LISTED: Final = 1000


@dataclass
class Decoded:
    """What a text held: values in order, lines that were no JSON among them, and what was noticed."""

    items: list[Item] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Constants:
    """Counts the bare NaN and Infinity that Python's json writes and JSON does not have; NaN is missing, not a number."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def __call__(self, text: str) -> float:
        self.seen[text] = self.seen.get(text, 0) + 1
        return float(text.replace("Infinity", "inf"))


def looks_like_json(head: str) -> bool:
    """Whether a text may hold JSON values: one begins at the margin of some line near its start."""
    return bool(_CANDIDATE.search(head)) or head.lstrip()[:1] in {"{", "["}


def decode_json(name: str, text: str) -> Decoded:
    """All JSON values of a text; none is an empty list. Raises ``UnreadableFile`` for values nested absurdly deep."""
    constants = _Constants()
    decoder = json.JSONDecoder(parse_constant=constants)
    try:
        decoded = _whole(decoder, text) or _pieces(decoder, name, text)
    except RecursionError as error:
        raise UnreadableFile(f"{name} nests JSON values hundreds deep, as no benchmark file does.") from error
    if constants.seen:
        found = ", ".join(f"{count} {text}" for text, count in constants.seen.items())
        decoded.warnings.append(
            f"{name} holds bare {found}, which is not JSON; those values were taken as missing."
        )
    return decoded


def _whole(decoder: json.JSONDecoder, text: str) -> Decoded | None:
    try:
        value = decoder.decode(text)
    except ValueError:
        return None
    return Decoded(unrolled(value, ""))


def unrolled(value: Json, label: str) -> list[Item]:
    """An array of objects as its objects; anything else as itself."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        prefix = f"{label}, " if label else ""
        return [(f"{prefix}item {number}", entry) for number, entry in enumerate(value, 1)]
    return [(label or "item 1", value)]


def _pieces(decoder: json.JSONDecoder, name: str, text: str) -> Decoded:
    """Values one after another; a piece that does not decode is listed, or mended where the text was cut off."""
    decoded = Decoded()
    budget = 20 * len(text) + 10_000  # characters that failed attempts may look at: keeps hostile text linear
    line = counted = position = 0
    while match := _CANDIDATE.search(text, position):
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        label = f"line {line + 1}"
        following = _CANDIDATE.search(text, start + 1)
        next_start = following.start() if following else len(text)
        try:
            value, end = _decode_piece(decoder, text, start, next_start)
        except json.JSONDecodeError as error:
            budget -= error.pos
            if following is None:
                _cut_off(decoder, name, text[start:], label, decoded)
                break
            _skip(decoded, label, "this line is not complete JSON")
            position = next_start
            if budget < 0:
                decoded.warnings.append(
                    f"{name}: reading stopped at {label}: too much of the text is broken JSON."
                )
                break
        except ValueError:
            _skip(decoded, label, "a number of thousands of digits")
            position = next_start
        else:
            decoded.items += unrolled(value, label)
            position = end
    return decoded


def _decode_piece(decoder: json.JSONDecoder, text: str, start: int, next_start: int) -> tuple[Json, int]:
    """The value that begins at ``start``, and where it ends: mostly before the next one begins.

    A failed attempt costs as much as the text is long (the error counts its lines), so the whole text is only tried where
    the value goes on beyond what looked like the next one's beginning.
    """
    piece = text[start:next_start]
    try:
        value, end = decoder.raw_decode(piece)
    except json.JSONDecodeError as error:
        if error.pos < len(piece.rstrip()) - 1 and not error.msg.startswith("Unterminated"):
            raise
        return decoder.raw_decode(text, start)
    return value, start + end


def _cut_off(decoder: json.JSONDecoder, name: str, rest: str, label: str, decoded: Decoded) -> None:
    """The last value is broken: after whole ones it is listed, alone it is read as far as it goes."""
    if decoded.items:
        _skip(decoded, label, "the file is cut off or broken inside this entry")
    else:
        _mend(decoder, name, rest, label, decoded)


def _skip(decoded: Decoded, label: str, why: str) -> None:
    if len(decoded.skips) < _MAX_LISTED:
        decoded.skips.append(Skip(label, why))
    elif len(decoded.skips) == _MAX_LISTED:
        decoded.skips.append(Skip(label, f"{why}; further lines like it are not listed"))


def _mend(decoder: json.JSONDecoder, name: str, rest: str, label: str, decoded: Decoded) -> None:
    """Read a value that was cut off as far as its last complete member."""
    cut, closing, last = -1, "", 0
    stack: list[str] = []
    for token in _TOKEN.finditer(rest):
        mark = token.group()
        if mark in "[{":
            stack.append("]" if mark == "[" else "}")
        elif mark in "]}":
            if not stack or stack.pop() != mark:
                break
        elif mark == "," and stack:
            cut, closing = token.start(), "".join(reversed(stack))
        last = token.end()
    at = rest.count("\n", 0, last)
    try:
        value = decoder.decode(rest[:cut] + closing) if cut > 0 else None
    except ValueError:
        value = None
    if value is None:
        _skip(
            decoded,
            label,
            "the JSON that begins here is broken or cut off, and nothing before the break is complete",
        )
        return
    items = unrolled(value, "")
    if isinstance(value, list) and len(items) > 0 and closing != "]":
        # Cut inside an entry: what is left of it would pass for a whole one.
        lost, _ = items.pop()
        _skip(decoded, lost, "the file is cut off inside this entry")
    decoded.items += items
    decoded.warnings.append(
        f"{name}: the JSON that begins at {label} is cut off some {at} lines on; what stands before the cut was read."
    )


def get(value: Json, *path: str | int) -> Json:
    """The value at a path of keys and positions, or None where any step is missing."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return None
            value = value[step]
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value


def entries(value: Json, *path: str | int) -> list[Any]:
    """The list at a path; an empty one where there is something else or nothing."""
    found = get(value, *path)
    return found if isinstance(found, list) else []


def number(value: Json, *path: str | int) -> float:
    """The finite number at a path; NaN for anything else, text that spells a number excepted."""
    found = get(value, *path)
    if isinstance(found, str):
        try:
            found = float(found.strip())
        except ValueError:
            return float("nan")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return float("nan")
    try:
        real = float(found)
    except OverflowError:
        return float("nan")
    return real if abs(real) != float("inf") else float("nan")


def text_of(value: Json, *path: str | int) -> str:
    """The text at a path, numbers written out; empty where there is none."""
    found = get(value, *path)
    if isinstance(found, str):
        return found.strip()
    return "" if found is None or isinstance(found, list | dict | bool) else str(found)


def has(value: Json, names: Iterable[str]) -> bool:
    """Whether the value is an object with all these keys."""
    return isinstance(value, Mapping) and all(name in value for name in names)
