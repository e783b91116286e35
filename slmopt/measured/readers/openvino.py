"""OpenVINO's llm_bench: a row an iteration, in Python's and the C++ tool's common header.

``latency(ms)`` is per token, not of the request; the first and the following tokens are timed apart. Iteration 0 is the
warm-up, and rows named avg, mini or median repeat what the others say.
"""

from __future__ import annotations

from typing import Final

from slmopt.measured.readers._base import Reader, SheetReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._records import Record, collect, known, positive
from slmopt.measured.table import ReadResult, Skip

_SUMMARIES: Final = {"avg", "mini", "median", "max", "mean"}


def _is_sheet(sheet: Sheet) -> bool:
    return {"iteration", "1st_latency(ms)", "2nd_avg_latency(ms)", "infer_count"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    skips = [skip for skip in sheet.skips if "warm-up" not in skip.why]
    for label, row in sheet.each():
        cell = dict(zip(sheet.header, row, strict=True))
        iteration = cell["iteration"].strip()
        if iteration.lower() in _SUMMARIES:
            skips.append(Skip(label, f"{iteration!r} sums up the other rows"))
        elif iteration == "0":
            skips.append(Skip(label, "iteration 0 is the warm-up"))
        elif not iteration.isdigit():
            skips.append(Skip(label, "a remark, not an iteration"))
        else:
            records += _pair(label, cell)
    return collect("openvino llm_bench csv", sheet.source, records, skips)


def _pair(label: str, cell: dict[str, str]) -> list[Record]:
    def value(name: str) -> float:
        return positive(parse_number(cell.get(name, ""))[0])

    batch = value("batch_size")
    prompt, first, step = (
        value("input_size"),
        value("1st_latency(ms)") * 1e-3,
        value("2nd_avg_latency(ms)") * 1e-3,
    )
    output = value("infer_count")
    sequences = batch if known(batch) else 1.0
    base: Record = {
        "row": label,
        "tool": "openvino llm_bench",
        "model": cell.get("model", ""),
        "weight_format": cell.get("precision", ""),
        "device": cell.get("device", ""),
        "backend": "openvino",
        "batch": batch,
        "concurrency": batch,
        "statistic": "single",
        "tokens_per_s_basis": "device" if sequences > 1 else "sequence",
        "clock": "server",
    }
    prefill = base | {
        "phase": "prefill",
        "prompt_tokens": prompt,
        "output_tokens": 0.0,
        "depth_tokens": 0.0,
        "tokens_per_s": sequences * prompt / first,
        "ttft_s": first,
        "conversion": "batch × input_size / 1st_latency",
    }
    decode = base | {
        "phase": "decode",
        "prompt_tokens": 0.0,
        "output_tokens": output,
        "depth_tokens": prompt,
        "tokens_per_s": sequences / step,
        "tpot_s": step,
        "conversion": "batch / 2nd_avg_latency: mean over the tokens after the first",
    }
    return [record for record in (prefill, decode) if known(float(str(record["tokens_per_s"])))]


READERS: Final[tuple[Reader, ...]] = (SheetReader("openvino llm_bench csv", _is_sheet, _read_sheet),)
