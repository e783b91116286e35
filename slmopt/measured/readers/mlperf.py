"""MLPerf LoadGen's summary: text, nanoseconds, no model and no device; tokens a second only in some scenarios."""

from __future__ import annotations

import re
from typing import Final

from slmopt.measured.readers._base import Reader, TextReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._records import NAN, Record, collect, known, positive
from slmopt.measured.table import ReadResult

_FIELD: Final = re.compile(r"^([A-Z][\w .()%]*?)\s*:\s*(.+?)\s*$", re.MULTILINE)


def _is_summary(text: str) -> bool:
    return "MLPerf Results Summary" in text


def _read_summary(source: str, text: str) -> ReadResult:
    """LoadGen's summary: latencies in ns; tokens a second only in the scenarios that count tokens."""
    fields = {name.strip(): value for name, value in _FIELD.findall(text)}
    speed = next(
        (parse_number(value)[0] for name, value in fields.items() if "okens per second" in name), NAN
    )
    samples = next(
        (parse_number(value)[0] for name, value in fields.items() if "amples per second" in name), NAN
    )
    valid = fields.get("Result is", "")
    mean = parse_number(fields.get("Mean latency (ns)", ""))[0] * 1e-9
    notes = [f"scenario {fields.get('Scenario', 'not named')}, result {valid or 'not stated'}"]
    if not known(speed) and known(samples):
        notes.append(f"{samples:g} samples a second: tokens are not counted in this file")
    record: Record = {
        "row": "summary",
        "tool": "MLPerf LoadGen",
        "phase": "serving",
        "tokens_per_s": positive(speed),
        "tokens_per_s_basis": "device" if known(speed) else "",
        "ttft_s": positive(parse_number(fields.get("Mean First Token latency (ns)", ""))[0]) * 1e-9,
        "tpot_s": positive(parse_number(fields.get("Mean Time to Output Token (ns)", ""))[0]) * 1e-9,
        "e2e_s": positive(mean),
        "statistic": "mean",
        "clock": "client",
        "note": "; ".join(notes),
        "conversion": "nanoseconds to seconds; in the Offline scenario a latency counts from the start of the run",
    }
    return collect("MLPerf summary", source, [record])


READERS: Final[tuple[Reader, ...]] = (TextReader("MLPerf summary", _is_summary, _read_summary),)
