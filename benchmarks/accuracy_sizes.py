"""Cache bytes, file sizes and other calculators' answers: what was printed or asked, and what the product says."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.accuracy_page import Section, table
from slmopt import evaluate, expected_tokens_per_pass, scenario
from slmopt.measured.compare import compare
from slmopt.measured.placed import Facts
from slmopt.measured.table import rows_from_records
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
    """Cases that are measurements and that their source does not describe enough, with the reason."""
    return {case: why for case, why in replay.MEASURED.items() if case not in _SERVED}


def measured_cases() -> pd.DataFrame:
    """Measurements of one A100 that another calculator foretold: measured, theirs, and our ceiling and typical estimate.

    Each is judged as a user's row would be; a first token's milliseconds as the speed of its prefill.
    """
    rows = [replay.ROWS[case] for case in _SERVED]
    speeds = [
        _speed(row, float(row["right_value"]), shape)
        for row, shape in zip(rows, _SERVED.values(), strict=True)
    ]
    records = [
        {**_A100, **shape, "row": case, "tokens_per_s": speed, "source_file": "replay"}
        for (case, shape), speed in zip(_SERVED.items(), speeds, strict=True)
    ]
    judged = compare(rows_from_records(records), Facts(device="a100-sxm-80gb")).rows.set_index("row")
    found = []
    for row, shape in zip(rows, _SERVED.values(), strict=True):
        said = judged.loc[row["case"]]
        ours = [
            _speed(row, float(said["ceiling"]) * share, shape)
            for share in (1.0, said["p50"], said["p10"], said["p90"])
        ]
        found.append(
            (
                row["case"],
                row["what"],
                row["unit"],
                float(row["right_value"]),
                float(row["wrong_answer_seen"]),
                *ours,
            )
        )
    names = ["case", "what", "unit", "measured", "theirs", "ceiling", "typical", "p10", "p90"]
    return pd.DataFrame(found, columns=names)


def _speed(row: dict[str, str], value: float, shape: dict[str, Any]) -> float:
    """Milliseconds of a first token as tokens a second, and back; other values as they are."""
    return float(shape["prompt_tokens"]) / value * 1e3 if row["unit"] == "ms" else value


_A100: Final[dict[str, Any]] = {
    "tool": "tensorrt-llm", "model": "Llama-2-7B", "weight_format": "FP16", "device": "A100", "device_count": 1.0,
    "tokens_per_s_basis": "device",
}  # fmt: skip
_SERVED: Final[dict[str, dict[str, Any]]] = {
    "RC08": {"phase": "serving", "concurrency": 256.0, "prompt_tokens": 128.0, "output_tokens": 128.0},
    "RC09": {"phase": "serving", "concurrency": 32.0, "prompt_tokens": 128.0, "output_tokens": 2048.0},
    "RC10": {"phase": "prefill", "batch": 1.0, "prompt_tokens": 2048.0, "output_tokens": 0.0},
}
"""LLaMA-7B has the shape of Llama-2-7B."""


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


def caches_section() -> Section:
    """The page's part on cache bytes."""
    found = caches()
    groups = found.groupby(["engine", "what"])["error"].agg(["size", "median", "max"]).reset_index()
    text = [
        "## Cache bytes",
        f"What runtimes printed, {len(found)} rows whose value follows from model and engine. Errors below 0.2 % are the printed digits.",
        table(
            ("engine", "figure", "rows", "median error", "largest"),
            [(e, w, n, f"{m:.2%}", f"{x:.2%}") for e, w, n, m, x in groups.to_numpy().tolist()],
        ),
    ]
    return Section("\n\n".join(text), {"cache bytes, largest error": float(found["error"].max())})


def files_section() -> Section:
    """The page's part on file sizes."""
    found = files()
    text = [
        "## File sizes",
        (
            f"{len(found)} GGUF files: median error {found['error'].median():.2%}, largest {found['error'].max():.2%}. "
            f"Parameters times the bits that the label names: median {found['label_error'].median():.1%}, "
            f"largest {found['label_error'].max():.1%}."
        ),
        table(
            ("file", "format", "GiB", "ours", "by its label"),
            found.sort_values("label_error", ascending=False)
            .head(8)[["model", "label", "printed", "ours", "by_label"]]
            .to_numpy()
            .tolist(),
        ),
    ]
    return Section("\n\n".join(text), {"file sizes, largest error": float(found["error"].max())})


def calculators_section() -> Section:
    """The page's part on what other calculators said."""
    found = calculators()
    lines = [
        (case, what, unit, "" if np.isnan(theirs) else f"{theirs:g}", f"{right:g}", f"{ours:.5g}")
        for case, what, unit, theirs, right, ours, _ in found.to_numpy().tolist()
    ]
    left = not_computed()
    text = [
        "## Answers of other calculators",
        table(("case", "what", "unit", "theirs", "right", "ours"), lines),
        "### Cases that were measured",
        (
            "No arithmetic gives these: typical estimates (reference factors of the device's class and runtime), their band and the "
            "ceiling, beside what the other calculator said."
        ),
        table(
            (
                "case",
                "what",
                "unit",
                "measured",
                "theirs",
                "error",
                "typical",
                "error",
                "p10 to p90",
                "ceiling",
            ),
            _measured_lines(measured_cases()),
        ),
        "Not computed: " + "; ".join(f"{case} ({why})" for case, why in left.items()) + ".",
    ]
    return Section(
        "\n\n".join(text), {"other calculators' cases, largest error": float(found["error"].max())}
    )


def _measured_lines(found: pd.DataFrame) -> list[tuple[object, ...]]:
    return [
        (
            row["case"],
            row["what"],
            row["unit"],
            f"{row['measured']:g}",
            f"{row['theirs']:g}",
            f"{row['theirs'] / row['measured'] - 1:+.0%}",
            _rounded(row["typical"]),
            f"{row['typical'] / row['measured'] - 1:+.0%}",
            " to ".join(_rounded(end) for end in sorted((row["p10"], row["p90"]))),
            _rounded(row["ceiling"]),
        )
        for row in found.to_dict(orient="records")
    ]


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
