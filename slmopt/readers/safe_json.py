"""JSON from strangers: small, flat, finite and an object, or one clear sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from slmopt.specs.base import SpecError

MAX_BYTES = 4 * 2**20
"""Real files stay under 200 kB, quantisation lists included."""

MAX_DEPTH = 64
"""Real files nest five deep."""

LARGEST = 1e24
"""Above this no bytes, operations or rates of a machine make sense, and products of them would overflow."""

SMALLEST = 1e-9
"""Below this no bandwidth, size or bits of a machine make sense either."""


def load_object(
    data: Mapping[str, Any] | bytes | str, *, noun: str = "a config.json", most: int = MAX_BYTES
) -> dict[str, Any]:
    """The JSON object in ``data``, which should be ``noun`` and have at most that many bytes.

    Raises
    ------
    SpecError
        If it is not UTF-8, not JSON, not an object, too large, nested deeper than 64 levels, or names a field twice
        (where ``most`` is more than the usual 4 MiB: those files list tensors).
    """
    value = data if isinstance(data, Mapping) else _parse(data, noun, most)
    if not isinstance(value, Mapping):
        raise SpecError(f"The file holds a JSON {_kind(value)}: {noun} is an object, {{…}}.")
    if _too_deep(value):
        raise SpecError(f"The JSON is nested deeper than {MAX_DEPTH} levels: {noun} is nearly flat.")
    return dict(value)


def refuse_absurd(values: object) -> None:
    """Raises :class:`SpecError` for numbers that no machine has, before products of them overflow."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                _sane_number(key, value)
            refuse_absurd(value)
    elif isinstance(values, list):
        for value in values:
            refuse_absurd(value)


def _sane_number(key: str, value: float) -> None:
    if not abs(value) <= LARGEST:
        raise SpecError(
            f"{key} = {json.dumps(value)[:40]}: it must be a finite number of at most {LARGEST:g}."
        )
    if 0 < abs(value) < SMALLEST:
        raise SpecError(f"{key} = {value!r}: it must be at least {SMALLEST:g}, or 0 where nothing is meant.")


def _parse(data: bytes | str, noun: str, most: int) -> Any:
    if len(data) > most:
        raise SpecError(f"The file has {len(data):,} bytes: {noun} is under {most:,}.")
    if len(data) > MAX_BYTES and _costly(data):
        raise SpecError(f"The file holds more values than {noun} has, or text that is not ASCII.")
    if isinstance(data, bytes | bytearray):
        try:
            data = bytes(data).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SpecError(
                f"The file is not UTF-8 text (byte {error.start}): {noun} is plain JSON."
            ) from None
    if not isinstance(data, str):
        raise SpecError(f"A config is a mapping, bytes or text, not {type(data).__name__}.")
    try:
        return json.loads(
            data.removeprefix("\ufeff"), object_pairs_hook=_unique if most > MAX_BYTES else None
        )
    except RecursionError:
        raise SpecError(
            f"The JSON is nested deeper than {MAX_DEPTH} levels: {noun} is nearly flat."
        ) from None
    except json.JSONDecodeError as error:
        raise SpecError(
            f"Not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except ValueError:
        # Python refuses to turn thousands of digits into a number.
        raise SpecError(f"The JSON holds a number of thousands of digits: {noun} has none.") from None


MOST_MEMORY = 56 * 2**20


def _costly(data: bytes | str) -> bool:
    """Whether the parsed file might take more than 56 MiB, by what Python takes for its objects, lists and texts."""
    marks = {"{": 232, "[": 88, ",": 40, '"': 30}
    counted = (
        cost * (data.count(mark) if isinstance(data, str) else data.count(mark.encode()))
        for mark, cost in marks.items()
    )
    return not data.isascii() or sum(counted) > MOST_MEMORY


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise SpecError(f"The file names {twice[:60]!r} twice: names must be unique.")
    return found


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                deeper.extend(v for v in item.values() if isinstance(v, Mapping | list))
            elif isinstance(item, list):
                deeper.extend(v for v in item if isinstance(v, Mapping | list))
        if not deeper:
            return False
        level = deeper
    return True


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {list: "list", str: "text", int: "number", float: "number"}.get(type(value), type(value).__name__)
