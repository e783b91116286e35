"""Rows against ceilings: fractions by hand, the rules of judgement, and what is asked instead of guessed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from slmopt.measured import compare as compare_module
from slmopt.measured.compare import Comparison, compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.measured.table import concat, rows_from_records
from slmopt.specs.device import Device
from slmopt.specs.library import library, preset_root
from slmopt.specs.model import Model
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import inline
from slmopt.words.verdicts import VERDICT_WORDS, note_text, reason_list, worded

SWEEP = Path(str(preset_root() / "this_machine"))

# Read bandwidth and FP32 rate of the sweep's machine on two threads, medians of its own probe.
TWO_CORES = Device.model_validate({"bandwidth_gbs": 37.8, "peak_tflops": 0.19, "reference_class": "cpu"})


def device(bandwidth_gbs: float = 100.0, peak_tflops: float | None = 10.0, **more: Any) -> Device:
    rates = {} if peak_tflops is None else {"peak_tflops": peak_tflops}
    return Device.model_validate({"bandwidth_gbs": bandwidth_gbs, **rates, **more})


def model(**values: Any) -> Model:
    """A bare 1B with 16 layers of 8 KV heads of 64: 32 KiB of cache a token."""
    made = inline("model", {"params": 1e9, "layers": 16, "kv_heads": 8, "head_dim": 64, **values})
    assert isinstance(made, Model)
    return made


def facts(**more: Any) -> Facts:
    return Facts(**{"device": device(), "model": model(), "weights": "16-bit", **more})


def judged(*records: dict[str, Any], said: Facts | None = None) -> pd.DataFrame:
    found = compare(
        rows_from_records([{"row": f"row {i}", **r} for i, r in enumerate(records)]), said or facts()
    )
    assert found.skipped.empty
    return found.rows


def decode(speed: float, **more: Any) -> dict[str, Any]:
    base = {"phase": "decode", "tokens_per_s": speed, "tokens_per_s_basis": "sequence", "batch": 1.0}
    return {**base, "output_tokens": 1.0, "depth_tokens": 0.0, "prompt_tokens": 0.0, **more}


def prefill(speed: float, tokens: float = 1000.0, **more: Any) -> dict[str, Any]:
    base = {"phase": "prefill", "tokens_per_s": speed, "tokens_per_s_basis": "sequence", "batch": 1.0}
    return {**base, "output_tokens": 0.0, "depth_tokens": 0.0, "prompt_tokens": tokens, **more}


@pytest.fixture(scope="module")
def sweep() -> pd.DataFrame:
    files = sorted(SWEEP.glob("llama-bench_*.csv"))
    read = concat(read_benchmark(file.name, file.read_bytes()) for file in files)
    rows = compare(read.rows, Facts(device=TWO_CORES)).rows
    return rows.assign(threads=read.rows["threads"], prompt=read.rows["prompt_tokens"])


@pytest.mark.parametrize(
    ("name", "percent"),
    [
        ("1b_F16", 100),
        ("1b_Q8_0", 88),
        ("1b_Q4_K_M", 78),
        ("1b_Q4_0", 75),
        ("135m_F16", 66),
        ("135m_Q8_0", 55),
        ("135m_Q4_K_M", 38),
        ("135m_Q4_0", 46),
    ],
)
def test_decode_of_the_sweep(sweep: pd.DataFrame, name: str, percent: int):
    rows = sweep[(sweep["source_file"] == f"llama-bench_{name}.csv") & (sweep["threads"] == 2)]
    row = rows[rows["phase"] == "decode"].iloc[0]
    assert round(100 * row["fraction"]) == percent
    assert row["bound"] == "memory"


@pytest.mark.parametrize(
    ("name", "percent"), [("1b_F16", 95), ("1b_Q8_0", 111), ("1b_Q4_K_M", 157), ("1b_Q4_0", 145)]
)
def test_prefill_of_the_sweep(sweep: pd.DataFrame, name: str, percent: int):
    rows = sweep[(sweep["source_file"] == f"llama-bench_{name}.csv") & (sweep["threads"] == 2)]
    row = rows[rows["phase"] == "prefill"].iloc[0]
    assert round(100 * row["fraction"]) == percent
    assert row["bound"] == "compute"
    assert row["verdict"] == ("above_ceiling" if percent > 100 else "near_ceiling")
    if percent > 100:
        assert row["reasons"].split("|")[0] == "fast_kernels"


def test_one_row_by_hand(sweep: pd.DataFrame):
    """1B F16, two threads: every stored byte is read (the embedding is the head), and 0 … 15 cached tokens."""
    rows = sweep[(sweep["source_file"] == "llama-bench_1b_F16.csv") & (sweep["threads"] == 2)]
    row = rows[rows["phase"] == "decode"].iloc[0]
    step = (2_471_763_968 + 7.5 * 2 * 16 * 8 * 64 * 2) / 37.8e9
    assert row["measured"] == pytest.approx(15.349802)
    assert row["ceiling"] == pytest.approx(1 / step)
    assert row["fraction"] == pytest.approx(15.349802 * step)
    assert row["context"] == 7.5
    assert row["model"] == "Llama-3.2-1B"
    # 0.4 % above is within its own spread of 0.8 %.
    assert row["verdict"] == "near_ceiling"


def test_every_row_of_the_sweep_has_a_verdict_or_says_what_it_lacks(sweep: pd.DataFrame):
    assert set(sweep["verdict"]) <= set(VERDICT_WORDS)
    unknown = sweep[sweep["verdict"] == "unknown"]
    assert set(unknown["source_file"]) <= {"llama-bench_moe_Q8_0.csv"}
    deep = sweep[(sweep["source_file"] == "llama-bench_135m_Q8_0_depth.csv") & (sweep["spread"] > 0.5)]
    assert "do not trust it" in note_text(deep.iloc[0]["notes"])


def test_decode_counts_the_cache_at_the_mean_of_its_steps():
    row = judged(decode(40, output_tokens=100.0, depth_tokens=1000.0)).iloc[0]
    assert row["ceiling"] == pytest.approx(100e9 / (2e9 + (1000 + 99 / 2) * 32768))


def test_batched_decode_is_judged_as_the_device():
    rows = judged(
        decode(300, batch=8.0, depth_tokens=100.0, tokens_per_s_basis="device"), decode(37.5, batch=8.0)
    )
    assert rows["measured"].tolist() == pytest.approx([300, 300])
    assert rows["ceiling"].iloc[0] == pytest.approx(8 * 100e9 / (2e9 + 8 * 100 * 32768))


def test_prefill_reads_weights_once_and_counts_what_is_cached():
    row = judged(prefill(2000, 1000.0)).iloc[0]
    assert row["ceiling"] == pytest.approx(10e12 / 2e9)
    assert row["bound"] == "compute"
    hit = judged(prefill(2000, 1000.0, cached_tokens=500.0)).iloc[0]
    assert hit["ceiling"] == pytest.approx(2 * 10e12 / 2e9)


def test_mixed_row_is_prefill_and_decode_together():
    record = {"phase": "mixed", "tool": "llama-bench", "tokens_per_s_basis": "mixed", "batch": 1.0}
    row = judged(
        {**record, "prompt_tokens": 1000.0, "output_tokens": 50.0, "tokens_per_s": 700.0, "depth_tokens": 0.0}
    )
    steps = sum(2e9 + (1000 + i) * 32768 for i in range(50)) / 100e9
    assert row.iloc[0]["ceiling"] == pytest.approx(1050 / (1000 * 2e9 / 10e12 + steps))


def test_serving_is_judged_by_the_time_per_token():
    serving = {
        "phase": "serving",
        "tpot_s": 0.025,
        "itl_s": 0.001,
        "prompt_tokens": 100.0,
        "output_tokens": 11.0,
    }
    alone, among = judged({**serving, "concurrency": 1.0}, {**serving, "concurrency": 16.0}).itertuples()
    # Ten steps follow the first token, at 100 to 109 cached tokens.
    step = (2e9 + 104.5 * 32768) / 100e9
    assert alone.fraction == pytest.approx(step / 0.025)
    assert among.fraction == alone.fraction
    assert among.p90 < alone.p90
    assert "one_of_many" in among.notes


def test_serving_throughput_is_judged_at_its_concurrency():
    record = {"phase": "serving", "tokens_per_s": 500.0, "tokens_per_s_basis": "device", "concurrency": 16.0}
    row = judged({**record, "prompt_tokens": 100.0, "output_tokens": 11.0}).iloc[0]
    assert row["ceiling"] == pytest.approx(16 * 100e9 / (2e9 + 16 * 104.5 * 32768))
    assert "whole_requests" in row["notes"]


def test_declared_speculation_raises_the_ceiling():
    plain, drafted = judged(decode(60), decode(60, acceptance=0.7, draft_tokens=4.0)).itertuples()
    assert plain.verdict == "above_ceiling"
    assert drafted.ceiling == pytest.approx(2.7731 * plain.ceiling)
    assert drafted.verdict != "above_ceiling"


def test_several_devices_add_up():
    one, four = judged(decode(40), decode(40, device_count=4.0)).itertuples()
    assert four.ceiling == pytest.approx(4 * one.ceiling)
    assert "devices=4" in four.notes


def verdict_at(share: float, spread: float = math.nan) -> str:
    row = judged(decode(share * 50, spread=spread)).iloc[0]
    assert row["fraction"] == pytest.approx(share)
    return str(row["verdict"])


@pytest.mark.parametrize(
    ("share", "spread", "verdict"),
    [
        (1.3, math.nan, "above_ceiling"),
        (1.005, math.nan, "near_ceiling"),
        (1.04, 0.05, "near_ceiling"),
        (1.04, 0.01, "above_ceiling"),
        (0.91, math.nan, "near_ceiling"),
    ],
)
def test_around_the_ceiling(share: float, spread: float, verdict: str):
    assert verdict_at(share, spread) == verdict


def test_below_it_the_band_decides():
    band = judged(decode(25)).iloc[0]
    near = min(max(band["p90"], 0.8), 0.9)
    assert verdict_at(near * 1.001) == "near_ceiling"
    assert verdict_at(near * 0.999) == "typical"
    assert verdict_at(band["p10"] * 1.001) == "typical"
    assert verdict_at(band["p10"] * 0.999) == "below_typical"
    assert verdict_at(band["p10"] * 0.501) == "below_typical"
    assert verdict_at(band["p10"] * 0.499) == "far_below"


def test_the_band_is_what_the_references_would_take():
    own = {"bandwidth_fraction": 0.5, "compute_fraction": 0.5, "fixed_ms": 10.0}
    row = judged(decode(20), said=facts(overrides=own)).iloc[0]
    assert row["p10"] == row["p90"] == pytest.approx(20 / (20 / 0.5 + 10), rel=1e-3)
    assert row["verdict"] == "typical"


def test_short_passes_are_held_to_less_and_say_why():
    rows = judged(decode(20), decode(800), said=facts(weights="4-bit", device=device(5000.0, 500.0)))
    slow = rows.iloc[1]
    assert slow["pass_s"] < 3e-3
    assert slow["p90"] < 0.6
    assert "short_pass" in slow["reasons"]


def test_reasons_of_a_slow_row_are_about_software():
    cpu = device(reference_class="cpu")
    row = judged(decode(3, backend="CPU"), said=facts(device=cpu)).iloc[0]
    assert row["reasons"].split("|") == ["threads", "kernels", "power"]
    moved = judged(decode(3, backend="CUDA", gpu_layers=10.0)).iloc[0]
    assert moved["reasons"].startswith("offload")


def test_nothing_is_guessed():
    rows = rows_from_records([decode(40, row="row 1")])
    found = compare(rows, Facts())
    assert found.needs == ("device", "model", "weights")
    assert found.rows.iloc[0]["verdict"] == "unknown"
    assert pd.isna(found.rows.iloc[0]["ceiling"])
    assert found.rows.iloc[0]["measured"] == 40
    assert compare(rows, Facts(device="rtx-4090", model="llama-3.2-1b")).needs == ("weights",)


def test_an_unstated_batch_is_asked_for_where_the_speed_is_of_all():
    rows = rows_from_records([decode(400, batch=None, tokens_per_s_basis="device", row="row 1")])
    found = compare(rows, facts())
    assert found.needs == ("batch",)
    assert compare(rows, facts(batch=16)).rows.iloc[0]["ceiling"] == pytest.approx(800)


def test_unknown_rate_leaves_prefill_unknown_and_decode_judged():
    blind = facts(device=device(peak_tflops=None))
    first, fast, later = judged(prefill(100), prefill(1e6), decode(45), said=blind).itertuples()
    assert (first.verdict, first.reasons, pd.isna(first.bound)) == ("unknown", "no_rate", True)
    # Not even memory alone allows this one.
    assert fast.verdict == "above_ceiling"
    assert later.verdict == "near_ceiling"


def test_a_count_and_a_size_give_a_ceiling_without_cache():
    said = Facts(device=device())
    row = judged(
        decode(40, params=3.3e9, weight_bytes=2e9, depth_tokens=5000.0, model="mystery"), said=said
    ).iloc[0]
    assert row["ceiling"] == pytest.approx(50)
    assert "count_only" in row["notes"]
    above = judged(decode(80, params=3.3e9, weight_bytes=2e9, model="mystery"), said=said).iloc[0]
    assert above["reasons"].startswith("active_experts")


@pytest.mark.parametrize("name", ["mystery-8x7B", "mystery-30B-A3B", "mystery-moe"])
def test_a_count_says_nothing_about_experts(name: str):
    rows = rows_from_records([decode(40, params=3.3e9, weight_bytes=2e9, model=name, row="row 1")])
    found = compare(rows, Facts(device=device()))
    assert found.needs == ("model",)
    assert found.rows.iloc[0]["reasons"] == "experts_shape"


def test_the_files_own_size_decides():
    said = facts(model="llama-3.2-1b")
    exact, larger = judged(
        decode(20, weight_bytes=2471628800.0, weight_format="bf16"),
        decode(20, weight_bytes=3e9, weight_format="bf16"),
        said=said,
    ).itertuples()
    assert exact.ceiling == pytest.approx(100e9 / 2471628800)
    assert larger.ceiling == pytest.approx(100e9 / 3e9)
    assert "other_size" in larger.notes
    assert "other_size" not in exact.notes


def test_a_format_that_is_not_named_follows_from_the_size():
    said = facts(model="llama-3.2-1b", weights="q8_0")
    agrees, contradicts = judged(
        decode(20, weight_bytes=1.32e9), decode(20, weight_bytes=8e8), said=said
    ).itertuples()
    assert agrees.weights.endswith("Q8_0")
    assert contradicts.weights == "5.2-bit"
    assert contradicts.ceiling == pytest.approx(100e9 / 8e8)


def test_the_users_device_wins_and_another_name_is_noted():
    named = decode(40, device="NVIDIA GeForce RTX 4090")
    row = judged(named).iloc[0]
    assert row["device"] == "own device"
    assert "NVIDIA GeForce RTX 4090, which is another device" in note_text(row["notes"])
    panel = judged(named, said=facts(device_wins=False)).iloc[0]
    assert panel["device"] == "NVIDIA GeForce RTX 4090"
    several = judged(named, decode(40, device="NVIDIA L40S"), decode(40)).iloc[:]
    assert several["device"].tolist() == ["NVIDIA GeForce RTX 4090", "NVIDIA L40S", "own device"]


def test_rows_bring_their_own_model():
    own = decode(40, params=1235814400.0, model_type="llama 1B F16", weight_format="F16", tool="llama-bench")
    rows = judged(own, decode(40))
    assert rows["model"].tolist() == ["Llama-3.2-1B", "1B"]


def test_a_scenario_says_what_rows_leave_open():
    s = scenario({"model": "llama-3.2-1b", "device": "rtx-4090", "weights": "q8_0", "bandwidth_gbs": 500.0})
    row = judged(decode(40), said=Facts.of(s)).iloc[0]
    plain = judged(decode(40), said=Facts(device="rtx-4090", model="llama-3.2-1b", weights="q8_0")).iloc[0]
    assert row["ceiling"] == pytest.approx(plain["ceiling"] * 500 / 1008)


def test_rows_without_a_speed_are_left_out_with_the_reason():
    found = compare(
        rows_from_records([decode(40, row="row 1"), {"row": "row 2", "phase": "serving"}]), facts()
    )
    assert found.rows["row"].tolist() == ["row 1"]
    assert found.skipped["row"].tolist() == ["row 2"]
    assert "no speed" in found.skipped["why"].iloc[0]


def test_no_rows_at_all():
    found = compare(rows_from_records([]), facts())
    assert isinstance(found, Comparison)
    assert found.rows.empty
    assert found.needs == ()
    assert worded(found.rows).empty


def test_the_index_stays():
    rows = rows_from_records([decode(40, row="a"), {"row": "b"}, decode(41, row="c")]).set_axis([10, 20, 30])
    assert compare(rows, facts()).rows.index.tolist() == [10, 30]


def test_rows_of_one_kind_are_looked_up_once(monkeypatch: pytest.MonkeyPatch):
    calls = []
    real = compare_module.place
    monkeypatch.setattr(compare_module, "place", lambda *a, **k: calls.append(a) or real(*a, **k))
    rng = np.random.default_rng(0)
    size = 100_000
    rows = rows_from_records([decode(40, row="row", weight_format=name) for name in ("Q8_0", "Q4_0")])
    many = rows.iloc[rng.integers(0, 2, size)].reset_index(drop=True)
    many["tokens_per_s"] = rng.uniform(1, 50, size)
    found = compare(many, facts()).rows
    assert len(found) == size
    assert len(calls) == 2


def test_words_for_every_code():
    rows = judged(decode(60), decode(3), prefill(100, 20), decode(40, weight_bytes=3e9, spread=0.3))
    said = worded(rows)
    assert said["verdict"].iloc[0] == "above the ceiling"
    assert said["reasons"].str.endswith(".").iloc[1]
    assert "±30" in said["note"].iloc[3]
    assert reason_list(rows["reasons"].iloc[0])


def test_a_published_count_reads_no_more_than_the_model_s_own_layers():
    """GLM-4.5-Air's file holds its prediction layer with a head and an embedding: the step reads none of them."""
    air = library().models["glm-4.5-air"]
    record = decode(1.0, model=air.name, weight_format="MXL", params=float(air.published_params or 0))
    whole = {**record, "weight_bytes": (air.published_params or 0) * 1.0}
    bare = {**record, "params": float(air.total_params), "weight_bytes": air.total_params * 1.0}
    ceilings = judged(whole, bare, said=Facts(device=device(peak_tflops=None)))["ceiling"]
    assert ceilings[0] == pytest.approx(ceilings[1], rel=1e-3)


def test_a_file_of_no_bytes_says_nothing_against_the_user_s_format():
    record = decode(10.0, weight_bytes=1e-300, params=1e9)
    assert judged(record)["verdict"].notna().all()
