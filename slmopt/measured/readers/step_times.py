"""Times of single steps, as a loop around libllama writes them: batch or prompt, cached tokens, seconds.

Columns: model_file, kind (tg or pp), threads, kv, fa, batch_or_prompt, ctx, reps, wall_med_s. A tg step gives each of
``batch`` sequences one token on top of ``ctx`` cached ones; a pp step feeds one prompt.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slmopt.measured.readers._base import Reader, SheetReader
from slmopt.measured.readers._cells import cache_format, format_in_name, model_name
from slmopt.measured.readers._columns import choose, map_text, stated
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.table import ReadResult, make_rows, result

NAME: Final = "step times"


def _is_sheet(sheet: Sheet) -> bool:
    return {"kind", "batch_or_prompt", "ctx", "wall_med_s"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    columns = sheet.load(
        numbers=("threads", "batch_or_prompt", "ctx", "reps", "wall_med_s"),
        texts=("model_file", "kind", "kv", "fa"),
    )
    size, seconds = columns.number("batch_or_prompt"), columns.number("wall_med_s")
    known = stated(map_text(columns.text("kind"), lambda kind: kind if kind in {"tg", "pp"} else ""))
    sound = known & (size >= 1) & (seconds > 0) & (columns.number("ctx") >= 0)
    columns = columns.keep(sound, {"no kind, size or time of a step": ~sound})
    size, seconds = columns.number("batch_or_prompt"), columns.number("wall_med_s")
    decode = stated(map_text(columns.text("kind"), lambda kind: "1" if kind == "tg" else ""))
    model = map_text(columns.text("model_file"), model_name)
    cache = map_text(columns.text("kv"), cache_format)
    rows = make_rows(
        {
            "row": columns.labels,
            "tool": NAME,
            "model": model,
            "model_file": columns.text("model_file"),
            "weight_format": map_text(model, format_in_name),
            "cache_k": cache,
            "cache_v": cache,
            "backend": "llama.cpp",
            "threads": columns.number("threads"),
            "flash_attention": map_text(
                columns.text("fa"), lambda value: {"1": "on", "0": "off"}.get(value, "")
            ),
            "phase": choose(decode, "decode", "prefill"),
            "batch": np.where(decode, size, 1.0),
            "concurrency": np.where(decode, size, 1.0),
            "prompt_tokens": np.where(decode, 0.0, size),
            "output_tokens": np.where(decode, 1.0, 0.0),
            "depth_tokens": columns.number("ctx"),
            "tokens_per_s": size / seconds,
            "tokens_per_s_basis": choose(size > 1, "device", "sequence"),
            "tpot_s": np.where(decode, seconds, np.nan),
            "e2e_s": seconds,
            "statistic": "p50",
            "repeats": columns.number("reps"),
            "clock": "server",
            "conversion": "tokens of the step over its median wall time",
        },
        len(columns),
    )
    return result(f"{NAME} csv", sheet.source, rows, columns.skips)


READERS: Final[tuple[Reader, ...]] = (SheetReader(f"{NAME} csv", _is_sheet, _read_sheet),)
