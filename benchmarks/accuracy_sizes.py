"""Cache bytes, file sizes and other calculators' answers: what was printed or asked, and what the product says."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt import evaluate, expected_tokens_per_pass, scenario
from slmopt.specs.library import library
from slmopt.specs.weights import stored_bytes
from slmopt.theory import engine_vllm
from slmopt.theory.batching import crossover
from slmopt.theory.memory import bytes_per_token, cache_bytes
from slmopt.theory.roofline import ceiling_roof

# Which model and build a printed row means is kept with the tests that hold each row exactly.
kv: Any = import_module("tests.against_shared.test_kv_capacity")
replay: Any = import_module("tests.against_shared.test_replay_cases")
sizes: Any = import_module("tests.against_shared.test_file_sizes")

GIB: Final = 2.0**30


def caches() -> pd.DataFrame:
    """Rows of ``kv_capacity.csv`` whose value follows from model and engine: what, printed, ours, error (relative)."""
    found: list[tuple[str, str, str, float, float]] = []
    for parameter in kv.CELLS:
        (row,) = parameter.values  # noqa: PD011
        if row["row_id"] != kv.ENCODER:
            found.append(
                (row["row_id"], row["engine"], row["metric"], float(row["measured"]), kv.cells_mib(row))
            )
    for parameter in kv.rows("GiB-needed"):
        (row,) = parameter.values  # noqa: PD011
        ours = engine_vllm.needed_bytes(kv.cache_of(row), float(row["n_ctx_or_tokens"])) / GIB
        found.append((row["row_id"], "vLLM", "GiB needed", float(row["measured"]), ours))
    for parameter in kv.rows("concurrency"):
        (row,) = parameter.values  # noqa: PD011
        if row["row_id"] not in kv.UNDESCRIBED:
            cache = kv.cache_of(row)
            pool = engine_vllm.needed_bytes(cache, float(row["n_ctx_or_tokens"]))
            ours = engine_vllm.printed_concurrency(cache, pool, float(row["max_model_len"]))
            found.append((row["row_id"], "vLLM", "concurrency", float(row["measured"]), ours))
    return _with_error(pd.DataFrame(found, columns=["row", "engine", "what", "printed", "ours"]))


def files() -> pd.DataFrame:
    """GGUF sizes of ``file_sizes.csv`` whose model is known: label, GiB, ours, and what the label's own bits would give."""
    found = []
    for parameter in sizes.ROWS:
        row, label = parameter.values  # noqa: PD011
        model = sizes.MODELS[row["model"]]
        nominal = float(row["nominal_bpw_of_label"] or "nan") * model.total_params / 8 / GIB
        ours = stored_bytes(sizes.gguf(label), model) / GIB
        found.append((row["row_id"], row["model"], label, float(row["size_GiB"]), ours, nominal))
    table = _with_error(pd.DataFrame(found, columns=["row", "model", "label", "printed", "ours", "by_label"]))
    return table.assign(label_error=np.abs(table["by_label"] / table["printed"] - 1))


def calculators() -> pd.DataFrame:
    """``replay_cases.csv``: what another calculator said, what is right, and what the product says; an answer a line."""
    found = []
    for case, ours in _OURS.items():
        row = replay.ROWS[case]
        rights, wrongs = replay.right(case), _wrongs(row["wrong_answer_seen"])
        for at, value in enumerate(ours()):
            wrong = wrongs[at] if at < len(wrongs) else float("nan")
            found.append((case, row["what"], row["unit"], wrong, rights[at], value))
    return _with_error(pd.DataFrame(found, columns=["case", "what", "unit", "theirs", "printed", "ours"]))


def not_computed() -> dict[str, str]:
    """Cases that are measurements, with the reason."""
    return dict(replay.MEASURED)


def _wrongs(text: str) -> list[float]:
    parts = text.split("/")
    try:
        return [float(part) for part in parts]
    except ValueError:
        return []


def _with_error(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(error=np.abs(table["ours"] / table["printed"] - 1))


def _steps_ms(*asked: dict[str, object]) -> list[float]:
    return [float(replay.llama(**more).ceiling.decode.seconds) * 1e3 for more in asked]


def _small_step() -> list[float]:
    small = {"model": "llama-3.2-1b", "device": replay.SMALL, "weights": {"bits": 4.5}, "context": 4096}
    return [float(evaluate(scenario(small)).ceiling.decode.seconds) * 1e3]


def _drafted() -> list[float]:
    drafting = {"acceptance": 0.7, "draft_tokens": 4, "draft_cost": 0.1, "context": 0}
    asked = {"model": {"params": 7e9}, "device": replay.CARD, "weights": {"bits": 16}, **drafting}
    found = evaluate(scenario(asked)).ceiling.speculation
    assert found is not None
    return [float(found.speedup)]


def _crossing(context: int) -> list[float]:
    asked = {"model": replay.COUNTED, "device": replay.CARD, "weights": {"bits": 16}, "context": context}
    setup = evaluate(scenario(asked)).setup
    found = crossover(setup, ceiling_roof(setup, "decode"))
    asked_for = found.batch if context == 100 else found.throughput_limit
    return [float("nan") if asked_for is None else float(asked_for)]


_OURS: Final[dict[str, Callable[[], list[float]]]] = {
    "RC01": lambda: [float(cache_bytes(replay.MODELS["gemma-3-27b"], replay.F16, replay.F16, 131_072)) / GIB],
    "RC02": lambda: [replay.held("llama.cpp", "deepseek-v3", 163_840) / GIB],
    "RC03": lambda: [replay.held("llama.cpp", "qwen3-0.6b", 40_960) / GIB],
    "RC04": lambda: [float(bytes_per_token(replay.MODELS["gpt-oss-120b"], replay.F16, replay.F16))],
    "RC05": lambda: [float(bytes_per_token(replay.MODELS["qwen3-4b"], replay.F16, replay.F16))],
    "RC07": lambda: [stored_bytes(library().weights["q4_k_m"], replay.MODELS["llama-3.1-70b"]) / 1e9],
    "RC13": lambda: [
        replay.held("llama.cpp", "gemma-4-26b-a4b", tokens) / 1e9 for tokens in (4096, 8192, 32_768, 131_072)
    ],
    "RC14": lambda: [
        replay.held("llama.cpp", model, 128_000) / GIB for model in ("llama-3.1-8b", "llama-3.1-70b")
    ],
    "RC16": lambda: [float(expected_tokens_per_pass(a, k)) for a, k in ((0.5, 1), (1.0, 5), (0.9, 4))],
    "RC18": lambda: _steps_ms({"context": 1}),
    "RC19": lambda: [
        replay.llama(context=256, batch=batch).ceiling.device_tokens_per_s for batch in (1, 16, 64, 200)
    ],
    "RC20": lambda: [replay.llama(prompt=2000).ceiling.prefill.seconds * 1e3],
    "RC21": _small_step,
    "RC22": lambda: [replay.llama(prompt=8000).ceiling.prefill.seconds * 1e3],
    "RC23": lambda: [replay.llama(prompt=2000, prefix_hit=1500).ceiling.prefill.seconds * 1e3],
    "RC24": _drafted,
    "RC25": lambda: _crossing(100),
    "RC26": lambda: _crossing(256),
}
