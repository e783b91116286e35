"""Hostile material, and how much of it: SLMOPT_FUZZ_EXAMPLES=20000 makes an hour of what takes a minute in the tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("SLMOPT_FUZZ_EXAMPLES", "0"))
"""Examples a property; 0 for its own few."""


def bounded(few: int) -> Callable[[Any], Any]:
    """So many examples, each with a deadline that only a hang passes."""
    return settings(
        max_examples=EXAMPLES or few,
        deadline=timedelta(seconds=30),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


ODD_TEXTS = [
    "", " ", "NaN", "-1", "1e999", "9" * 400, "null", "true", "\x00", "=cmd()", "<b>x</b>", "%{x}", "\u202eabc", "\u200b",
    "../../etc/passwd", "C:\\x", "\ud7ff", "é" * 100, "{}", "[]", "[" * 300, "'", '"', ",", "2024-99-99", "0x10", "١٢٣",
    "[" + ",".join(["9" * 400] * 11) + "]", "1_000", "+-1", "1.2.3", "∞", "nan", "-inf", "0", "-0.0", "1e-320", "1e308",
]  # fmt: skip
ODD_NUMBERS = [
    0,
    -1,
    1,
    2**31,
    2**63,
    10**30,
    10**400,
    -(10**400),
    0.5,
    -0.0,
    1e308,
    1e-320,
    float("nan"),
    float("inf"),
]

odd_values = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_NUMBERS),
    st.none(),
    st.booleans(),
    st.just([]),
    st.just({}),
    st.just([[[]]]),
    st.just({"a": {"a": {}}}),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
)


@st.composite
def damaged_json(draw: st.DrawFn, value: Any) -> bytes:
    """A JSON value with a few of its places replaced, removed, renamed, repeated or nested deep, as bytes."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 4))):
        value = _at_some_place(draw, value)
    try:
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    except RecursionError:
        # Too deep for Python to write: as deep as its reader has to refuse.
        text = "[" * 5000
    return damaged_bytes_of(draw, text.encode("utf-8", "surrogatepass"), st.integers(0, 1))


def _at_some_place(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        how = draw(st.sampled_from(["deeper", "deeper", "deeper", "drop", "rename"]))
        changed = dict(value)
        if how == "deeper":
            changed[key] = _at_some_place(draw, value[key])
        else:
            held = changed.pop(key)
            if how == "rename":
                changed[draw(st.sampled_from(ODD_TEXTS))] = held
        return changed
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        at = draw(st.integers(0, len(value) - 1))
        how = draw(st.sampled_from(["deeper", "deeper", "drop", "twice"]))
        if how == "drop":
            return value[:at] + value[at + 1 :]
        if how == "twice":
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], _at_some_place(draw, value[at]), *value[at + 1 :]]
    if draw(st.integers(0, 15)) == 0:
        for _ in range(draw(st.sampled_from([3, 70, 900]))):
            value = [value]
        return value
    return draw(odd_values)


@st.composite
def damaged_table(draw: st.DrawFn, text: str) -> bytes:
    """Delimited text with cells replaced, lines doubled, delimiters swapped, ends cut, in some encoding."""
    for _ in range(draw(st.integers(1, 3))):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["cell", "cell", "cell", "twice", "delimiter", "cut", "header"]))
        if how == "cell":
            cells = lines[at].split(",")
            cells[draw(st.integers(0, len(cells) - 1))] = str(draw(odd_values))
            lines[at] = ",".join(cells)
        elif how == "twice":
            lines.insert(at, lines[at])
        elif how == "delimiter":
            lines[at] = lines[at].replace(",", draw(st.sampled_from([";", "\t", "|", ",,", ""])))
        elif how == "cut":
            lines[at] = lines[at][: draw(st.integers(0, 30))]
        else:
            lines[0], lines[at] = lines[at], lines[0]
        text = "\n".join(lines)
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-16", "cp1252", "utf-32"])), "replace")
    return damaged_bytes_of(draw, data, st.integers(0, 1))


@st.composite
def damaged_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with a few places overwritten, cut out, doubled, or the end gone."""
    return damaged_bytes_of(draw, data, st.integers(1, 4))


def damaged_bytes_of(draw: st.DrawFn, data: bytes, times: st.SearchStrategy[int]) -> bytes:
    """The same, as many times as is drawn."""
    for _ in range(draw(times)):
        at = draw(st.integers(0, len(data)))
        long = draw(st.sampled_from([0, 1, 2, 4, 8, 40, 400]))
        how = draw(st.sampled_from(["over", "cut", "twice", "end"]))
        if how == "over":
            data = (
                data[:at]
                + draw(st.binary(min_size=long, max_size=long) if long < 9 else st.just(b"\xff" * long))
                + data[at + long :]
            )
        elif how == "cut":
            data = data[:at] + data[at + long :]
        elif how == "twice":
            data = data[: at + long] + data[at:]
        else:
            data = data[:at]
    return data
