"""What runtimes printed about their caches, row by row: each through its engine's rule.

Rows tested exactly are those whose value follows from the model and the rule. Where a log states the available memory
with two digits, the printed tokens lie between those of its ends. Where a reserve is not stated, the rule gives a range.
Rows from which nothing follows are named with the reason, so that every row is accounted for.
"""

from __future__ import annotations

import csv
import re

import pytest

from slmopt.readers import read_config
from slmopt.specs.base import SpecError
from slmopt.specs.formats import CacheFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.theory import engine_sglang, engine_vllm
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engines import reserved
from tests.shared import SHARED

MIB, GIB = 2.0**20, 2.0**30
with (SHARED / "measured" / "kv_capacity.csv").open(newline="", encoding="utf-8") as file:
    ROWS = {row["row_id"]: row for row in csv.DictReader(file)}
FORMATS = library().caches | {"": library().caches["f16"]}


def shaped(*groups: tuple[int, dict[str, object]]) -> Model:
    """A model of which the log tells the cache and nothing else."""
    made = [{"count": count, "attention": attention} for count, attention in groups]
    return Model.model_validate({"id": "m", "name": "m", "hidden": 64, "vocab": 9, "groups": made})


def heads(kv: int, dim: int, **more: object) -> dict[str, object]:
    return {"heads": kv, "kv_heads": kv, "head_dim": dim, **more}


LATENT = {"kv_rank": 512, "rope_dim": 64, "nope_dim": 128, "v_dim": 128}
# Models that no preset describes: their layers are those that the log prints.
SHAPES = {
    "24L MHA model (k 2048)": shaped((24, heads(16, 128))),
    "open_llama-3B": shaped((26, heads(32, 100))),
    "GLM Z1 Rumination 32B 0414": shaped((61, heads(8, 128))),
    "GLM Z1 32B 0414": shaped((61, heads(2, 128))),
    "DeepSeek V2.5 1210": shaped((60, {"heads": 128, "kv_heads": 1, "head_dim": 192, "latent": LATENT})),
    "Gemma-4-12B": shaped((40, heads(8, 256, window=1024)), (8, heads(1, 512))),
    "52L SWA model, 13 full": shaped((39, heads(2, 128, window=512)), (13, heads(2, 128))),
    "50L model, 40 SWA": shaped((40, heads(8, 64, window=512)), (10, heads(8, 64))),
    "granite MoE (40x512) L40S": shaped((40, heads(8, 64))),
}
PRESETS = {
    "Nemotron-H-like (6 attn layers, 2 kv x 128)": "nemotron-3-nano-30b-a3b",
    "Qwen3.5-27B MTP draft layer": "qwen3.5-27b",
    "Qwen3.5/3.6-35B-A3B": "qwen3.5-35b-a3b",
    "LFM2.5-2.6B": "lfm2-2.6b",
    "Llama-3.x-70B": "llama-3.1-70b",
    "Phi-3-mini": "phi-3-mini-128k",
    "Qwen3-VL-8B": "qwen3-8b",
    "LLaMA-7B": "llama-2-7b",
    "LLaMA v2": "llama-2-13b",
    "DeepSeek-Coder-V2-Lite (non-MLA cache)": "deepseek-v2-lite",
    "Models": "qwen3-235b-a22b",
    "bitnet2b_2501": "bitnet-b1.58-2b-4t",
    "Kimi K2 Instruct Bf16 Safetensors": "kimi-k2",
    "Gemma 3 27b It Qat": "gemma-3-27b",
    "Gemma-3-27B-It": "gemma-3-27b",
    "8B-class (131,072 B/token)": "llama-3.1-8b",
    "Qwen3-235B-A22B-FP8 (SGLang, K 8.23+V 8.23 GB/GPU)": "qwen3-235b-a22b",
    "Qwen3-0.6B/1.7B (doc calls it Qwen2.5-0.5B)": "qwen3-0.6b",
    "32B AWQ (Qwen2.5/3-32B)": "qwen2.5-32b",
    "Qwen3-30B-A3B fp8 KV": "qwen3-30b-a3b",
    "DeepSeek-V3 fp8 KV": "deepseek-v3",
    "GLM-4.7-Flash bf16 KV": "glm-4.7-flash",
    "DiffusionGemma-26B-A4B SWA pool": "gemma-4-26b-a4b",
    "DiffusionGemma-26B-A4B full pool": "gemma-4-26b-a4b",
    "12-attn-layer hybrid fp8 KV": "qwen3.5-122b-a10b",
    "Qwen2.5-3B T4": "qwen2.5-3b",
}


def model_of(name: str) -> Model:
    plain = re.sub(r" (full|SWA) layers$", "", name)
    if plain in SHAPES:
        return SHAPES[plain]
    if "deepseek" in plain.lower() and plain not in PRESETS:
        return library().models["deepseek-r1"]
    wanted = PRESETS.get(plain, plain.lower().replace(" ", "-"))
    return library().models[wanted]


def cache_of(row: dict[str, str], **more: object) -> Cache:
    fp8 = "fp8" in row["model"] and "KV" in row["model"]
    k, v = (CacheFormat.model_validate({"bits": 8}) if fp8 else FORMATS[row[t]] for t in ("type_k", "type_v"))
    return Cache(model_of(row["model"]), k, v, devices=int(row["tp"]), **more)


def rows(*kinds: str, engine: str = "", status: str = "match") -> list[object]:
    """Rows of these kinds by engine, as test parameters."""
    found = [
        row
        for row in ROWS.values()
        if row["row_kind"] in kinds and engine in row["engine"] and row["status"] == status
    ]
    return [pytest.param(row, id=f"{row['row_id']}-{row['model'][:24]}") for row in found]


# llama.cpp and ik_llama.cpp: megabytes of cells

ENCODER = "S3-0061"
# Sequences that share the ring, read off its cells: 4 · 128 + 512, 4 · 1,024 + 512.
SEQUENCES = {"S3-0026": 4, "S3-0030": 4, "S3-0042": 4}
# The window is not in the log: 1,280 cells are 512 and a micro-batch of 768, or 768 and 512.
RING = {"S3-0049": 768}
CELLS = rows("exact", "cells-implied", "cells-from-log", "arch-inferred", engine="llama.cpp")


def layout_of(row: dict[str, str]) -> str:
    """How the log's build keeps latents: the arithmetic that identified the row says so."""
    if "transposed" in row["notes"] or "K 576" in row["arch_used"]:
        return "transposed"
    return "expanded" if row["arch_family"] == "MLA-as-MHA" else "latent"


def cells_mib(row: dict[str, str]) -> float:
    """What the product says that the cells of a row take."""
    forked = row["engine"] == "ik_llama.cpp"
    cache = cache_of(
        row,
        latent=layout_of(row),
        # The fork keeps windows in full: "SWA stored full".
        full_windows=forked,
        micro_batch=RING.get(row["row_id"], 512),
    )
    ring = row["metric"] == "SWA KV"
    tokens, sequences = (
        (131_072, SEQUENCES.get(row["row_id"], 1)) if ring else (int(row["n_ctx_or_tokens"]), 1)
    )
    parts = [
        part
        for part in reserved("llama.cpp", cache, float(sequences), float(tokens))
        if part.kept.what == ("window" if ring else "full") or (forked and part.kept.what == "window")
    ]
    found = sum(float(part.bytes) for part in parts)
    if row["metric"] == "MTP layer KV":
        found /= sum(part.kept.layers for part in parts)
    return found / MIB


@pytest.mark.parametrize("row", CELLS)
def test_cells_take_what_llama_printed(row):
    if row["row_id"] == ENCODER:
        with pytest.raises(SpecError, match="bert"):
            read_config({"model_type": "bert", "hidden_size": 384, "num_hidden_layers": 12})
        return
    assert cells_mib(row) == pytest.approx(float(row["measured"]), abs=0.0051)


def test_every_row_marked_exact_is_among_them():
    exact = [row for row in ROWS.values() if (row["row_kind"], row["status"]) == ("exact", "match")]
    assert len(exact) == 73
    tested = {parameter.values[0]["row_id"] for parameter in CELLS}
    assert {row["row_id"] for row in exact} <= tested
    assert len(CELLS) == 101


@pytest.mark.parametrize("row", rows("cells-from-log"))
def test_rings_have_the_cells_that_llama_printed(row):
    cache = cache_of(row, micro_batch=RING.get(row["row_id"], 512))
    window = next(kept for kept in cache.kept if kept.what == "window")
    sequences = float(SEQUENCES.get(row["row_id"], 1))
    parts = reserved("llama.cpp", cache, sequences, 131_072.0)
    held = next(float(part.bytes) for part in parts if part.kept == window)
    assert held / (window.layers * window.token_bytes) == int(row["n_ctx_or_tokens"])


# vLLM and SGLang: tokens of a pool


def available(row: dict[str, str]) -> tuple[float, float]:
    """The ends of the available memory in bytes, of which the log states two digits."""
    found = re.search(r"available KV ([\d.]+) GiB", row["notes"])
    assert found is not None
    return (float(found[1]) - 0.005) * GIB, (float(found[1]) + 0.005) * GIB


@pytest.mark.parametrize("row", rows("tokens-from-GiB", engine="vLLM"))
def test_vllm_tokens_lie_between_those_of_the_stated_memory(row):
    cache = cache_of(row)
    low, high = (engine_vllm.printed_tokens(cache, end) for end in available(row))
    assert low <= int(row["measured"]) <= high
    assert int(row["measured"]) % 16 == 0


@pytest.mark.parametrize("row", rows("tokens-from-GiB", engine="SGLang"))
def test_sglang_pools_take_the_stated_memory(row):
    paged = 256 if "1 page (256)" in row["notes"] else 1
    cache = cache_of(row, block=paged)
    tokens = float(row["measured"])
    full, window = engine_sglang.pool_bytes(cache, tokens, tokens)
    found = window if "SWA pool" in row["model"] else full
    # Keys and values are rounded one by one and added up; a latent is rounded once.
    slack = 0.0051 if row["arch_family"] == "MLA" else 0.0101
    stated = sum(available(row)) / 2 / GIB
    assert found / GIB == pytest.approx(stated, abs=slack)


def test_sglang_keeps_four_fifths_of_its_tokens_for_windows():
    full, window = (int(ROWS[ident]["measured"]) for ident in ("S3-0169", "S3-0168"))
    assert int(full * engine_sglang.WINDOW_TOKENS) // 256 * 256 == window


@pytest.mark.parametrize("row", rows("GiB-needed"))
def test_vllm_says_what_one_request_needs(row):
    needed = engine_vllm.needed_bytes(cache_of(row), float(row["n_ctx_or_tokens"]))
    assert needed / GIB == pytest.approx(float(row["measured"]), abs=0.005)


# Concurrency of models that the log does not describe: since 0.21 the tokens are derived from it.
UNDESCRIBED = {"S3-0181", "S3-0182", "S3-0185", "S3-0186", "S3-0187", "S3-0188"}


@pytest.mark.parametrize("row", rows("concurrency"))
def test_vllm_concurrency_is_the_pool_over_a_request(row):
    tokens, longest = int(row["n_ctx_or_tokens"]), float(row["max_model_len"])
    if row["row_id"] in UNDESCRIBED:
        assert tokens / longest == pytest.approx(float(row["measured"]), abs=0.0051)
        return
    cache = cache_of(row)
    pool = engine_vllm.needed_bytes(cache, float(tokens))
    found = engine_vllm.printed_concurrency(cache, pool, longest)
    assert found == pytest.approx(float(row["measured"]), abs=0.0051)
    assert engine_vllm.printed_tokens(cache, pool) == tokens
    assert engine_vllm.printed_tokens(cache, pool, longest) == pytest.approx(tokens, abs=1)


def test_vllm_blocks_are_of_sixteen_tokens():
    row = ROWS["S3-0189"]
    assert float(row["measured"]) * float(row["max_model_len"]) == int(row["n_ctx_or_tokens"])


@pytest.mark.parametrize(
    ("ident", "model", "gib"), [("S3-0194", "llama-3.1-8b", 25.54), ("S3-0195", "llava-1.5-7b", 28.4)]
)
def test_blocks_of_raw_logs_take_the_bytes_that_their_notes_state(ident, model, gib):
    cache = Cache(library().models[model], FORMATS["f16"], FORMATS["f16"])
    held = engine_vllm.needed_bytes(cache, float(ROWS[ident]["measured"])) / GIB
    assert held == pytest.approx(gib, abs=0.05 if gib == 28.4 else 0.005)


# A reserve that the log does not state: a range, and no fit

# Llama 2 on A100 80 GB, of which 0.9 of 79.15 GiB: what is left is activations and graphs.
BOUNDS = {
    "S3-0190": ("llama-2-7b", 1, True),
    "S3-0191": ("llama-2-7b", 1, True),
    "S3-0192": ("llama-2-70b", 4, True),
    # "New number includes cudagraph memory": 13.6 GiB a device, more than any other log shows.
    "S3-0193": ("llama-2-70b", 4, False),
}


@pytest.mark.parametrize("ident", BOUNDS)
def test_an_unstated_reserve_gives_a_range_that_holds_what_was_printed(ident):
    name, devices, inside = BOUNDS[ident]
    model = library().models[name]
    cache = Cache(model, FORMATS["f16"], FORMATS["f16"], devices=devices)
    room = 0.9 * 79.15 * GIB - 2 * model.total_params / devices
    bound = engine_vllm.printed_tokens(cache, room)
    most, fewest = (engine_vllm.printed_tokens(cache, room - kept) for kept in engine_vllm.UNSTATED)
    printed = int(ROWS[ident]["measured"])
    assert printed < bound
    assert printed <= most
    assert (fewest <= printed) == inside
    assert bound == pytest.approx(float(ROWS[ident]["predicted"]), rel=3e-4)


# Rows from which nothing follows
UNKNOWN = {
    **dict.fromkeys(
        ("S3-0065", "S3-0164"), "the model is not named, and its latent is not that of a known one"
    ),
    **dict.fromkeys(
        (f"S3-{n:04d}" for n in (*range(196, 205), 205)),
        "a raw count of blocks or tokens: neither the memory nor the share that was left is in the log",
    ),
    "S3-0206": "a GLM with padded pages: the model is not named, nor how its indexer is kept",
    "S3-0212": "available memory alone, without the tokens that it holds",
    "S3-0213": "compressed attention: how its pools are laid out differs from version to version",
}


def test_every_row_is_tested_or_said_to_tell_nothing():
    tested = {parameter.values[0]["row_id"] for parameter in CELLS}
    for kinds in (("tokens-from-GiB",), ("GiB-needed",), ("concurrency",)):
        tested |= {parameter.values[0]["row_id"] for parameter in rows(*kinds)}
    tested |= {"S3-0189", "S3-0194", "S3-0195", *BOUNDS}
    assert not tested & set(UNKNOWN)
    assert tested | set(UNKNOWN) == set(ROWS)
