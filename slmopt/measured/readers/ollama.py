"""Ollama: API responses (JSON) and what ``--verbose`` prints.

Durations are nanoseconds in JSON and Go's text ("1m5.04s") on the console. A prompt found in the cache is left out of
``prompt_eval_count``, or, since 2026, counted there and told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, TextReader
from slmopt.measured.readers._cells import format_in_name, parse_number, parse_time
from slmopt.measured.readers._json import Item, Json, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, phase_pair, positive
from slmopt.measured.table import ReadResult


def _is_response(value: Json) -> bool:
    return has(value, ("eval_count", "eval_duration"))


def _read_responses(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        cached = number(value, "prompt_eval_cached_count")
        # Older servers write 0 for a prompt that the cache held whole: a count of 0 is no count.
        counted = positive(number(value, "prompt_eval_count"))
        fed = counted - cached if known(cached) else counted
        model = text_of(value, "model")
        base: Record = {
            "row": label,
            "tool": "ollama",
            "model": model,
            "weight_format": format_in_name(model),
            "backend": "ollama",
            "timestamp": parse_time(text_of(value, "created_at")),
        }
        times = number(value, "prompt_eval_duration") * 1e-9, number(value, "eval_duration") * 1e-9
        records += phase_pair(
            base,
            (fed, times[0]),
            cached,
            (number(value, "eval_count"), times[1]),
            "counts over durations (ns to s)",
        )
    return collect("ollama json", source, records)


_GO: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|µs|μs|us|ns|m|s)")
_GO_UNITS: Final = {
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "µs": 1e-6,
    "μs": 1e-6,
    "us": 1e-6,
    "ns": 1e-9,
}


def go_seconds(text: str) -> float:
    """A duration as Go prints it ('1m5.04s', '325.9ms') [s]."""
    parts = _GO.findall(text)
    return sum(float(value) * _GO_UNITS[unit] for value, unit in parts) if parts else NAN


_VERBOSE: Final = re.compile(
    r"^(total duration|prompt eval count|prompt eval duration|eval count|eval duration|eval rate):\s+(\S+)",
    re.MULTILINE,
)


def _is_printed(text: str) -> bool:
    return bool(re.search(r"^eval rate:\s+[\d.]+ tokens/s", text, re.MULTILINE))


def _read_printed(source: str, text: str) -> ReadResult:
    records: list[Record] = []
    run: dict[str, str] = {}
    for name, value in _VERBOSE.findall(text):
        run[name] = value
        if name != "eval rate":
            continue
        base: Record = {"row": f"run {len(records) // 2 + 1}", "tool": "ollama", "backend": "ollama"}
        fed = (
            parse_number(run.get("prompt eval count", ""))[0],
            go_seconds(run.get("prompt eval duration", "")),
        )
        made = parse_number(run.get("eval count", ""))[0], go_seconds(run.get("eval duration", ""))
        records += phase_pair(
            base, fed, NAN, made, "counts over durations; the printed rates are the same, rounded"
        )
        run = {}
    return collect("ollama text", source, records)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("ollama json", _is_response, _read_responses),
    TextReader("ollama text", _is_printed, _read_printed),
)
