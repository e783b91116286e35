"""Desktop and edge runtimes: units by tool, warm-ups, speeds of a batch, what the file does not say."""

from __future__ import annotations

import json

import pytest

from slmopt.measured.detect import read_benchmark, read_many
from slmopt.measured.readers.ollama import go_seconds
from slmopt.measured.text import UnreadableFile
from tests.measured.test_read_table import assert_schema


def read(content):
    text = content if isinstance(content, str) else json.dumps(content)
    found = read_benchmark("f", text.encode())
    assert_schema(found.rows)
    return found


OLLAMA = {
    "model": "llama3.2:1b-instruct-q8_0", "created_at": "2026-02-01T10:00:00.5Z", "total_duration": 5 * 10**9, "load_duration": 10**6,
    "prompt_eval_count": 26, "prompt_eval_duration": 325_953_000, "eval_count": 290, "eval_duration": 4_709_213_000,
}  # fmt: skip


def test_ollama_is_in_nanoseconds():
    rows = read(OLLAMA).rows
    assert rows["phase"].tolist() == ["prefill", "decode"]
    assert rows["tokens_per_s"].tolist() == [pytest.approx(79.766, rel=1e-4), pytest.approx(61.581, rel=1e-4)]
    assert rows["tpot_s"].tolist()[1] == pytest.approx(4.709213 / 290)
    assert rows["depth_tokens"].tolist() == [0, 26]
    assert set(rows["weight_format"]) == {"Q8_0"}


def test_ollama_tells_a_cached_prompt_apart_since_2026():
    rows = read(OLLAMA | {"prompt_eval_cached_count": 20}).rows
    assert rows["prompt_tokens"].tolist() == [6, 0]
    assert rows["depth_tokens"].tolist() == [20, 26]
    assert rows["cached_tokens"].tolist() == [20, 20]


def test_ollama_leaves_a_cached_prompt_out_in_older_versions():
    rows = read({name: value for name, value in OLLAMA.items() if not name.startswith("prompt_eval")}).rows
    assert rows["phase"].tolist() == ["decode"]
    assert rows["depth_tokens"].isna().all()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m5.04s", 65.04), ("325.9ms", 0.3259), ("5µs", 5e-6), ("1h2m3s", 3723.0), ("12ns", 12e-9)],
)
def test_go_durations(text, seconds):
    assert go_seconds(text) == pytest.approx(seconds)


VERBOSE = """\
>>> hello
total duration:       1m5.0435s
load duration:        5.025959ms
prompt eval count:    26 token(s)
prompt eval duration: 325.953ms
prompt eval rate:     79.77 tokens/s
eval count:           290 token(s)
eval duration:        4.709213s
eval rate:            61.58 tokens/s
"""


def test_ollama_verbose_text_of_two_runs():
    rows = read(VERBOSE + VERBOSE).rows
    assert rows["row"].tolist() == ["run 1", "run 1", "run 2", "run 2"]
    assert rows["tokens_per_s"].tolist()[1] == pytest.approx(61.581, rel=1e-4)


def test_lm_studio_says_where_its_own_numbers_disagree():
    answer = {
        "model": "m", "usage": {"prompt_tokens": 24, "completion_tokens": 53}, "runtime": {"name": "llama.cpp", "version": "1.3.0"},
        "stats": {"tokens_per_second": 51.4, "time_to_first_token": 0.111, "generation_time": 0.954},
        "model_info": {"arch": "llama", "quant": "Q4_K_M", "format": "gguf", "context_length": 4096},
    }  # fmt: skip
    row = read(answer).rows.iloc[0]
    assert row["ttft_s"] == 0.111
    assert row["tokens_per_s"] == 51.4
    assert row["weight_format"] == "Q4_K_M"
    assert "not the 51.4 stated" in row["note"]


def test_mlx_generate():
    text = "==========\nPrompt: 16 tokens, 200.000 tokens-per-sec\nGeneration: 128 tokens, 50.000 tokens-per-sec\nPeak memory: 5.000 GB\n"
    rows = read(text).rows
    assert rows["tokens_per_s"].tolist() == [200, 50]
    assert rows["depth_tokens"].tolist() == [0, 16]


def test_mlx_benchmark_is_of_a_batch_that_it_does_not_print():
    text = "Trial 1:  prompt_tps=1000.5, generation_tps=80.25, peak_memory=5.0\nTrial 2:  prompt_tps=1001, generation_tps=81, peak_memory=5.0\nAverages: prompt_tps=1000.75, generation_tps=80.6, peak_memory=5.0\n"
    rows = read(text).rows
    assert rows["row"].tolist() == ["trial 1", "trial 1", "trial 2", "trial 2"]
    assert set(rows["tokens_per_s_basis"]) == {"device"}
    assert rows["batch"].isna().all()
    assert "batch and lengths" in rows["note"].tolist()[0]


LOCALSCORE = {
    "name": "pp1024+tg16", "model_name": "Test 1B", "model_quant": "Q4_K - Medium", "n_prompt": 1024, "n_gen": 16, "prompt_tps": 5000.0,
    "gen_tps": 80.0, "ttft_ms": 210.0, "model_n_params": 1235814432, "model_size": 799862912,
}  # fmt: skip


def test_localscore_json_and_csv():
    report = {
        "runtime_info": {"version": "1.0"},
        "system_info": {"cpu_name": "c"},
        "accelerator_info": {"name": "Test GPU"},
        "results": [LOCALSCORE],
    }
    rows = read(report).rows
    assert rows["tokens_per_s"].tolist() == [5000, 80]
    assert rows["prompt_tokens"].tolist() == [1024, 0]
    assert rows["ttft_s"].tolist()[0] == 0.21
    assert set(rows["weight_format"]) == {"Q4_K_M"}
    assert set(rows["device"]) == {"Test GPU"}
    header = list(LOCALSCORE)
    text = ",".join(header) + "\n" + ",".join(f'"{LOCALSCORE[name]}"' for name in header) + "\n"
    assert read(text).rows["tokens_per_s"].tolist() == [5000, 80]


LOCALSCORE_CONSOLE = """
+-----------------------------------------------------------------------------------------+
|                                   Test GPU - 23.6 GiB                                    |
|                                Test - 1B - Q4_K - Medium                                 |
+-----------------------------------------------------------------------------------------+
|          test | run number |   avg time | tokens processed |  pp t/s |  tg t/s |     ttft |
| ------------- | ---------- | ---------- | ---------------- | ------- | ------- | -------- |
|   pp1024+tg16 | 1/2        |  400.00 ms |      1040 / 2080 |  2500.0 |    40.0 | 420.0 ms |
|   pp1024+tg16 | 2/2        |  405.00 ms |      2080 / 2080 |  5000.0 |    80.0 | 210.0 ms |
|  pp4096+tg256 | 2/2        |     9.02 s |      8704 / 8704 |  3000.0 |    75.0 |   1.38 s |
|          none | 1/2        |     0.00 s |            0 / 0 |     0.0 |     0.0 |  0.00 ms |
|     pp16+tg16 | 0/2        |     0.00 s |           0 / 64 |     0.0 |     0.0 |  0.00 ms |
+-----------------------------------------------------------------------------------------+
"""


def test_localscore_console_tells_device_model_and_the_last_line_of_each_test():
    found = read(LOCALSCORE_CONSOLE)
    rows = found.rows
    assert found.format == "LocalScore md"
    assert rows["tokens_per_s"].tolist() == [5000, 80, 3000, 75]
    assert rows["prompt_tokens"].tolist() == [1024, 0, 4096, 0]
    assert rows["depth_tokens"].tolist() == [0, 1024, 0, 4096]
    assert rows["ttft_s"].dropna().tolist() == pytest.approx([0.21, 1.38], rel=1e-15)
    assert set(rows["device"]) == {"Test GPU"}
    assert set(rows["model"]) == {"Test - 1B"}
    assert set(rows["weight_format"]) == {"Q4_K_M"}
    assert found.skipped["why"].tolist() == ["'none' is no test such as pp1024+tg16", "states no speed"]


def test_localscore_console_without_its_banner_lacks_device_and_model():
    rows = read(LOCALSCORE_CONSOLE[LOCALSCORE_CONSOLE.index("|          test") :]).rows
    assert rows["tokens_per_s"].tolist() == [5000, 80, 3000, 75]
    assert rows["device"].isna().all()
    assert rows["model"].isna().all()


def test_llmfit_takes_the_format_from_the_name_only():
    report = {
        "schemaVersion": 1, "submittedAtUnix": 1787072925, "tool": {"name": "llmfit", "version": "1.1"},
        "hardware": {"hardwareName": "Test M3", "gpuCount": 1},
        "results": [
            {"model": "/home/x/models/gemma-3.Q8_0.gguf", "provider": "llamacpp", "numRuns": 3, "avgTps": 15.0, "avgTtftMs": None, "avgTotalMs": 12457.0, "avgOutputTokens": 182.0},
            {"model": "qwen2.5-coder:14b", "provider": "ollama", "numRuns": 3, "avgTps": 0.0},
        ],
    }  # fmt: skip
    found = read(report)
    row = found.rows.iloc[0].dropna()
    assert row["model"] == "gemma-3.Q8_0"
    assert row["weight_format"] == "Q8_0"
    assert row["tpot_s"] == pytest.approx(1 / 15)
    assert "prompt_tokens" not in row
    assert len(found.skipped) == 1


OPENVINO = """\
iteration,model,framework,device,pretrain_time(s),input_size,infer_count,generation_time(s),output_size,latency(ms),1st_latency(ms),2nd_avg_latency(ms),precision,batch_size
0,m,ov,CPU,10.0,32,128,6.0,128,46.9,300.0,44.9,INT4,1
1,m,ov,CPU,10.0,32,128,5.0,128,39.1,200.0,40.0,INT4,2
avg,m,ov,CPU,10.0,32,128,5.0,128,39.1,200.0,37.8,INT4,1
"pretrain_time: time for model loading; iteration 0 is warm-up",,,,,,,,,,,,,
"""


def test_openvino_leaves_warm_up_and_summaries_out():
    found = read(OPENVINO)
    assert found.rows["row"].tolist() == ["row 2", "row 2"]
    assert found.rows["tokens_per_s"].tolist() == [pytest.approx(2 * 32 / 0.2), pytest.approx(2 / 0.04)]
    assert found.rows["tpot_s"].tolist()[1] == 0.04
    assert [why.split(" ")[0] for why in found.skipped["why"]] == ["iteration", "'avg'", "a"]


ORT_FLAT = "Batch Size,Prompt Length,Tokens Generated,Max Length,Prompt Processing Throughput (tps),Prompt Processing Latency (ms),Token Generation Throughput (tps),Token Generation Latency (ms),Wall Clock Throughput (tps),Wall Clock Time (s)\n2,16,256,272,500.0,2.0,80.0,25.0,42.5,6.4\n"


@pytest.mark.parametrize(
    "text",
    [
        ORT_FLAT,
        "\n".join(
            f"{name},{value}"
            for name, value in zip(*(line.split(",") for line in ORT_FLAT.strip().split("\n")), strict=True)
            if name != "Max Length"
        ),
        ",config.batch_size,metadata.model_name,"
        + ",".join(f"metrics.{name}" for name in ORT_FLAT.split("\n", maxsplit=1)[0].split(","))
        + "\n0,2,m,"
        + ORT_FLAT.split("\n")[1],
    ],
)
def test_ort_genai_in_its_layouts(text):
    rows = read(text).rows
    assert rows["phase"].tolist() == ["prefill", "decode"]
    assert rows["tokens_per_s"].tolist() == [500, 80]
    assert rows["tpot_s"].tolist()[1] == 0.025
    assert rows["batch"].tolist() == [2, 2]
    assert set(rows["tokens_per_s_basis"]) == {"device"}


def test_ort_genai_on_directml():
    text = "Batch Size,Prompt Length,Tokens Generated,Max Length,1st Token Generation Latency (ms),2nd+ Token Generation Latency (ms),2nd+ Token Generation Throughput (tps)\n1,16,256,272,40.0,25.0,40.0\n"
    rows = read(text).rows
    assert rows["ttft_s"].tolist()[0] == 0.04
    assert rows["tokens_per_s"].tolist() == [pytest.approx(400), 40]


def test_executorch():
    model = {"name": "m", "backend": "xnnpack", "quantization": "8da4w"}
    found = read(
        [
            {"benchmarkModel": model, "metric": "token_per_sec", "actual": 20.0, "target": 0},
            {"benchmarkModel": model, "metric": "load_status", "actual": 1, "target": 1},
        ]
    )
    row = found.rows.iloc[0]
    assert (row["tokens_per_s"], row["tpot_s"], row["weight_format"]) == (20, 0.05, "8da4w")
    assert "load_status" in found.skipped["why"].tolist()[0]


def latency(mean, **more):
    return {"latency": {"unit": "s", "mean": mean, "count": 10, "stdev": mean / 100}, **more}


REPORT = {
    "load_model": latency(35.0), "prefill": latency(0.06, throughput={"unit": "samples/s", "value": 16.67}),
    "decode": latency(2.52, throughput={"unit": "tokens/s", "value": 25.0}),
}  # fmt: skip
CONFIG = {
    "scenario": {"input_shapes": {"batch_size": 2, "sequence_length": 64}, "generate_kwargs": {"max_new_tokens": 64}}, "launcher": {},
    "backend": {"name": "pytorch", "model": "m", "device": "cuda", "device_ids": "0,1", "torch_dtype": "bfloat16"},
    "environment": {"gpu": ["Test GPU", "Test GPU"], "cpu": "c", "optimum_benchmark_version": "0.6"},
}  # fmt: skip


def test_optimum_report_alone_asks_for_its_configuration():
    rows = read(REPORT).rows
    assert rows["tokens_per_s"].isna().tolist() == [True, False]
    assert rows["ttft_s"].tolist()[0] == 0.06
    assert "benchmark_config.json" in rows["note"].tolist()[0]


def test_optimum_configuration_alone_has_no_results():
    assert "without results" in read(CONFIG).skipped["why"].tolist()[0]


def test_optimum_report_and_configuration_of_one_folder_are_joined():
    files = [
        (f"run/{name}.json", json.dumps(value).encode())
        for name, value in (("benchmark_config", CONFIG), ("benchmark_report", REPORT))
    ]
    rows = read_many(files).rows
    assert rows["tokens_per_s"].tolist() == [pytest.approx(16.67 * 64), 25]
    assert rows["tpot_s"].tolist()[1] == pytest.approx(2 / 25)
    assert rows["depth_tokens"].tolist() == [0, 64]
    assert rows["device_count"].tolist() == [2, 2]
    assert set(rows["device"]) == {"Test GPU"}
    apart = read_many(
        [(f"{at}/{name.rpartition('/')[2]}", content) for at, (name, content) in enumerate(files)]
    )
    assert apart.rows["batch"].isna().all()


OPTIMUM_MD = """\
# prefill:

## latency:

| metric | value        | unit   |
| :----- | -----------: |------: |
| count  |      10 |      - |
| mean   |     0.183376 | s |
| stdev  |    0.000733 | s |
## throughput:

| metric     |     value   |   unit |
| :--------- | --------:   | -----: |
| throughput | 5.45 | samples/s |
# decode:

## latency:

| metric | value        | unit   |
| :----- | -----------: |------: |
| mean   |     2.153275 | s |
## throughput:

| metric     |     value   |   unit |
| :--------- | --------:   | -----: |
| throughput | 29.26 | tokens/s |
"""


def test_optimum_markdown():
    rows = read(OPTIMUM_MD).rows
    assert rows["ttft_s"].tolist()[0] == pytest.approx(0.183376)
    assert rows["tokens_per_s"].tolist()[1] == 29.26


def test_optimum_leaderboard_is_the_same_tree_with_dots():
    text = "config.backend.model,config.scenario.input_shapes.batch_size,config.scenario.input_shapes.sequence_length,report.prefill.latency.mean,report.prefill.throughput.value,report.decode.latency.mean,report.decode.throughput.value\nm,1,256,0.05,20,2,30\n"
    rows = read(text).rows
    assert rows["tokens_per_s"].tolist() == [pytest.approx(5120), 30]
    assert set(rows["tokens_per_s_basis"]) == {"sequence"}


def test_the_projects_own_harness():
    figures = {
        "ttft_p50_ms": 100.0,
        "ttft_p95_ms": 150.0,
        "tpot_p50_ms": 10.0,
        "tpot_p95_ms": None,
        "tokens_per_s": 90.0,
        "requests_timed": 4,
        "tokens": 400,
        "empty_streams": 0,
    }
    row = read(figures).rows.iloc[0].dropna()
    assert (row["ttft_s"], row["ttft_p95_s"], row["tpot_s"], row["output_tokens"], row["statistic"]) == (
        0.1,
        0.15,
        0.01,
        100,
        "p50",
    )
    rows = read("request,tokens,ttft_ms,tpot_ms,e2e_ms\n1,50,100,10,590\n2,1,90,,90\n").rows
    assert rows["tpot_s"].isna().tolist() == [False, True]


LITERT = """INFO: made a delegate
litert_lm_main --backend=cpu --model_path=/data/gemma-3n-E2B-it-int4.litertlm --input_prompt=x
BenchmarkInfo:
  Init Phases (1):
    - Init Total: 500.00 ms
    Total init time: 500.00 ms
--------------------------------------------------
  Time to first token: 2.40 s
--------------------------------------------------
  Prefill Turns (Total 2 turns):
    Prefill Turn 1: Processed 20 tokens in 2.31s duration.
      Prefill Speed: 8.66 tokens/sec.
    Prefill Turn 2: Processed 10 tokens in 500ms duration.
      Prefill Speed: 20.00 tokens/sec.
--------------------------------------------------
  Decode Turns (Total 2 turns):
    Decode Turn 1: Processed 60 tokens in 5.4s duration.
      Decode Speed: 11.11 tokens/sec.
    Decode Turn 2: Processed 0 tokens in 0 duration.
      Decode Speed: nan tokens/sec.
--------------------------------------------------
"""


def test_litert_turns_lie_on_top_of_each_other():
    found = read(LITERT)
    rows = found.rows
    assert found.format == "LiteRT-LM text"
    assert rows["phase"].tolist() == ["prefill", "decode", "prefill"]
    assert rows["depth_tokens"].tolist() == [0, 20, 80]
    assert rows["tokens_per_s"].tolist() == pytest.approx([20 / 2.31, 60 / 5.4, 20])
    assert rows["ttft_s"].tolist() == pytest.approx([2.4, float("nan"), float("nan")], nan_ok=True)
    assert set(rows["weight_format"]) == {"INT4"}
    assert set(rows["backend"]) == {"LiteRT cpu"}
    assert rows["ttft_s"].iloc[0] == pytest.approx(2.31 + rows["tpot_s"].iloc[1], abs=0.01)
    assert found.skipped["row"].tolist() == ["run 1, turn 2"]


def test_litert_turns_of_old_versions_have_speeds_alone():
    text = "BenchmarkInfo:\n  Prefill Turns (Total: 1):\n    Prefill Turn 1:\n      Prefill Speed: 500.00 tokens/sec.\n"
    rows = read(
        text + "  Decode Turns (Total: 1):\n    Decode Turn 1:\n      Decode Speed: 200.00 tokens/sec.\n"
    ).rows
    assert rows["tokens_per_s"].tolist() == [500, 200]
    assert rows["prompt_tokens"].isna().tolist() == [True, False]


LITERT_CLI = """Benchmarking model: gemma (/data/gemma-4-q8_0.litertlm)
Backend                    : gpu
Number of tokens in prefill: 1024
Number of tokens in decode : 256
Max number of tokens       : 4096
Cache                      : disk
Speculative decoding       : {}
Running warmup..
Running iteration 1 of 1..
----- Results -----
Prefill speed:        1220.50 tokens/s
Decode speed:         40.00 tokens/s
Init time:            7.6006 s
Time to first token:  0.8640 s
"""


def test_litert_benchmark_command_with_its_lengths():
    rows = read(LITERT_CLI.format("auto") + LITERT_CLI.format("true")).rows
    assert rows["row"].tolist() == ["run 1", "run 1", "run 2", "run 2"]
    prefill, decode = (rows.iloc[at].dropna().to_dict() for at in (0, 1))
    assert (prefill["tokens_per_s"], prefill["prompt_tokens"], prefill["ttft_s"]) == (1220.5, 1024, 0.864)
    assert (decode["tpot_s"], decode["depth_tokens"], decode["output_tokens"]) == (0.025, 1024, 256)
    assert prefill["note"] == "the cache was set to 4096 tokens"
    assert "speculative" in str(rows["note"].iloc[2])


def test_speeds_that_another_program_prints_are_not_taken_for_litert():
    with pytest.raises(UnreadableFile):
        read("Prefill speed:   187.9 tok/s\nDecode speed:   119.9 tok/s\n")


def test_mlc_chat_stats_old_and_new():
    text = "Hello: hi\nprefill: 48.3 tok/s, decode: 13.2 tok/s\n\nmore\n"
    text += "prefill: 96.0 tok/s, decode: 12.5 tok/s\nprompt tokens: 24, completion tokens: 50, total tokens: 74\n"
    rows = read(text).rows
    assert rows["tokens_per_s"].tolist() == [48.3, 13.2, 96, 12.5]
    assert rows["prompt_tokens"].tolist() == pytest.approx([float("nan"), 0, 24, 0], nan_ok=True)
    assert rows["depth_tokens"].iloc[3] == 24
    assert set(rows["tokens_per_s_basis"]) == {"sequence"}


def test_mlc_usage_field_tells_cached_prompt_tokens():
    answer = {
        "model": "Llama-3-8B-Instruct-q4f16_1-MLC",
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "extra": {
                "prefill_tokens": 40,
                "prefill_tokens_per_s": 200.0,
                "decode_tokens_per_s": 50.0,
                "ttft_s": 0.2,
            },
        },
    }
    prefill, decode = (row.dropna().to_dict() for _, row in read(answer).rows.iterrows())
    assert (prefill["prompt_tokens"], prefill["depth_tokens"], prefill["cached_tokens"]) == (40, 60, 60)
    assert prefill["tokens_per_s"] * prefill["ttft_s"] == 40
    assert (decode["tpot_s"], decode["depth_tokens"], decode["output_tokens"]) == (0.02, 100, 30)


def mlc_section(title, mean):
    return f"{f' {title} ':-^50}\nMean:          {mean}\nP50:    {mean}\nP95:      {mean}\nP99:   {mean}\n"


def test_mlc_bench_console_in_milliseconds_and_its_gaps_that_hold_the_first_token():
    text = f"{' Benchmark Result ':=^50}\n" + "".join(
        f"{name:<40} {value:<10}\n"
        for name, value in {
            "Total requests:": 100, "Completed requests:": 98, "Duration (s):": 9.0, "Num GPUs:": 2,
            "Output token throughput (tok/s):": 1000.0, "Output token throughput per GPU (tok/s):": 500.0,
        }.items()
    )  # fmt: skip
    text += mlc_section("Time to First Token (TTFT, ms)", 70.0)
    text += mlc_section("Time per Output Token (TPOT, ms)", 10.0)
    text += mlc_section("Inter-Token Latency (ms)", 10.6)
    text += mlc_section("End-to-End Latency (ms)", 1060.0)
    text += mlc_section("Input Tokens", 512) + mlc_section("Output Tokens", 100) + "=" * 50 + "\n"
    text += f"{' Benchmark Result (server side) ':=^50}\n" + mlc_section(
        "Time to First Token (TTFT, ms)", 60.0
    )
    found = read(text)
    row = found.rows.iloc[0].dropna().to_dict()
    expected = {
        "device_count": 2, "tokens_per_s": 1000, "tokens_per_s_basis": "device", "ttft_s": 0.07, "tpot_s": 0.01, "e2e_s": 1.06,
        "requests": 98, "failures": 2, "prompt_tokens": 512, "output_tokens": 100, "ttft_p95_s": 0.07,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "itl_s" not in row
    assert len(found.rows) == 1
    assert found.skipped["why"].tolist() == ["the same requests by the server's clock"]


def test_a_prompt_that_an_old_ollama_did_not_count_leaves_the_depth_open():
    rows = read(OLLAMA | {"prompt_eval_count": 0}).rows
    assert rows["phase"].tolist() == ["decode"]
    assert rows["depth_tokens"].isna().all()
