"""llama-batched-bench (JSONL, Markdown) and ik_llama.cpp's sweep-bench (Markdown).

Each line times a prefill and a decode apart, so it gives two rows. Speeds are of all sequences together: a step takes
``t_tg / tg``, and ``B`` sequences get a token in it. With a shared prompt the prefill feeds it once for all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from slmopt.measured.readers._base import JsonReader, MarkdownTable, Reader, TableReader
from slmopt.measured.readers._columns import Columns, from_cells, from_objects
from slmopt.measured.readers._json import Item, Json, has
from slmopt.measured.table import ReadResult, concat_rows, make_rows, result

NAME: Final = "llama-batched-bench"
SWEEP: Final = "sweep-bench"

_NUMBERS: Final = frozenset(
    [
        "n_batch",
        "n_ubatch",
        "is_pp_shared",
        "n_gpu_layers",
        "n_threads",
        "n_threads_batch",
        "pp",
        "tg",
        "pl",
        "n_kv",
        "t_pp",
        "speed_pp",
        "t_tg",
        "speed_tg",
    ]
)
_FLASH: Final = {1.0: "on", 0.0: "off", -1.0: "auto"}
_RENAMED: Final = {
    "PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "S_PP t/s": "speed_pp", "T_TG s": "t_tg", "S_TG t/s": "speed_tg",
}  # fmt: skip


def _read_columns(
    form: str, source: str, columns: Columns, tool: str, facts: dict[str, object]
) -> ReadResult:
    """Two rows a line: its prefill and its decode."""
    pp, tg, pl = (columns.number(name) for name in ("pp", "tg", "pl"))
    depth = columns.number("depth") if "depth" in columns.numbers else np.zeros(len(columns))
    shared = columns.number("is_pp_shared") == 1
    columns_ok = np.isfinite(pp) & np.isfinite(tg) & (pl >= 1)
    fed = np.where(shared, pp, pp * pl)
    frames = []
    for phase, told, speed, tokens in (
        ("prefill", columns.number("t_pp"), columns.number("speed_pp"), fed),
        ("decode", columns.number("t_tg"), columns.number("speed_tg"), tg * pl),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            agrees = (
                np.abs(speed * told / tokens - 1) < 0.05 + 0.002 / told
            )  # Markdown rounds seconds to 3 digits
        # Of a time that rounds to none, nothing follows.
        short = (told >= 0) & (told < 0.01)
        sound = columns_ok & (tokens > 0) & (speed > 0) & ((agrees & (told > 0)) | short)
        seconds = np.where(told > 0, told, np.nan)
        decode = phase == "decode"
        rows = make_rows(
            {
                "row": columns.labels,
                "tool": tool,
                "threads": columns.number("n_threads" if decode else "n_threads_batch"),
                "gpu_layers": columns.number("n_gpu_layers"),
                "chunk_tokens": columns.number("n_ubatch"),
                "phase": phase,
                "batch": pl if decode else np.where(shared, 1.0, pl),
                "concurrency": pl,
                "prompt_tokens": np.zeros(len(columns)) if decode else pp,
                "output_tokens": tg if decode else np.zeros(len(columns)),
                "depth_tokens": depth + pp if decode else depth,
                "tokens_per_s": speed,
                "tokens_per_s_basis": "device",
                "tpot_s": seconds / tg if decode else np.nan,
                "e2e_s": seconds,
                "statistic": "single",
                "clock": "server",
                "conversion": _conversion(tool, decode),
                **facts,
            },
            len(columns),
        )
        frames.append(rows[sound])
    both = concat_rows(frames)
    kept = set(both["row"])
    columns = columns.keep(
        np.asarray(columns.labels.isin(kept)),
        {"counts, seconds and speeds do not fit together": np.ones(len(columns), dtype=bool)},
    )
    place = {label: position for position, label in enumerate(dict.fromkeys(columns.labels))}
    order = np.argsort(both["row"].map(place).to_numpy(), kind="stable")
    return result(form, source, both.iloc[order].reset_index(drop=True), columns.skips)


def _conversion(tool: str, decode: bool) -> str:
    if tool == SWEEP:
        return (
            "S_TG as it is: one sequence at this depth"
            if decode
            else "S_PP as it is: one sequence at this depth"
        )
    if decode:
        return "speed_tg as it is: all sequences together; time per token = t_tg / tg, the same for each sequence"
    return "speed_pp as it is: prompt tokens of all sequences together"


def _is_object(value: Json) -> bool:
    return has(value, ("pp", "tg", "pl", "speed_pp", "speed_tg"))


def _read_objects(source: str, items: Sequence[Item]) -> ReadResult:
    columns = from_objects(items, _NUMBERS)
    flash = [
        _FLASH.get(float(value), "") if isinstance(value := entry.get("flash_attn"), int) else ""
        for _, entry in items
    ]
    facts: dict[str, object] = {"flash_attention": flash, "tool_version": None}
    return _read_columns(f"{NAME} jsonl", source, columns, NAME, facts)


def _is_table(table: MarkdownTable) -> bool:
    return {"PP", "TG", "N_KV", "S_PP t/s", "S_TG t/s"} <= set(table.header)


_PARAMETERS: Final = re.compile(
    r"\b(n_batch|n_ubatch|flash_attn|is_pp_shared|n_gpu_layers|n_threads|n_threads_batch)\s*=\s*(-?\d+)"
)
_MODEL: Final = re.compile(
    r"^\s*(?:[-*]\s*)?\**model\**\s*[:=]\s*`?(?:https?://\S*?/)?([^\s`]+/[^\s`]+|[^\s`]+\.gguf)`?\s*$",
    re.IGNORECASE | re.MULTILINE,
)


def _read_table(table: MarkdownTable) -> ReadResult:
    names = tuple(_RENAMED.get(name, name) for name in table.header)
    columns = from_cells(names, table.rows, table.labels, frozenset(_RENAMED.values()))
    settings = {name: float(value) for name, value in _PARAMETERS.findall(table.above)}
    size = len(columns)
    for name in ("n_ubatch", "n_gpu_layers", "n_threads", "n_threads_batch", "is_pp_shared"):
        if name in settings:
            columns.numbers[name] = np.full(size, settings[name])
    facts: dict[str, object] = {
        "flash_attention": _FLASH.get(settings.get("flash_attn", np.nan), None),
        "model": table.context.get("model"),
        "device": table.context.get("device"),
    }
    sweep = "pl" not in names
    if sweep:
        # Here N_KV is what was cached before the line's prompt; batched-bench prints the total.
        columns.numbers["pl"] = np.ones(size)
        columns.numbers["depth"] = columns.number("n_kv")
    tool = SWEEP if sweep else NAME
    return _read_columns(f"{tool} md", table.source, columns, tool, facts)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} jsonl", _is_object, _read_objects),
    TableReader(f"{NAME} md", _is_table, _read_table),
)
