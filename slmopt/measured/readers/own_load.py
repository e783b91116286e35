"""What ``slmopt measure`` writes: JSON lines, settings first, then a line a request as it ended.

Each level becomes a row of its own (all requests together, over the time from the first one's start to the last one's
end), and each of its timed requests another. The warm-up is left out; a cold request is a row that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from slmopt.measured.load_file import HEAD, ROW
from slmopt.measured.load_summary import LoadSummary, summaries
from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._cells import parse_time
from slmopt.measured.readers._json import Item, Json, number, text_of
from slmopt.measured.readers._records import Record, collect, known
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "slmopt measure"
NOTE_COLD: Final = "cold: the first request after the server started"


def _is_ours(value: Json) -> bool:
    return isinstance(value, dict) and (HEAD in value or ROW in value)


def _read(source: str, items: Sequence[Item]) -> ReadResult:
    heads = [value for _, value in items if isinstance(value, dict) and HEAD in value]
    facts = _facts(heads[-1] if heads else {})
    rows = [(label, value) for label, value in items if isinstance(value, dict) and ROW in value]
    skips: list[Skip] = []
    records: list[Record] = []
    timed = [value for _, value in rows if value.get("kind") == "timed"]
    records += [_level(found, facts) for found in summaries(timed) if found.requests]
    for label, value in rows:
        kind = value.get("kind")
        if kind not in ("timed", "cold"):
            continue
        if value.get("error"):
            skips.append(Skip(label, f"the request failed: {str(value['error'])[:200]}"))
            continue
        records.append(_request(label, value, facts))
    return collect(f"{NAME} jsonl", source, records, skips)


def _facts(head: Mapping[str, Any]) -> Record:
    return {
        "tool": NAME,
        "tool_version": text_of(head, HEAD),
        "model": text_of(head, "model"),
        "device": text_of(head, "device"),
        "weight_format": text_of(head, "weights"),
        "phase": "serving",
        "clock": "client",
    }


def _level(found: LoadSummary, facts: Record) -> Record:
    record: Record = {
        **facts,
        "row": found.level,
        "concurrency": found.concurrency if found.concurrency is not None else found.in_flight,
        "prompt_tokens": found.prompt_tokens,
        "output_tokens": found.output_tokens,
        "cached_tokens": found.cached_tokens,
        "tokens_per_s": found.tokens_per_s,
        "tokens_per_s_basis": "device",
        "statistic": "p50",
        "ttft_s": found.ttft[0],
        "tpot_s": found.tpot[0],
        "e2e_s": found.e2e[0],
        "requests": float(found.requests),
        "failures": float(found.failures),
        "conversion": "output tokens of all requests over the time from the first one's start to the last one's end",
    }
    for name, values in (("ttft", found.ttft), ("tpot", found.tpot)):
        record |= {f"{name}_{p}_s": value for p, value in zip(("p50", "p95", "p99"), values, strict=True)}
    return {name: value for name, value in record.items() if value is not None}


def _request(label: str, value: Mapping[str, Any], facts: Record) -> Record:
    stated = number(value, "concurrency")
    return {
        **facts,
        "row": label,
        "concurrency": stated if known(stated) else number(value, "in_flight"),
        "prompt_tokens": number(value, "prompt_tokens"),
        "output_tokens": number(value, "output_tokens"),
        "cached_tokens": number(value, "cached_tokens"),
        "ttft_s": number(value, "ttft_s"),
        "tpot_s": number(value, "tpot_s"),
        "itl_s": number(value, "chunk_gap_s"),
        "e2e_s": number(value, "e2e_s"),
        "statistic": "single",
        "timestamp": parse_time(text_of(value, "started")),
        "note": NOTE_COLD if value.get("kind") == "cold" else None,
        "conversion": "time after the first token over the usage field's output tokens less one",
    }


READERS: Final[tuple[Reader, ...]] = (JsonReader(f"{NAME} jsonl", _is_ours, _read),)
