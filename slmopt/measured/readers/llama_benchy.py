"""llama-benchy: llama-bench's tests against any server (JSON, CSV, Markdown).

Prefill speed is made from the time to the first token less the measured latency. Where a context stands before the prompt
and the server may not reuse it, both are fed and the speed counts both; the tool's own numbers tell which
(speed × time = tokens), and the row follows them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, MarkdownTable, Reader, SheetReader, TableReader
from slmopt.measured.readers._cells import format_in_name, parse_number, parse_time
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, positive
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "llama-benchy"

_PREFILL: Final = (
    "speed from the time to the first token less the tool's estimate of latency; all users together"
)
_DECODE: Final = "tg throughput as it is: all users together; time per token from the speed of one request"


def _is_object(value: Json) -> bool:
    return has(get(value, "benchmarks", 0), ("pp_throughput", "tg_throughput", "prompt_size"))


def _read_objects(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        base: Record = {
            "tool": NAME,
            "tool_version": text_of(value, "version"),
            "model": text_of(value, "model"),
            "weight_format": format_in_name(text_of(value, "model")),
            "timestamp": parse_time(text_of(value, "timestamp")),
        }
        for order, entry in enumerate(get(value, "benchmarks"), 1):
            where = f"benchmark {order}" if len(items) == 1 else f"{label}, benchmark {order}"
            records += _pair(where, entry, base)
    return collect(f"{NAME} json", source, records)


def _pair(label: str, entry: Json, base: Record) -> list[Record]:
    context, prompt, output = (
        number(entry, name) for name in ("context_size", "prompt_size", "response_size")
    )
    users = number(entry, "concurrency")
    one, seconds = number(entry, "pp_req_throughput", "mean"), number(entry, "est_ppt", "mean") * 1e-3
    fed, depth = _fed(context, prompt, one * seconds)
    if get(entry, "is_context_prefill_phase") is True:
        fed, depth, prompt = context, 0.0, 0.0
    return [
        base
        | _prefill(
            label,
            users,
            fed,
            depth,
            _mean(entry, "pp_throughput"),
            _spread(entry, "pp_throughput"),
            number(entry, "e2e_ttft", "mean"),
        )
        | _repeats(entry),
        base
        | _decode(
            label,
            users,
            context + prompt,
            output,
            _mean(entry, "tg_throughput"),
            _mean(entry, "tg_req_throughput"),
            _spread(entry, "tg_throughput"),
        )
        | _repeats(entry),
    ]


def _fed(context: float, prompt: float, tokens: float) -> tuple[float, float]:
    """Prompt tokens fed in the timed part, and tokens cached before it: whichever the speed's own arithmetic fits."""
    if context > 0 and known(tokens) and abs(tokens - (context + prompt)) < abs(tokens - prompt):
        return context + prompt, 0.0
    return prompt, context


def _mean(entry: Json, name: str) -> float:
    return positive(number(entry, name, "mean"))


def _spread(entry: Json, name: str) -> float:
    mean, deviation = number(entry, name, "mean"), number(entry, name, "std")
    return deviation / mean if deviation > 0 and mean > 0 else NAN


def _repeats(entry: Json) -> Record:
    values = get(entry, "tg_throughput", "values")
    return {"repeats": float(len(values)) if isinstance(values, list) and values else NAN}


def _prefill(
    label: str, users: float, fed: float, depth: float, speed: float, spread: float, ttft_ms: float
) -> Record:
    return {
        "row": label,
        "phase": "prefill",
        "concurrency": users,
        "prompt_tokens": fed,
        "output_tokens": 0.0,
        "depth_tokens": depth,
        "tokens_per_s": speed,
        "tokens_per_s_basis": "device" if users > 1 else "sequence",
        "ttft_s": positive(ttft_ms) * 1e-3,
        "statistic": "mean",
        "spread": spread,
        "clock": "client",
        "conversion": _PREFILL,
    }


def _decode(
    label: str, users: float, depth: float, output: float, speed: float, one: float, spread: float
) -> Record:
    return {
        "row": label,
        "phase": "decode",
        "concurrency": users,
        "prompt_tokens": 0.0,
        "output_tokens": output,
        "depth_tokens": depth,
        "tokens_per_s": speed,
        "tokens_per_s_basis": "device" if users > 1 else "sequence",
        "tpot_s": 1 / one if one > 0 else NAN,
        "statistic": "mean",
        "spread": spread,
        "clock": "client",
        "conversion": _DECODE,
    }


_TEST: Final = re.compile(
    r"(?:ctx_)?(?P<kind>pp|tg) ?(?P<tokens>\d+)?(?: @ d(?P<depth>\d+))?(?: \(c(?P<users>\d+)\))?$"
)


def _row(label: str, model: str, test: str, cell: dict[str, float]) -> Record | Skip:
    """One test of the flat layouts; a ``ctx_`` test feeds or follows the context itself."""
    found = _TEST.match(test.strip())
    if not found:
        return Skip(label, f"{test!r} is no test that this tool names")
    users = float(found["users"] or 1)
    context, tokens = float(found["depth"] or 0), float(found["tokens"] or 0)
    base: Record = {"tool": NAME, "model": model, "weight_format": format_in_name(model)}
    if found["kind"] == "pp":
        if test.startswith("ctx_"):
            fed, depth = context, 0.0
        else:
            fed, depth = _fed(context, tokens, cell["one"] * cell["est_ppt_ms"] * 1e-3)
        return base | _prefill(
            label, users, fed, depth, positive(cell["speed"]), cell["spread"], cell["ttft_ms"]
        )
    output = tokens or NAN
    return base | _decode(
        label, users, context, output, positive(cell["speed"]), positive(cell["one"]), cell["spread"]
    )


def _is_sheet(sheet: Sheet) -> bool:
    return {"test_name", "t_s_mean", "t_s_req_mean", "est_ppt_mean"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    names = ("t_s_mean", "t_s_std", "t_s_req_mean", "est_ppt_mean", "e2e_ttft_mean")
    columns = sheet.load(numbers=names, texts=("model", "test_name"))
    model, test = columns.text("model"), columns.text("test_name")
    found: list[Record | Skip] = []
    for at, label in enumerate(columns.labels):
        mean, deviation, one, ppt, ttft = (float(columns.number(name)[at]) for name in names)
        cell = {
            "speed": mean,
            "spread": deviation / mean if deviation > 0 else NAN,
            "one": one,
            "est_ppt_ms": ppt,
            "ttft_ms": ttft,
        }
        found.append(_row(label, str(model[at]), str(test[at]), cell))
    return _split(f"{NAME} csv", sheet.source, found, columns.skips)


def _is_table(table: MarkdownTable) -> bool:
    return {"model", "test", "t/s", "est_ppt (ms)"} <= set(table.header) or {
        "test",
        "t/s (total)",
        "est_ppt (ms)",
    } <= set(table.header)


def _read_table(table: MarkdownTable) -> ReadResult:
    found: list[Record | Skip] = []
    for label, row in zip(table.labels, table.rows, strict=True):
        cell = dict(zip(table.header, row, strict=True))
        speed, deviation, _ = parse_number(cell.get("t/s (total)") or cell.get("t/s", ""))
        one = parse_number(cell.get("t/s (req)", ""))[0] if "t/s (req)" in cell else speed
        values = {
            "speed": speed,
            "spread": deviation / speed if deviation > 0 else NAN,
            "one": one,
            "est_ppt_ms": parse_number(cell["est_ppt (ms)"])[0],
            "ttft_ms": parse_number(cell.get("e2e_ttft (ms)", ""))[0],
        }
        found.append(_row(label, cell.get("model", ""), cell["test"], values))
    return _split(f"{NAME} md", table.source, found, [])


def _split(form: str, source: str, found: Sequence[Record | Skip], skips: Sequence[Skip]) -> ReadResult:
    records = [entry for entry in found if isinstance(entry, dict)]
    return collect(form, source, records, [*skips, *(entry for entry in found if isinstance(entry, Skip))])


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} json", _is_object, _read_objects),
    SheetReader(f"{NAME} csv", _is_sheet, _read_sheet),
    TableReader(f"{NAME} md", _is_table, _read_table),
)
