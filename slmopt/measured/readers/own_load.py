"""What ``slmopt measure`` writes: JSON lines, settings first, then a line a request as it ended.

Each level becomes a row of its own (all requests together, over the time from the first one's start to the last one's
end), and each of its timed requests another. The warm-up is left out; a cold request is a row that says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.measured.load_file import HEAD, ROW
from slmopt.measured.load_rows import NUMBERS, Requests
from slmopt.measured.load_summary import LoadSummary, summaries
from slmopt.measured.readers._base import JsonLinesReader, JsonReader, Reader
from slmopt.measured.readers._cells import Times, parse_time
from slmopt.measured.readers._columns import Columns, as_texts, choose, numbered
from slmopt.measured.readers._json import Item, Json, text_of
from slmopt.measured.readers._json_lines import Kind, read_lines
from slmopt.measured.readers._records import NOTHING, Record, collect
from slmopt.measured.table import ReadResult, concat, empty_rows, make_rows, result
from slmopt.measured.text import Document

NAME: Final = "slmopt measure"
NOTE_COLD: Final = "cold: the first request after the server started"


def _is_ours(value: Json) -> bool:
    return isinstance(value, dict) and (HEAD in value or ROW in value)


def _read(source: str, items: Sequence[Item]) -> ReadResult:
    heads = [value for _, value in items if isinstance(value, dict) and HEAD in value]
    rows = [(label, value) for label, value in items if isinstance(value, dict) and ROW in value]
    times = [parse_time(text_of(value, "started")) for _, value in rows]
    found = Requests.of([value for _, value in rows])
    return _result(
        source,
        heads[-1] if heads else {},
        found,
        summaries(found),
        pd.Series([label for label, _ in rows], dtype="str"),
        np.array(times, dtype="datetime64[us]"),
    )


_KEYS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("kind", "level", "error"), "text"),
    **dict.fromkeys(NUMBERS, "number"),
    **dict.fromkeys(("rate", "request", "waited_s", "chunks"), "passed over"),
    "started": "time",
    ROW: "number",
}
"""All keys of a request's line."""


def _read_lines(document: Document) -> ReadResult | None:
    """A long file at once; None where a line is not as the harness writes it."""
    start = document.data.find(b"\n") + 1
    try:
        head = json.loads(document.data[:start])
        columns, count, cut = read_lines(document.data, start, _KEYS, ROW)
    except (ValueError, RecursionError):
        return None
    if not _is_ours(head) or ROW in head:
        return None
    kind, level, error = (as_texts(columns[name]) for name in ("kind", "level", "error"))
    found = Requests(kind, level, error, {name: np.asarray(columns[name]) for name in NUMBERS})
    with ThreadPoolExecutor(1) as beside:
        labels = beside.submit(numbered, "line", np.arange(2, count + 2))
        levels = summaries(found)
    done = _result(document.name, head, found, levels, labels.result(), np.asarray(columns["started"]))
    return concat([done, result("", document.name, empty_rows(), cut)])


def _result(
    source: str,
    head: Mapping[str, Any],
    requests: Requests,
    summed: Sequence[LoadSummary],
    labels: pd.Series,
    at: Times,
) -> ReadResult:
    facts = _facts(head)
    levels = [_level(found, facts) for found in summed if found.requests]
    kind = [requests.kind == name for name in ("timed", "cold")]
    timed = np.asarray(kind[0] | kind[1])
    measured = np.zeros(len(requests), dtype=bool)
    for name in ("ttft_s", "tpot_s", "chunk_gap_s", "e2e_s"):
        measured |= ~np.isnan(requests[name])
    good = timed & ~requests.failed & measured
    reasons = {
        f"the request failed: {text[:200]}": np.asarray(requests.error == text)
        for text in requests.error.categories
    }
    # What is neither timed nor a cold start is the warm-up, which nobody misses.
    columns = Columns(labels if timed.all() else labels[timed].reset_index(drop=True)).keep(
        good[timed], {why: holds[timed] for why, holds in reasons.items()} | {NOTHING: ~measured[timed]}
    )
    every = good.all()
    rows = _requests(
        requests if every else requests.at(good), columns.labels, at if every else at[good], facts
    )
    return concat(
        [
            collect(f"{NAME} jsonl", source, levels),
            result("", source, rows, columns.skips),
        ]
    )


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


def _requests(found: Requests, labels: pd.Series, at: Times, facts: Record) -> pd.DataFrame:
    stated = found["concurrency"]
    unknown = np.isnan(stated)
    names = ("prompt_tokens", "output_tokens", "cached_tokens", "ttft_s", "tpot_s", "e2e_s")
    cold = np.asarray(found.kind == "cold")
    values = {
        **facts,
        **{name: found[name] for name in names},
        "row": labels,
        "concurrency": np.where(unknown, found["in_flight"], stated) if unknown.any() else stated,
        "itl_s": found["chunk_gap_s"],
        "statistic": "single",
        "timestamp": at,
        "note": choose(
            cold, NOTE_COLD, pd.Categorical.from_codes(np.full(len(cold), -1), pd.Index([], dtype="str"))
        ),
        "conversion": "time after the first token over the usage field's output tokens less one",
    }
    return make_rows(values, len(found))


READERS: Final[tuple[Reader, ...]] = (
    JsonLinesReader(f"{NAME} jsonl", lambda head: head.startswith(f'{{"{HEAD}"'), _read_lines),
    JsonReader(f"{NAME} jsonl", _is_ours, _read),
)
