"""llama.cpp's own timings: the server's JSON, its stream, and the lines that programs and server print.

Newer servers start the decode clock when the first token is out and divide by one token less than they name, older ones
by all of them; the printed time per token tells which. ``cache_n`` tokens came from the prompt cache and are not in
``prompt_n``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, TextReader
from slmopt.measured.readers._cells import format_in_name, model_name, parse_time
from slmopt.measured.readers._json import Item, Json, entries, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, positive
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "llama-server"


def timing_records(label: str, timings: Mapping[str, Json], base: Record) -> list[Record]:
    """Prefill and decode rows of one request's ``timings``."""
    cached, prompt, output = (number(timings, name) for name in ("cache_n", "prompt_n", "predicted_n"))
    cached_known = cached if known(cached) else 0.0
    seconds = number(timings, "predicted_ms") * 1e-3
    step = positive(number(timings, "predicted_per_token_ms")) * 1e-3
    if not known(step):
        step = 1 / positive(number(timings, "predicted_per_second"))
    drafted, accepted = number(timings, "draft_n"), number(timings, "draft_n_accepted")
    speculative = drafted > 0
    prefill = base | {
        "row": label,
        "phase": "prefill",
        "prompt_tokens": prompt,
        "output_tokens": 0.0,
        "depth_tokens": cached_known,
        "cached_tokens": cached,
        "tokens_per_s": positive(number(timings, "prompt_per_second")),
        "tokens_per_s_basis": "sequence",
        "e2e_s": positive(number(timings, "prompt_ms")) * 1e-3,
        "statistic": "single",
        "clock": "server",
        "conversion": "prompt_per_second as it is: tokens that were not cached",
    }
    decode = base | {
        "row": label,
        "phase": "decode",
        "prompt_tokens": 0.0,
        "output_tokens": output,
        "depth_tokens": prompt + cached_known if known(prompt) else NAN,
        "cached_tokens": cached,
        "tokens_per_s": positive(number(timings, "predicted_per_second")),
        "tokens_per_s_basis": "sequence",
        "tpot_s": step,
        "e2e_s": positive(seconds),
        "statistic": "single",
        "acceptance": accepted / drafted if speculative and known(accepted) else NAN,
        "note": "speculative: more than one token a pass" if speculative else "",
        "clock": "server",
        "conversion": _steps(output, seconds, step),
    }
    return [record for record in (prefill, decode) if known(float(str(record["tokens_per_s"])))]


def _steps(output: float, seconds: float, step: float) -> str:
    """How the time per token was made from count and time."""
    if output > 1 and seconds > 0 and abs(seconds / (output - 1) / step - 1) < 0.005:
        return "predicted_per_second as it is: the first token belongs to the prefill, so one step less than tokens"
    return "predicted_per_second as it is: tokens over time"


def _timings(value: Json) -> Json:
    """The timings of a response, or of a client's line that keeps them beside its own clock."""
    for path in (("timings",), ("server_timings",)):
        found = get(value, *path)
        if has(found, ("predicted_per_second",)):
            return found
    return value if has(value, ("predicted_per_second", "predicted_n")) else None


def _is_response(value: Json) -> bool:
    return _timings(value) is not None


def _read_responses(source: str, items: Sequence[Item], skips: Sequence[Skip] = ()) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        timings = _timings(value)
        concurrency = number(value, "concurrency")
        base: Record = {
            "tool": NAME,
            "tool_version": text_of(value, "system_fingerprint"),
            "model": text_of(value, "model"),
            "weight_format": format_in_name(text_of(value, "model")),
            "backend": "llama.cpp",
            "batch": 1.0 if not concurrency > 1 else NAN,
            "concurrency": concurrency,
        }
        if has(value, ("ttft_ms", "tpot_ms")):
            records.append(_client_record(label, value, base))
        records += timing_records(label, timings, base)
    return collect(f"{NAME} timings", source, records, skips)


def _client_record(label: str, value: Json, base: Record) -> Record:
    """The same request by the client's clock, where the line has both."""
    return base | {
        "row": label,
        "phase": "serving",
        "batch": NAN,
        "prompt_tokens": number(value, "prompt_tokens"),
        "output_tokens": number(value, "output_tokens"),
        "cached_tokens": number(value, "usage", "prompt_tokens_details", "cached_tokens"),
        "ttft_s": positive(number(value, "ttft_ms")) * 1e-3,
        "tpot_s": positive(number(value, "tpot_ms")) * 1e-3,
        "e2e_s": positive(number(value, "e2e_ms")) * 1e-3,
        "statistic": "single",
        "clock": "client",
        "conversion": "the client's clock as it is; tokens from the usage field",
    }


def _is_collection(value: Json) -> bool:
    return has(get(value, "results", 0), ("predicted_per_second", "predicted_n"))


def _read_collection(source: str, items: Sequence[Item]) -> ReadResult:
    """A wrapper's file: one model, a list of prompts with the server's speeds."""
    records: list[Record] = []
    for label, value in items:
        base: Record = {
            "tool": NAME,
            "model": text_of(value, "model"),
            "model_file": text_of(value, "gguf"),
            "weight_format": format_in_name(text_of(value, "model")),
            "backend": "llama.cpp",
            "batch": 1.0,
            "concurrency": 1.0,
            "timestamp": parse_time(text_of(value, "timestamp")),
        }
        for order, entry in enumerate(get(value, "results"), 1):
            where = f"result {order}" if len(items) == 1 else f"{label}, result {order}"
            for record in timing_records(where, entry, base):
                name = text_of(entry, "name")
                records.append(
                    record | {"note": "; ".join(filter(None, [str(record.get("note", "")), name]))}
                )
    return collect(f"{NAME} timings", source, records)


_EVENT: Final = re.compile(r'^data: (\{.*"timings".*\})\s*$', re.MULTILINE)


def _is_stream(text: str) -> bool:
    return bool(_EVENT.search(text))


def _read_stream(source: str, text: str) -> ReadResult:
    """Server-sent events: the last one of each answer carries the timings."""
    items: list[Item] = []
    skips: list[Skip] = []
    for order, found in enumerate(_EVENT.finditer(text), 1):
        try:
            value = json.loads(found[1])
        except ValueError:
            skips.append(Skip(f"answer {order}", "its last event is no complete JSON"))
            continue
        if _is_response(value):
            items.append((f"answer {order}", value))
    return _read_responses(source, items, skips)


_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PRINTED: Final = re.compile(
    r"(?P<kind>prompt eval|eval) time =\s*(?P<ms>[\d.]+) ms /\s*(?P<count>\d+) (?:tokens|runs)\s*"
    r"\(\s*(?P<per>[\d.]+|inf|-?nan) ms per token,\s*(?P<rate>[\d.]+|inf|-?nan) tokens per second\)"
)
_SOURCE_LINE: Final = re.compile(
    r"llama_print_timings|llama_perf_context_print|print_timing|slot print_timing"
)
_FILE: Final = re.compile(
    r"(?:llama_model_loader: loaded meta data .* from |llama_load_model_from_file.*?from ?'?|llm_load.*? from )(\S+\.gguf)"
)
_TASK: Final = re.compile(r"\bid\s+(\d+) \| task (\d+)")


def _is_printed(text: str) -> bool:
    return bool(_SOURCE_LINE.search(text)) and "eval time" in text


def _read_printed(source: str, text: str) -> ReadResult:
    """Pairs of 'prompt eval time' and 'eval time' lines, each pair a run."""
    records: list[Record] = []
    skips: list[Skip] = []
    order, prompt, model = 0, NAN, ""
    server = "print_timing: id" in text or "slot print_timing" in text
    for line in _ANSI.sub("", text).split("\n"):
        if found := _FILE.search(line):
            model = found[1]
        found = _PRINTED.search(line)
        if not found:
            continue
        prefill = found["kind"] == "prompt eval"
        if prefill:
            order += 1
            prompt = float(found["count"])
        label = f"run {order}" if not (task := _TASK.search(line)) else f"task {task[2]}"
        rate, count = _finite(found["rate"]), float(found["count"])
        if not rate > 0 or count == 0 or float(found["ms"]) == 0:
            skips.append(Skip(label, f"{found['kind']} of {count:.0f} tokens: no step that was timed"))
            continue
        records.append(_printed_record(label, prefill, found, prompt, model, server))
    return collect("llama.cpp timings", source, records, skips)


def _finite(text: str) -> float:
    value = float(text)
    return value if abs(value) < float("inf") else NAN


def _printed_record(
    label: str, prefill: bool, found: re.Match[str], prompt: float, model: str, server: bool
) -> Record:
    seconds, count = float(found["ms"]) * 1e-3, float(found["count"])
    step = _finite(found["per"]) * 1e-3
    record: Record = {
        "row": label,
        "tool": NAME if server else "llama.cpp",
        "model": model_name(model),
        "model_file": model,
        "weight_format": format_in_name(model_name(model)),
        "backend": "llama.cpp",
        "batch": NAN if server else 1.0,
        "concurrency": NAN if server else 1.0,
        "phase": "prefill" if prefill else "decode",
        "prompt_tokens": count if prefill else 0.0,
        "output_tokens": 0.0 if prefill else count,
        "depth_tokens": NAN if prefill else prompt,
        "tokens_per_s": _finite(found["rate"]),
        "tokens_per_s_basis": "sequence",
        "e2e_s": seconds,
        "statistic": "single",
        "clock": "server",
        "conversion": "printed speed as it is: tokens that were not cached"
        if prefill
        else _steps(count, seconds, step).replace("predicted_per_second", "printed speed"),
    }
    if not prefill:
        record["tpot_s"] = 1 / _finite(found["rate"])
    return record


def _is_notebook(value: Json) -> bool:
    return has(value, ("cells", "nbformat"))


def _read_notebook(source: str, items: Sequence[Item]) -> ReadResult:
    """The texts that a notebook's cells printed."""
    printed = "\n".join(line for _, value in items for line in _outputs(value))
    return _read_printed(source, printed)


def _outputs(notebook: Json) -> Iterable[str]:
    for cell in entries(notebook, "cells"):
        for output in entries(cell, "outputs"):
            for found in (get(output, "text"), get(output, "data", "text/plain")):
                if isinstance(found, list):
                    yield "".join(str(part) for part in found)
                elif isinstance(found, str):
                    yield found


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} timings", _is_response, _read_responses),
    JsonReader(f"{NAME} timings, collected", _is_collection, _read_collection),
    JsonReader("llama.cpp notebook", _is_notebook, _read_notebook),
    TextReader(f"{NAME} stream", _is_stream, _read_stream),
    TextReader("llama.cpp timings", _is_printed, _read_printed),
)
