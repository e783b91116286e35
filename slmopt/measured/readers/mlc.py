"""MLC-LLM: its bench as CSV (seconds) and as printed (ms), a chat's ``/stats``, and the usage field of its answers.

The bench's inter-token latency is the whole request over all its tokens, the first included, so it stands nowhere; its time
per output token leaves the first chunk out. The engine's prefill clock starts when the request arrives, its queue included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, SheetReader, TextReader
from slmopt.measured.readers._cells import format_in_name, parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, latencies, positive
from slmopt.measured.table import ReadResult, Skip

_NAMES: Final = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "e2e": "end_to_end_latency",
}
_LEFT_OUT: Final = "the tool's inter-token latency holds the first token and is left out; output tokens of all requests and GPUs"


def _bench(label: str, total: float, done: float, conversion: str) -> Record:
    return {
        "row": label,
        "tool": "mlc bench",
        "backend": "mlc-llm",
        "phase": "serving",
        "tokens_per_s_basis": "device",
        "requests": done if known(done) else total,
        "failures": total - done if known(total - done) else NAN,
        "clock": "client",
        "conversion": conversion,
    }


def _is_sheet(sheet: Sheet) -> bool:
    return {"num_gpus", "output_token_throughput", "time_per_output_token_s.mean"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    for label, row in sheet.each():
        cell = dict(zip(sheet.header, row, strict=True))

        def value(*names: str, cell: Mapping[str, str] = cell) -> float:
            found = (parse_number(cell.get(name, ""))[0] for name in names)
            return next((one for one in found if known(one)), NAN)

        def find(quantity: str, statistic: str, cell: Mapping[str, str] = cell) -> float:
            word = "mean" if statistic == "mean" else f"quantiles.{statistic}"
            return parse_number(cell.get(f"{quantity}_s.{word}", ""))[0]

        total, done = value("num_total_requests", "num_requests"), value("num_completed_requests")
        records.append(
            _bench(label, total, done, f"seconds as they are; {_LEFT_OUT}")
            | {
                "device_count": value("num_gpus"),
                "concurrency": value("exec_feature.num_concurrent_requests", "num_concurrent_requests"),
                "prompt_tokens": positive(value("input_tokens.mean")),
                "output_tokens": positive(value("output_tokens.mean")),
                "tokens_per_s": positive(value("output_token_throughput")),
                **latencies(find, 1.0, _NAMES),
            }
        )
    return collect("mlc bench csv", sheet.source, records, sheet.skips)


_TITLE: Final = re.compile(r"^=+ Benchmark Result( \(server side\))? =+$", re.MULTILINE)
_SECTION: Final = re.compile(r"^-+ (\S.{0,80}?) -+$", re.MULTILINE)
_FIELD: Final = re.compile(r"^([A-Z][^:\n]{1,60}):[ \t]+([\d.]{1,30}|inf|nan)[ \t]*$", re.MULTILINE)
_SECTIONS: Final = {
    "ttft": "Time to First Token (TTFT, ms)",
    "tpot": "Time per Output Token (TPOT, ms)",
    "e2e": "End-to-End Latency (ms)",
}


def _is_console(text: str) -> bool:
    return "Num GPUs:" in text and bool(_TITLE.search(text))


def _read_console(source: str, text: str) -> ReadResult:
    """Reports one after another; the server's side of one is its own view of the same requests, and is listed."""
    records: list[Record] = []
    skips: list[Skip] = []
    titles = list(_TITLE.finditer(text))
    for order, title in enumerate(titles):
        end = titles[order + 1].start() if order + 1 < len(titles) else len(text)
        body = text[title.end() : end]
        if title[1]:
            skips.append(
                Skip(f"report {len(records)}, server side", "the same requests by the server's clock")
            )
            continue
        records.append(_printed(f"report {len(records) + 1}", body))
    return collect("mlc bench console", source, records, skips)


def _printed(label: str, body: str) -> Record:
    pieces = _SECTION.split(body)
    sections = {
        name: dict(_FIELD.findall(part)) for name, part in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    head = dict(_FIELD.findall(pieces[0]))

    def field(name: str) -> float:
        return parse_number(head.get(name, ""))[0]

    def find(quantity: str, statistic: str) -> float:
        return parse_number(sections.get(quantity, {}).get(statistic.capitalize(), ""))[0]

    total, done = field("Total requests"), field("Completed requests")
    return _bench(label, total, done, f"ms to seconds; {_LEFT_OUT}") | {
        "device_count": field("Num GPUs"),
        "prompt_tokens": positive(find("Input Tokens", "mean")),
        "output_tokens": positive(find("Output Tokens", "mean")),
        "tokens_per_s": positive(field("Output token throughput (tok/s)")),
        **latencies(find, 1e-3, _SECTIONS),
    }


_STATS: Final = re.compile(
    r"(?:^|: )prefill: (?P<prefill>[\d.]{1,20}) tok/s, decode: (?P<decode>[\d.]{1,20}) tok/s[ \t]*$"
    r"(?:\nprompt tokens: (?P<prompt>\d{1,12}), completion tokens: (?P<output>\d{1,12}))?",
    re.MULTILINE,
)


def _is_stats(text: str) -> bool:
    return "tok/s, decode: " in text and bool(_STATS.search(text))


def _read_stats(source: str, text: str) -> ReadResult:
    """Each ``/stats`` of a chat is of its last answer; older versions print speeds alone."""
    records: list[Record] = []
    for order, found in enumerate(_STATS.finditer(text), 1):
        prompt, output = (float(found[name] or "nan") for name in ("prompt", "output"))
        base: Record = {"row": f"answer {order}", "tool": "mlc chat", "backend": "mlc-llm"}
        base |= {"batch": 1.0, "concurrency": 1.0}
        speeds = float(found["prefill"]), float(found["decode"])
        records += _phases(base, speeds, (prompt, NAN, output), "printed speeds as they are")
    return collect("mlc chat stats", source, records)


def _is_answer(value: Json) -> bool:
    return has(get(value, "usage", "extra"), ("prefill_tokens_per_s", "decode_tokens_per_s"))


def _read_answers(source: str, items: Sequence[Item]) -> ReadResult:
    """The usage field of MLC's and WebLLM's answers: prompt tokens that no prefix cache held are ``prefill_tokens``."""
    records: list[Record] = []
    for label, value in items:
        extra, name = get(value, "usage", "extra"), text_of(value, "model")
        base: Record = {
            "row": label,
            "tool": "mlc",
            "backend": "mlc-llm",
            "model": name,
            "weight_format": format_in_name(name),
        }
        speeds = number(extra, "prefill_tokens_per_s"), number(extra, "decode_tokens_per_s")
        prompt, fed = number(value, "usage", "prompt_tokens"), number(extra, "prefill_tokens")
        counts = prompt, fed, number(value, "usage", "completion_tokens")
        prefill, decode = _phases(base, speeds, counts, "speeds of the usage field as they are")
        records += [prefill | {"ttft_s": positive(number(extra, "ttft_s"))}, decode]
    return collect("mlc usage json", source, records)


def _phases(
    base: Record, speeds: tuple[float, float], counts: tuple[float, float, float], how: str
) -> list[Record]:
    """Prefill and decode of one answer; ``counts`` are prompt, those of it that were computed, and output tokens."""
    prompt, fed, output = counts
    cached = prompt - fed if fed <= prompt else NAN
    decode = positive(speeds[1])
    common = base | {
        "tokens_per_s_basis": "sequence",
        "statistic": "single",
        "clock": "server",
        "cached_tokens": cached,
    }
    return [
        common
        | {
            "phase": "prefill",
            "prompt_tokens": fed if known(fed) else prompt,
            "output_tokens": 0.0,
            "depth_tokens": cached,
            "tokens_per_s": positive(speeds[0]),
            "conversion": f"{how}: the clock runs from the request's arrival, its queue included",
        },
        common
        | {
            "phase": "decode",
            "prompt_tokens": 0.0,
            "output_tokens": output,
            "depth_tokens": prompt,
            "tokens_per_s": decode,
            "tpot_s": 1 / decode,
            "conversion": f"{how}: tokens after the first over the time after it",
        },
    ]


READERS: Final[tuple[Reader, ...]] = (
    SheetReader("mlc bench csv", _is_sheet, _read_sheet),
    JsonReader("mlc usage json", _is_answer, _read_answers),
    TextReader("mlc bench console", _is_console, _read_console),
    TextReader("mlc chat stats", _is_stats, _read_stats),
)
