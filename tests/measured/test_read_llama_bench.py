"""llama-bench in all layouts and versions: what its numbers mean, and rows that are not what their header says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
from tests.measured.llama_bench_files import (
    BASE,
    HEADER_2026,
    MARKDOWN,
    MIXED,
    PREFILL,
    csv_text,
    jsonl_text,
    sql_text,
    with_samples,
)
from tests.measured.test_read_table import assert_schema

ROWS = [PREFILL, BASE, MIXED]


def check(rows):
    """What holds of ROWS in every layout that keeps all columns."""
    assert_schema(rows)
    assert rows["phase"].tolist() == ["prefill", "decode", "mixed"]
    assert rows["tokens_per_s"].tolist() == [340.452493, 87.101029, 320.4]
    assert rows["tokens_per_s_basis"].tolist() == ["sequence", "sequence", "mixed"]
    assert rows["prompt_tokens"].tolist() == [128, 0, 512]
    assert rows["output_tokens"].tolist() == [0, 32, 128]
    assert rows["depth_tokens"].tolist() == [1024, 1024, 0]
    assert rows["tpot_s"].tolist()[1] == pytest.approx(0.367487393 / 32)
    assert np.isnan(rows["tpot_s"].tolist()[0])
    assert rows["spread"].tolist()[0] == pytest.approx(20.574212 / 340.452493)
    assert set(rows["batch"]) == {1}
    assert set(rows["chunk_tokens"]) == {512}
    assert set(rows["model"]) == {"smollm2-135m-Q8_0"}
    assert set(rows["weight_format"]) == {"Q8_0"}
    assert set(rows["weight_bytes"]) == {143025408}
    assert set(rows["params"]) == {134515008}
    assert set(rows["cache_k"]) == {"F16"}
    assert set(rows["device"]) == {"AMD EPYC"}
    assert set(rows["device_count"]) == {1}
    assert set(rows["backend"]) == {"CPU"}
    assert set(rows["tool_version"]) == {"b1 (0c1e57098)"}
    assert set(rows["timestamp"].astype("str")) == {"2026-11-29 15:54:00"}
    assert rows["conversion"].notna().all()


def test_csv():
    found = read_benchmark("x.csv", csv_text(ROWS).encode())
    assert found.format == "llama-bench csv"
    assert found.rows["row"].tolist() == ["row 1", "row 2", "row 3"]
    assert found.rows["repeats"].isna().all()  # the CSV does not tell
    check(found.rows)


def test_json_and_jsonl_know_their_repeats():
    for form, content in (
        ("json", json.dumps([with_samples(row) for row in ROWS], indent=2)),
        ("jsonl", jsonl_text(ROWS)),
    ):
        found = read_benchmark("x", content.encode())
        assert found.format == f"llama-bench {form}"
        assert found.rows["repeats"].tolist() == [3, 3, 3]
        check(found.rows)


@pytest.mark.parametrize("table", ["llama_bench", "test"])
def test_sql(table):
    found = read_benchmark("x.sql", sql_text(ROWS, table).encode())
    assert found.format == "llama-bench sql"
    check(found.rows)


def test_sql_with_a_quote_inside_a_value():
    found = read_benchmark("x.sql", sql_text([BASE | {"model_filename": "it's.gguf"}]).encode())
    assert found.rows["model"].tolist() == ["it's"]


def test_markdown():
    found = read_benchmark("x.md", MARKDOWN.encode())
    rows = found.rows
    assert found.format == "llama-bench md"
    assert rows["phase"].tolist() == ["prefill", "decode", "mixed"]
    assert rows["tokens_per_s"].tolist() == [5007.64, 192.59, 800.0]
    assert rows["depth_tokens"].tolist() == [0, 4096, 0]
    assert rows["weight_bytes"].tolist()[0] == pytest.approx(762.81 * 2**20)
    assert rows["params"].tolist()[0] == 1.24e9
    assert rows["spread"].tolist()[0] == pytest.approx(100.2 / 5007.64)
    assert np.isnan(rows["spread"].tolist()[2])  # ± 0.00 is one run
    facts = {
        "device": "NVIDIA Test 9000",
        "tool_version": "b6865 (0c1e57098)",
        "weight_format": "Q4_K_M",
        "cache_k": "Q8_0",
        "flash_attention": "on",
    }
    assert {name: rows[name].tolist()[0] for name in facts} == facts
    assert found.skipped["row"].tolist() == ["row 4"]


def test_nested_records_of_a_wrapper():
    lines = [{"mode": "tg", "tokens_per_sec": 1.0, "bench_raw": with_samples(row)} for row in ROWS]
    check(read_benchmark("x.jsonl", "\n".join(map(json.dumps, lines)).encode()).rows)


def test_a_banner_before_the_lines_and_a_cut_last_line():
    text = "ggml_cuda_init: found 1 devices:\n  Device 0: X\n# remark\n\n" + jsonl_text(ROWS)[:-200]
    found = read_benchmark("x.jsonl", text.encode())
    assert found.rows["row"].tolist() == ["line 5", "line 6"]
    assert found.rows["phase"].tolist() == ["prefill", "decode"]
    assert found.skipped["row"].tolist() == ["line 7"]
    assert "cut off" in found.skipped["why"].tolist()[0]


HEADER_2023 = (
    "build_commit,build_number,cuda,opencl,metal,gpu_blas,blas,cpu_info,gpu_info,model_filename,model_type,model_size,model_n_params,"
    "n_batch,n_threads,f16_kv,n_gpu_layers,main_gpu,mul_mat_q,tensor_split,n_prompt,n_gen,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts"
)
ROW_2023 = BASE | {
    "cuda": 1, "opencl": 0, "metal": 0, "gpu_blas": 1, "blas": 1, "f16_kv": 1, "mul_mat_q": 1, "n_gpu_layers": 99,
    "gpu_info": "Test GPU", "model_type": "llama 7B mostly Q4_0", "n_batch": 512,
}  # fmt: skip


def test_the_first_version_has_other_columns():
    rows = read_benchmark("x.csv", csv_text([ROW_2023], HEADER_2023).encode()).rows
    expected = {
        "backend": "CUDA",
        "cache_k": "F16",
        "weight_format": "Q4_0",
        "device": "Test GPU",
        "depth_tokens": 0,
        "gpu_layers": 99,
    }
    assert {name: rows[name].tolist()[0] for name in expected} == expected


def test_backend_booleans_without_any_is_the_cpu():
    row = ROW_2023 | {"cuda": 0, "gpu_blas": 0, "blas": 0, "gpu_info": ""}
    rows = read_benchmark("x.csv", csv_text([row], HEADER_2023).encode()).rows
    assert rows["backend"].tolist() == ["CPU"]
    assert rows["device"].tolist() == ["AMD EPYC"]


def test_two_versions_in_one_file():
    text = csv_text([BASE]) + csv_text([ROW_2023], HEADER_2023) + csv_text([PREFILL])
    found = read_benchmark("x.csv", text.encode())
    assert found.rows["row"].tolist() == ["row 1", "table 2, row 1", "table 3, row 1"]
    assert found.rows["backend"].tolist() == ["CPU", "CUDA", "CPU"]


def test_a_header_repeated_by_concatenation():
    found = read_benchmark("x.csv", (csv_text([BASE]) + csv_text([PREFILL])).encode())
    assert found.rows["phase"].tolist() == ["decode", "prefill"]
    assert not len(found.skipped)


def test_rows_wider_than_their_header_are_left_out_and_never_shifted():
    header = HEADER_2023.replace(
        "opencl,", ""
    )  # as in the official README, where the header alone was edited
    body = csv_text([ROW_2023], HEADER_2023).split("\n")[1]
    found = read_benchmark("x.csv", f"{header}\n{body}\n".encode())
    assert len(found.rows) == 0
    assert found.skipped["why"].tolist()[0].startswith("27 values under 26 column names")


def shifted(**changes):
    return read_benchmark("x.csv", csv_text([BASE | changes, PREFILL]).encode())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"test_time": "87.1"}, "no date"),
        ({"avg_ts": "fast"}, "no number"),
        ({"avg_ns": ""}, "no number"),
        ({"n_gen": "0.5"}, "whole number"),
        ({"n_gen": "-3"}, "whole number"),
        ({"avg_ts": 0}, "did not run"),
        ({"avg_ts": "nan"}, "no number"),
        ({"n_gen": 0}, "no tokens"),
        ({"avg_ts": 2.010852}, "does not follow"),  # the deviation read as the speed
        ({"avg_ns": 8484015}, "does not follow"),
        ({"avg_ts": 1e9}, "does not follow"),
    ],
)
def test_a_row_that_contradicts_itself_is_left_out_with_its_reason(changes, why):
    found = shifted(**changes)
    assert found.rows["phase"].tolist() == ["prefill"]
    assert found.skipped["row"].tolist() == ["row 1"]
    assert why in found.skipped["why"].tolist()[0]


def test_a_header_without_rows_is_a_failed_run():
    with pytest.raises(UnreadableFile, match="failed before its first result"):
        read_benchmark("x.csv", HEADER_2026.encode())


def test_a_banner_alone_is_a_failed_run():
    with pytest.raises(UnreadableFile, match="device banner"):
        read_benchmark("x.md", b"ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Test, gfx0\n")


@pytest.mark.parametrize(
    ("changes", "device", "count", "note"),
    [
        ({"gpu_info": "A", "backends": "CUDA", "n_gpu_layers": 99}, "A", 1, None),
        ({"gpu_info": "A, A", "backends": "CUDA"}, "A", 2, None),
        ({"gpu_info": "A, A", "backends": "CUDA", "split_mode": "none"}, "A", 1, None),
        ({"gpu_info": "A, B", "backends": "CUDA"}, "A, B", None, None),
        ({"gpu_info": "A", "backends": "CUDA", "n_gpu_layers": 0}, "AMD EPYC", 1, "no layer on the GPU"),
        ({"gpu_info": "A", "backends": "CUDA", "n_cpu_moe": 8}, "A", 1, "main memory"),
        ({"gpu_info": "A", "backends": "CUDA", "no_kv_offload": 1}, "A", 1, "main memory"),
        (
            {"gpu_info": "A", "backends": "CUDA", "tensor_buft_overrides": "exps=CPU"},
            "A",
            1,
            "placed by hand",
        ),
        ({"gpu_info": "A", "backends": "CPU"}, "AMD EPYC", 1, None),
    ],
)
def test_the_device_is_the_one_that_reads_the_weights(changes, device, count, note):
    row = read_benchmark("x.csv", csv_text([BASE | changes]).encode()).rows.iloc[0]
    assert row["device"] == device
    assert (None if np.isnan(row["device_count"]) else row["device_count"]) == count
    assert note is None or note in row["note"]


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("llama 1B Q4_K - Medium", "Q4_K_M"),
        ("qwen2 7B Q5_K - Small", "Q5_K_S"),
        ("llama 7B Q3_K - Large", "Q3_K_L"),
        ("llama 7B mostly Q4_0", "Q4_0"),
        ("llama 1B F16", "F16"),
        ("llama 1B BF16", "BF16"),
        ("llama 1B all F32", "F32"),
        ("gpt-oss 20B MXFP4 MoE", "MXFP4"),
        ("deepseek4 ?B IQ2_XXS - 2.0625 bpw", "IQ2_XXS"),
        ("llama 8B IQ4_NL - 4.5 bpw", "IQ4_NL"),
        ("llama 8B TQ1_0 - 1.69 bpw ternary", "TQ1_0"),
        ("llama 8B Q4_0_4_4", "Q4_0_4_4"),
        ("llama 8B Q6_K", "Q6_K"),
        ("llama ?B", None),
    ],
)
def test_weight_formats_by_their_long_names(model_type, expected):
    found = read_benchmark("x.csv", csv_text([BASE | {"model_type": model_type}]).encode()).rows[
        "weight_format"
    ]
    assert (None if found.isna().all() else found.tolist()[0]) == expected


def test_flash_attention_as_switch_and_as_number():
    rows = [BASE | {"flash_attn": value} for value in ("1", "0", "-1")]
    assert read_benchmark("x.csv", csv_text(rows).encode()).rows["flash_attention"].tolist() == [
        "on",
        "off",
        "auto",
    ]


def test_one_repetition_tells_no_spread():
    assert read_benchmark("x.csv", csv_text([BASE | {"stddev_ts": 0}]).encode()).rows["spread"].isna().all()


def test_the_long_way_in_gives_what_the_short_way_gives(monkeypatch):
    text = csv_text(ROWS) + "x,y\n" + csv_text([BASE | {"avg_ts": "oops"}, MIXED]).split("\n", 1)[1]
    short = read_benchmark("x.csv", text.encode())
    monkeypatch.setattr("slmopt.measured.readers._sheets.LONG_BYTES", 0)
    long = read_benchmark("x.csv", text.encode())
    assert (
        long.rows.astype(dict.fromkeys(("model", "phase"), "str")).to_csv()
        == short.rows.astype(dict.fromkeys(("model", "phase"), "str")).to_csv()
    )
    assert long.skipped.to_dict() == short.skipped.to_dict()
    assert len(short.rows) == 4
    assert len(short.skipped) == 2


def test_many_rows_cost_columns_and_no_objects():
    body = csv_text([BASE]).split("\n")[1]
    found = read_benchmark("x.csv", (HEADER_2026 + "\n" + (body + "\n") * 60_000).encode())
    assert_schema(found.rows)
    assert len(found.rows) == 60_000
    assert found.rows["row"].tolist()[-1] == "row 60000"
    assert found.rows.memory_usage(deep=True).sum() < 400 * 60_000


def test_markdown_tells_what_lies_in_main_memory():
    head = "| model | size | params | backend | ngl | n_cpu_moe | nkvo | ot | test | t/s |\n|---|---|---|---|---|---|---|---|---|---|\n"
    cells = ("| 20 | 0 | 0 | none", "| 99 | 8 | 0 | none", "| 99 | 0 | 1 | none", "| 99 | 0 | 0 | exps=CPU")
    text = head + "".join(f"| m 7B Q4_0 | 3.56 GiB | 6.74 B | CUDA {one} | tg128 | 20.00 ± 0.10 |\n" for one in cells)  # fmt: skip
    rows = read_benchmark("f.md", text.encode()).rows
    assert rows["gpu_layers"].tolist() == [20, 99, 99, 99]
    assert rows["cpu_moe_layers"].tolist() == [0, 8, 0, 0]
    notes = rows["note"].astype("str").tolist()
    assert "n_cpu_moe" in notes[1]
    assert "no_kv_offload" in notes[2]
    assert "exps=CPU" in notes[3]


def test_several_cards_say_how_they_share_the_model():
    rows = [
        BASE | {"gpu_info": "A, A", "backends": "CUDA", "split_mode": mode}
        for mode in ("layer", "row", "none")
    ]
    found = read_benchmark("f.csv", csv_text(rows).encode()).rows
    assert found["device_count"].tolist() == [2, 2, 1]
    assert found["pipeline_parallel"].tolist() == pytest.approx([2, 1, np.nan], nan_ok=True)
    assert found["tensor_parallel"].tolist() == pytest.approx([1, 2, np.nan], nan_ok=True)
