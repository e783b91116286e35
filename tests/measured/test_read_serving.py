"""Serving benchmarks: whose throughput, which tokens, which clock, and failures that pass for successes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark, read_many
from tests.measured.test_read_table import assert_schema


def read(content):
    text = content if isinstance(content, str) else json.dumps(content)
    found = read_benchmark("f", text.encode())
    assert_schema(found.rows)
    return found


def first(found):
    return found.rows.iloc[0].dropna().to_dict()


VLLM = {
    "date": "20250914-020903", "endpoint_type": "openai", "backend": "vllm", "label": None, "model_id": "o/test-8b", "tokenizer_id": "o/test-8b",
    "num_prompts": 100, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8, "duration": 10.0, "completed": 100, "failed": 0,
    "total_input_tokens": 12800, "total_output_tokens": 6400, "request_throughput": 10.0, "output_throughput": 640.0,
    "total_token_throughput": 1920.0, "mean_ttft_ms": 120.0, "median_ttft_ms": 100.0, "p99_ttft_ms": 400.0, "mean_tpot_ms": 10.0,
    "median_tpot_ms": 9.5, "p99_tpot_ms": 14.0, "mean_itl_ms": 23.0, "median_itl_ms": 20.0, "p99_itl_ms": 90.0,
}  # fmt: skip


def test_vllm_serve():
    row = first(read(VLLM))
    expected = {
        "phase": "serving", "tool": "vllm bench serve", "model": "o/test-8b", "backend": "vllm", "concurrency": 8, "prompt_tokens": 128,
        "output_tokens": 64, "tokens_per_s": 640, "tokens_per_s_basis": "device", "ttft_s": 0.12, "tpot_s": 0.01, "itl_s": 0.023,
        "statistic": "mean", "ttft_p50_s": 0.1, "ttft_p99_s": 0.4, "tpot_p99_s": 0.014, "requests": 100, "failures": 0, "clock": "client",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert str(row["timestamp"]) == "2025-09-14 02:09:03"
    assert "device" not in row
    assert "chunks" in row["conversion"]


def test_vllm_without_a_cap_has_no_concurrency_and_names_its_rate():
    row = first(read(VLLM | {"max_concurrency": None, "request_rate": 16.0}))
    assert "concurrency" not in row
    assert "16.0 requests a second" in row["note"]


def test_vllm_metadata_and_speculation():
    more = {
        "gpu": "Test GPU", "vllm_version": "0.19.0", "tensor_parallel_size": 4, "spec_decode_acceptance_rate": 44.45,
        "spec_decode_acceptance_length": 2.33, "spec_decode_num_drafts": 1000, "spec_decode_num_draft_tokens": 3000,
    }  # fmt: skip
    row = first(read(VLLM | more))
    expected = {
        "device": "Test GPU",
        "device_count": 4,
        "acceptance": 0.4445,
        "tokens_per_pass": 2.33,
        "draft_tokens": 3,
        "tool_version": "0.19.0",
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_when_nothing_completed_the_zeros_mean_nothing():
    zeros = {name: 0.0 for name in VLLM if name.endswith("_ms")}
    found = read([VLLM, VLLM | zeros | {"completed": 0, "failed": 100}])
    assert len(found.rows) == 1
    assert "all 100 requests failed" in found.skipped["why"].tolist()[0]


def test_silent_failures_are_counted_and_left_out_of_the_ttft():
    lists = {
        "output_lens": [10, 0, 0, 30],
        "ttfts": [0.2, 0.0, 0.0, 0.4],
        "errors": ["", "", "boom", ""],
        "itls": [[0.1]] * 4,
    }
    found = read(
        VLLM | lists | {"completed": 4, "num_prompts": 4, "total_output_tokens": 40, "mean_ttft_ms": 150.0}
    )
    row = first(found)
    assert row["requests"] == 3
    assert row["failures"] == 1
    assert row["ttft_s"] == pytest.approx(0.3)
    assert row["ttft_p50_s"] == pytest.approx(0.3)
    assert "brought no token" in found.warnings[0]


def test_vllm_failures_of_older_versions_follow_from_counts():
    older = {name: value for name, value in VLLM.items() if name != "failed"}
    assert first(read(older | {"completed": 90}))["failures"] == 10


def test_vllm_like_keys_in_seconds():
    seconds = {name.removesuffix("_ms"): value / 1000 for name, value in VLLM.items() if name.endswith("_ms")}
    others = {name: value for name, value in VLLM.items() if not name.endswith("_ms")}
    row = first(read(others | seconds))
    assert row["ttft_s"] == pytest.approx(0.12)
    assert row["tpot_s"] == pytest.approx(0.01)


def test_medians_alone_are_said_to_be_medians():
    only = {name: value for name, value in VLLM.items() if not name.startswith("mean_")}
    row = first(read(only))
    assert row["statistic"] == "p50"
    assert row["ttft_s"] == pytest.approx(0.1)


def test_a_warm_up_of_a_sweep_is_left_out():
    found = read([VLLM | {"run_number": -1}, VLLM | {"run_number": 0}])
    assert found.skipped["why"].tolist() == ["a warm-up run of a sweep"]


def test_vllm_pytorch_layout():
    def metric(name, value):
        extra = {"duration": 10.0, "completed": 100, "output_throughput": 800.0}
        return {
            "benchmark": {
                "name": "vLLM benchmark",
                "extra_info": {"args": {"model": "m", "max_concurrency": 8, "request_rate": "inf"}},
            },
            "model": {"name": "m"},
            "metric": {"name": name, "benchmark_values": [value], "extra_info": extra},
        }

    row = first(read([metric("mean_tpot_ms", 10.0), metric("mean_ttft_ms", 50.0)]))
    expected = {"model": "m", "concurrency": 8, "tpot_s": 0.01, "ttft_s": 0.05, "tokens_per_s": 800}
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_vllm_latency_is_a_whole_batch_of_unknown_size():
    row = first(read({"avg_latency": 2.0, "latencies": [1.9, 2.1], "percentiles": {"50": 2.0}}))
    assert row["phase"] == "mixed"
    assert row["e2e_s"] == 2.0
    assert row["repeats"] == 2
    assert "tokens_per_s" not in row


def test_vllm_throughput_counts_prompts_too():
    row = first(
        read(
            {
                "elapsed_time": 10.0,
                "num_requests": 4,
                "total_num_tokens": 8000,
                "requests_per_second": 0.4,
                "tokens_per_second": 800.0,
            }
        )
    )
    assert row["tokens_per_s_basis"] == "mixed"
    assert row["phase"] == "mixed"
    assert "2000 tokens a request" in row["note"]


def test_vllm_throughput_pasted_into_a_sheet():
    text = "gpu,input_len,output_len,batch_size,elapsed_time,num_requests,total_num_tokens,requests_per_second,tokens_per_second\n8xH100,128,64,4,10,4,768,0.4,76.8\n"
    row = first(read(text))
    expected = {
        "tokens_per_s_basis": "mixed",
        "device": "H100",
        "device_count": 8,
        "prompt_tokens": 128,
        "batch": 4,
    }
    assert {name: row[name] for name in expected} == expected


CONSOLE = """\
Namespace(backend='vllm', model='o/test-8b', max_concurrency=32)
 50%|#####     | 100/200 [00:19<00:06, 13.68it/s]\r100%|##########| 200/200 [00:28<00:00,  7.10it/s]
============ Serving Benchmark Result ============
Successful requests:                     200
Maximum request concurrency:             32
Benchmark duration (s):                  28.16
Total input tokens:                      98,504
Total generated tokens:                  51200
Request throughput (req/s):              7.10
Output token throughput (tok/s):         1818.47
Peak output token throughput (tok/s):    1824.00
Total Token throughput (tok/s):          5317.03
---------------Time to First Token----------------
Mean TTFT (ms):                          1136.12
Median TTFT (ms):                        167.63
P99 TTFT (ms):                           7002.83
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          12.12
P99 TPOT (ms):                           16.66
---------------Inter-token Latency----------------
Mean ITL (ms):                           28.18
---------------Speculative Decoding---------------
Acceptance rate (%):                     44.45
Acceptance length:                       2.33
Drafts:                                  21936
Draft tokens:                            65808
==================================================
"""


def test_console_reports_one_after_another():
    found = read(CONSOLE + "\nother\n" + CONSOLE.replace("1818.47", "900.5"))
    assert found.rows["row"].tolist() == ["report 1", "report 2"]
    assert found.rows["tokens_per_s"].tolist() == [1818.47, 900.5]
    row = first(found)
    expected = {
        "model": "o/test-8b", "concurrency": 32, "prompt_tokens": 98504 / 200, "output_tokens": 256, "tpot_s": 0.01212, "itl_s": 0.02818,
        "acceptance": 0.4445, "tokens_per_pass": 2.33, "draft_tokens": 3, "requests": 200,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)


SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": None, "random_input_len": 1024,
    "server_info": {"model_path": "o/test-8b", "tp_size": 2, "quantization": "fp8", "version": "0.5.9"}, "duration": 10.0, "completed": 50,
    "total_input_tokens": 5000, "total_output_tokens": 1600, "total_output_tokens_retokenized": 1590, "request_throughput": 5.0,
    "input_throughput": 500.0, "output_throughput": 160.0, "mean_e2e_latency_ms": 500.0, "mean_ttft_ms": 50.0, "median_ttft_ms": 45.0,
    "p99_ttft_ms": 90.0, "mean_tpot_ms": 12.0, "mean_itl_ms": 14.0, "concurrency": 3.8, "accept_length": 2.5, "cached_tokens": 1000,
}  # fmt: skip


def test_sglang_serving():
    found = read(SGLANG)
    row = first(found)
    expected = {
        "tool": "sglang bench_serving", "model": "o/test-8b", "device_count": 2, "weight_format": "fp8", "concurrency": 3.8, "prompt_tokens": 100,
        "output_tokens": 32, "tokens_per_s": 160, "ttft_s": 0.05, "tpot_s": 0.012, "e2e_s": 0.5, "tokens_per_pass": 2.5, "cached_tokens": 20,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "concurrency as measured" in row["note"]
    assert "Infinity" in found.warnings[0]


def test_sglang_tokens_that_never_came_back_are_told():
    assert (
        "speeds count the former" in first(read(SGLANG | {"total_output_tokens_retokenized": 4000}))["note"]
    )


def test_sglang_one_batch():
    run = {
        "run_name": "a", "batch_size": 4, "input_len": 256, "output_len": 32, "prefill_latency": 0.1, "prefill_throughput": 10240.0,
        "median_decode_latency": 0.02, "median_decode_throughput": 200.0, "total_latency": 0.8, "overall_throughput": 1440.0,
    }  # fmt: skip
    rows = read(run).rows
    assert rows["phase"].tolist() == ["prefill", "decode"]
    assert rows["tokens_per_s"].tolist() == [10240, 200]
    assert rows["tpot_s"].tolist()[1] == 0.02
    assert rows["depth_tokens"].tolist() == [0, 256]
    assert set(rows["tokens_per_s_basis"]) == {"device"}


def test_sglang_one_batch_server_and_offline():
    server = {
        "run_name": "a",
        "batch_size": 4,
        "input_len": 256,
        "output_len": 32,
        "latency": 1.0,
        "output_throughput": 128.0,
        "last_ttft": 0.2,
        "acc_length": 1.5,
    }
    offline = {
        "total_latency": 10.0, "successful_requests": 20, "total_input_tokens": 2000, "total_output_tokens": 400, "request_throughput": 2.0,
        "input_throughput": 200.0, "output_throughput": 40.0, "total_throughput": 240.0,
    }  # fmt: skip
    assert first(read(server))["ttft_s"] == 0.2
    row = first(read(offline))
    assert row["phase"] == "mixed"
    assert row["prompt_tokens"] == 100


GENAI_CSV = (
    "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\r\n"
    'Time To First Token (ms),"2,427.47",77.79,"10,167.78","10,043.29","9,526.02","8,358.80","3,287.36",957.65,523.07\r\n'
    "Inter Token Latency (ms),104.75,43.07,166.61,127.73,119.61,118.67,117.34,111.93,98.91\r\n"
    'Request Latency (ms),"22,196.26",364.47,"75,554.98","64,640.61","52,645.58",N/A,N/A,N/A,N/A\r\n'
    "Output Sequence Length (tokens),199.79,2.00,780.00,684.88,518.55,420.40,306.25,172.50,42.00\r\n"
    "\r\n"
    "Metric,Value\r\n"
    'Output Token Throughput (tokens/sec),"1,198.72"\r\n'
    "Request Count (count),604.00\r\n"
)


def test_genai_perf_csv():
    row = first(read(GENAI_CSV))
    expected = {
        "tool": "genai-perf", "ttft_s": 2.42747, "tpot_s": 0.10475, "e2e_s": 22.19626, "ttft_p50_s": 0.95765, "ttft_p95_s": 9.52602,
        "tpot_p99_s": 0.12773, "tokens_per_s": 1198.72, "tokens_per_s_basis": "device", "output_tokens": 199.79, "requests": 604,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "stands under TPOT" in row["conversion"]


AIPERF_CSV = """\
Metric,avg,sum,min,max,p50,p95,p99,std
Time to First Token (ms),100.0,1000.0,90,110,99.0,108.0,109.0,5.0
Inter Token Latency (ms),10.0,100.0,9,11,9.9,10.8,10.9,0.5
Inter Chunk Latency (ms),25.0,100.0,9,11,9.9,10.8,10.9,0.5
Effective Concurrency,3.7,,0,5,4,5,5,1.0

Metric,Value
Error Request Count,3
Output Token Throughput (tokens/sec),395.5


Endpoint,GPU_Index,GPU_Name,Metric,avg
localhost,0,Test GPU,power,100
"""


AIPERF_CSV_WITHOUT_SUM = """\
Metric,avg,min,max,p50,p95,p99,std
Time to First Token (ms),100.0,90,110,99.0,108.0,109.0,5.0
Inter Token Latency (ms),20.0,9,11,9.9,10.8,10.9,0.5
"""


def test_aiperf_csv_two_exports_of_different_columns_in_one_file():
    found = read(AIPERF_CSV + "\n" + AIPERF_CSV_WITHOUT_SUM)
    assert found.rows["row"].tolist() == ["run 1", "run 2"]
    assert set(found.rows["tool"]) == {"aiperf"}
    assert found.rows["ttft_p95_s"].tolist() == [0.108, 0.108]
    assert found.rows["tpot_s"].tolist() == [0.01, 0.02]
    row = first(found)
    expected = {"itl_s": 0.025, "concurrency": 3.7, "failures": 3, "tokens_per_s": 395.5}
    assert {name: row[name] for name in expected} == pytest.approx(expected)


GPU_TABLE = """

Endpoint,GPU_Index,GPU_Name,GPU_UUID,Platform,Metric,avg,min,max
h:9400,0,Test GPU,GPU-a,nvidia,GPU Power Usage (W),300.1,90,350
h:9400,0,Test GPU,GPU-a,nvidia,NVIDIA GPU Utilization (%),71.0,0,99
h:9400,1,Test GPU,GPU-b,nvidia,NVIDIA GPU Utilization (%),69.5,0,99
h:9400,2,Other GPU,GPU-c,nvidia,NVIDIA GPU Utilization (%),0.00,0,0
h:9400,2,Other GPU,GPU-c,nvidia,too few cells
"""


def test_aiperf_csv_tells_the_gpus_that_were_at_work():
    metrics = AIPERF_CSV[: AIPERF_CSV.index("Endpoint")]
    rows = read(metrics + GPU_TABLE + "\n" + AIPERF_CSV_WITHOUT_SUM).rows
    assert rows["device"].tolist()[0] == "Test GPU"
    assert rows["device_count"].tolist()[0] == 2
    assert "2 GPUs at work" in rows["note"].tolist()[0]
    assert rows["device"].isna().tolist() == [False, True]
    mixed = read(metrics + GPU_TABLE.replace("0.00,0,0", "5.00,0,9")).rows
    assert mixed["device"].isna().all()
    assert mixed["device_count"].isna().all()


def test_aiperf_json_tells_the_gpus_that_were_at_work():
    def gpu(uuid: str, busy: float) -> dict[str, object]:
        return {
            "gpu_uuid": uuid,
            "gpu_name": "Test GPU",
            "metrics": {"gpu_utilization": {"avg": busy, "unit": "%"}},
        }

    export = {
        "aiperf_version": "0.8.0",
        "request_latency": {"unit": "ms", "avg": 2000},
        "inter_token_latency": {"unit": "ms", "avg": 10},
        "telemetry_data": {
            "endpoints": {"h:9400": {"gpus": {"gpu_0": gpu("a", 80.0), "gpu_1": gpu("b", 0.0)}}, "x": None}
        },
    }
    row = first(read(export))
    assert (row["device"], row["device_count"]) == ("Test GPU", 1)
    assert "at work" not in str(row.get("note", ""))


def test_aiperf_json_and_genai_perf_json():
    metrics = {
        "request_latency": {"unit": "ms", "avg": 1000.0, "p50": 900.0}, "time_to_first_token": {"unit": "ms", "avg": 100.0, "p95": 150.0},
        "inter_token_latency": {"unit": "ms", "avg": 10.0}, "output_token_throughput": {"unit": "tokens/sec", "avg": 50.0},
        "request_count": {"unit": "requests", "avg": 20.0},
    }  # fmt: skip
    genai = metrics | {
        "input_config": {"model_names": ["m"], "perf_analyzer": {"stimulus": {"concurrency": 2}}}
    }
    aiperf = metrics | {
        "schema_version": "1.2", "aiperf_version": "0.8.0", "start_time": "2026-07-09T09:15:47.8",
        "input_config": {"endpoint": {"model_names": ["n"]}, "loadgen": {"concurrency": 4}},
    }  # fmt: skip
    early = {
        "records": {
            "ttft": {"unit": "ms", "avg": 100.0, "tag": "ttft"},
            "request_latency": {"unit": "ms", "avg": 1000.0},
        }
    }
    assert {name: first(read(genai))[name] for name in ("tool", "model", "concurrency", "ttft_s")} == {
        "tool": "genai-perf",
        "model": "m",
        "concurrency": 2,
        "ttft_s": 0.1,
    }
    assert {name: first(read(aiperf))[name] for name in ("tool", "model", "concurrency", "tool_version")} == {
        "tool": "aiperf",
        "model": "n",
        "concurrency": 4,
        "tool_version": "0.8.0",
    }
    assert first(read(early))["ttft_s"] == 0.1


def test_aiperf_lines_leave_warm_up_and_failures_out():
    def line(phase, error=None, **extra):
        metrics = {
            "input_sequence_length": {"value": 100, "unit": "tokens"}, "output_sequence_length": {"value": 3, "unit": "tokens"},
            "time_to_first_token": {"value": 200.0, "unit": "ms"}, "inter_token_latency": {"value": 12.0, "unit": "ms"},
            "inter_chunk_latency": {"value": [20.0, 4.0], "unit": "ms"}, "output_token_throughput_per_user": {"value": 83.3, "unit": "tokens/sec/user"},
        }  # fmt: skip
        return json.dumps(
            {
                "metadata": {
                    "benchmark_phase": phase,
                    "request_start_ns": 1,
                    "was_cancelled": False,
                    **extra,
                },
                "metrics": metrics,
                "error": error,
            }
        )

    found = read(
        "\n".join(
            [
                line("warmup"),
                line("profiling"),
                line("profiling", error={"code": 500}),
                line("profiling", was_cancelled=True),
            ]
        )
    )
    assert found.rows["row"].tolist() == ["line 2"]
    assert found.rows["itl_s"].tolist() == [0.012]
    assert found.rows["tokens_per_s_basis"].tolist() == ["sequence"]
    assert len(found.skipped) == 3


BOX = """\
                         NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━━━┓
┃                               Metric ┃       avg ┃      p50 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━━┩
│             Time to First Token (ms) │ 10,259.11 │ 2,148.04 │
│             Inter Token Latency (ms) │     13.21 │    13.04 │
│ Output Token Throughput (tokens/sec) │     58.68 │      N/A │
│                      Request Latency │ 25,463.40 │ 9,408.38 │
│                                 (ms) │           │          │
└──────────────────────────────────────┴───────────┴──────────┘
"""


def test_the_box_that_aiperf_draws():
    row = first(read(BOX))
    expected = {
        "ttft_s": 10.25911,
        "tpot_s": 0.01321,
        "tokens_per_s": 58.68,
        "e2e_s": 25.4634,
        "ttft_p50_s": 2.14804,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_aiperf_server_metrics_are_refused_with_what_would_be_right():
    found = read(
        "# AIPerf Server Metrics Export (CSV)\n# x\nEndpoint,Type,Metric,Unit,avg\nlocalhost,gauge,x,ratio,0.5\n"
    )
    assert "profile_export_aiperf" in found.skipped["why"].tolist()[0]


def distribution(mean):
    return {
        "successful": {"mean": mean, "median": mean * 0.9, "percentiles": {"p95": mean * 2, "p99": mean * 3}},
        "errored": {"mean": 0.0},
    }


GUIDE_METRICS = {
    "request_latency": distribution(1.0), "request_concurrency": distribution(3.9), "prompt_token_count": distribution(64.0),
    "output_token_count": distribution(32.0), "time_to_first_token_ms": distribution(25.0), "time_per_output_token_ms": distribution(31.0),
    "inter_token_latency_ms": distribution(24.0), "output_tokens_per_second": distribution(120.0),
}  # fmt: skip


@pytest.mark.parametrize(
    "report",
    [
        {
            "benchmarks": [
                {
                    "run_stats": {},
                    "worker": {"backend_model": "m"},
                    "metrics": GUIDE_METRICS,
                    "start_time": 1795966394.5,
                    "request_totals": {"successful": 46, "errored": 2},
                }
            ]
        },
        {
            "metadata": {"version": 2, "guidellm_version": "0.8.1"},
            "benchmarks": [
                {
                    "config": {"backend": {"model": "m"}},
                    "scheduler_metrics": {},
                    "start_time": 1795966394.5,
                    "metrics": {**GUIDE_METRICS, "request_totals": {"successful": 46, "errored": 2}},
                }
            ],
        },
    ],
)
def test_guidellm_tpot_leaves_the_first_token_out(report):
    row = first(read(report))
    expected = {
        "model": "m", "ttft_s": 0.025, "tpot_s": 0.024, "e2e_s": 1.0, "ttft_p95_s": 0.05, "tpot_p99_s": 0.072, "concurrency": 3.9,
        "prompt_tokens": 64, "output_tokens": 32, "tokens_per_s": 120, "requests": 46, "failures": 2,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "includes it" in row["conversion"]
    assert row["timestamp"].year == 2026


def test_guidellm_runs_without_success_are_left_out():
    report = {
        "benchmarks": [{"metrics": {**GUIDE_METRICS, "request_totals": {"successful": 0, "errored": 9}}}]
    }
    assert "no request succeeded" in read(report).skipped["why"].tolist()[0]


def test_guidellm_csv_with_one_header_row():
    listed = '"[1, 2, 3, 4, 5, 6, 7, 8, 9.5, 11, 12]"'
    names = [
        "Type", "Run Id", "Successful Requests", "Errored Requests", "Successful Request concurrency mean", "Successful Request latency mean",
        "Successful Prompt token count mean", "Successful Output token count mean", "Successful Time to first token ms mean",
        "Successful Time to first token ms median", '"Successful Time to first token ms [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"',
        "Successful Inter token latency ms mean", "Successful Output tokens per second mean",
    ]  # fmt: skip
    values = ["generative", "x", "46", "1", "3.9", "1.0", "64", "32", "25.0", "24.0", listed, "24.0", "120"]
    row = first(read(",".join(names) + "\n" + ",".join(values) + "\n"))
    expected = {
        "ttft_s": 0.025,
        "ttft_p95_s": 0.0095,
        "ttft_p99_s": 0.011,
        "tpot_s": 0.024,
        "tokens_per_s": 120,
        "failures": 1,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def guide_grouped(rows):
    head = [
        ("Run Info", "Run ID", ""), ("Run Info", "Backend", ""), ("Request Counts", "Successful", ""), ("Request Counts", "Errored", ""),
        ("Request Latency", "Successful Sec", "Mean"), ("Time to First Token", "Successful ms", "Mean"),
        ("Time to First Token", "Successful ms", "Percentiles"), ("Inter Token Latency", "Successful ms", "Mean"),
        ("Server Throughput", "Successful Concurrency", "Mean"), ("Token Throughput", "Successful Output Tokens/Sec", "Mean"),
    ]  # fmt: skip
    lines = [",".join(column[at] for column in head) for at in range(3)]
    return "\n".join([*lines, *rows]) + "\n"


def test_guidellm_csv_with_three_header_rows_and_a_row_too_wide():
    good = 'r,"{""model"": ""m""}",46,1,1.0,25.0,"[1, 2, 3, 4, 5, 6, 7, 8, 9.5, 11, 12]",24.0,3.9,120'
    found = read(guide_grouped([good, good + ",1,2"]))
    row = first(found)
    expected = {
        "model": "m",
        "ttft_s": 0.025,
        "ttft_p99_s": 0.011,
        "tpot_s": 0.024,
        "concurrency": 3.9,
        "tokens_per_s": 120,
        "requests": 46,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert found.skipped["why"].tolist()[0].startswith("12 values under 10 column names")


def test_inference_perf_and_its_server_side_view():
    tree = {
        "request_latency": {"mean": 0.5, "median": 0.4}, "time_to_first_token": {"mean": 0.04, "median": 0.03, "p95": 0.05, "p99": 0.06},
        "time_per_output_token": {"mean": 0.004}, "inter_token_latency": {"mean": 0.009},
    }  # fmt: skip
    client = {
        "load_summary": {"count": 60, "requested_rate": 1.0, "achieved_rate": 0.9, "schedule_delay": {"mean": 4.7}},
        "successes": {"count": 60, "latency": tree, "throughput": {"output_tokens_per_sec": 64.0}, "prompt_len": {"mean": 200}, "output_len": {"mean": 62}},
        "failures": {"count": 2},
    }  # fmt: skip
    row = first(read(client))
    expected = {
        "ttft_s": 0.04,
        "tpot_s": 0.004,
        "itl_s": 0.009,
        "tokens_per_s": 64,
        "prompt_tokens": 200,
        "failures": 2,
        "clock": "client",
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "4.7 s late" in row["note"]
    server = {
        "load_summary": {},
        "successes": {"count": 9, **tree, "output_len": {"mean": 62, "rate": 50.0}},
        "failures": {},
    }
    assert {name: first(read(server))[name] for name in ("clock", "tokens_per_s")} == {
        "clock": "server",
        "tokens_per_s": 50,
    }


def test_llmperf_summary_makes_its_own_tpot():
    flat = {
        "version": "2023-08-31", "model": "m", "num_concurrent_requests": 5, "results_ttft_s_mean": 0.5, "results_ttft_s_quantiles_p50": 0.4,
        "results_ttft_s_min": "0.1", "results_end_to_end_latency_s_mean": 2.5, "results_number_output_tokens_mean": 101,
        "results_number_input_tokens_mean": 550, "results_inter_token_latency_s_mean": 0.025, "results_num_requests_started": 150,
        "results_number_errors": 10, "results_error_code_frequency": '{"429": 10}', "results_mean_output_throughput_token_per_s": 180.0,
        "results_num_completed_requests": 140,
    }  # fmt: skip
    row = first(read(flat))
    expected = {
        "ttft_s": 0.5,
        "tpot_s": 0.02,
        "tokens_per_s": 180,
        "concurrency": 5,
        "failures": 10,
        "requests": 140,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "all 150" in read(flat | {"results_number_errors": 150}).skipped["why"].tolist()[0]


def test_llmperf_requests_that_failed_or_did_not_stream():
    good = {
        "error_code": None, "error_msg": "", "inter_token_latency_s": 0.03, "ttft_s": 0.5, "end_to_end_latency_s": 2.5,
        "request_output_throughput_token_per_s": 40.4, "number_output_tokens": 101, "number_input_tokens": 550,
    }  # fmt: skip
    zeros = dict.fromkeys(good, 0)
    found = read(
        [
            good,
            good | {"inter_token_latency_s": 2.49},
            good | zeros | {"error_code": 429, "error_msg": "slow down"},
        ]
    )
    assert found.rows["tpot_s"].tolist()[0] == pytest.approx(0.02)
    assert np.isnan(found.rows["tpot_s"].tolist()[1])
    assert "not streamed" in found.rows["note"].tolist()[1]
    assert "slow down" in found.skipped["why"].tolist()[0]


def test_trtllm_bench_names_device_and_layout():
    report = {
        "engine": {"model": "m", "version": "1.0", "dtype": "bfloat16", "kv_cache_dtype": "fp8", "quantization": "NVFP4"},
        "machine": {"name": "NVIDIA B200", "memory.total": 180}, "world_info": {"tp_size": 4, "world_size": 8},
        "request_info": {"num_requests": 100, "avg_num_concurrent_requests": 7.5, "avg_input_length": 128, "avg_output_length": 64},
        "performance": {"system_output_throughput_tok_s": 5000.0, "output_throughput_per_gpu_tok_s": 625.0, "avg_request_latency_ms": 900.0,
                        "request_latency_percentiles_ms": {"p50": 850.0, "average": 900.0}},
        "streaming_metrics": {"avg_ttft_ms": 80.0, "avg_tpot_ms": 9.0, "ttft_percentiles": {"p99": 200.0}},
    }  # fmt: skip
    row = first(read(report))
    expected = {
        "device": "NVIDIA B200", "device_count": 8, "weight_format": "NVFP4", "cache_k": "fp8", "tokens_per_s": 5000, "ttft_s": 0.08, "tpot_s": 0.009,
        "e2e_s": 0.9, "ttft_p99_s": 0.2, "concurrency": 7.5,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    without = {name: value for name, value in report.items() if name != "streaming_metrics"}
    assert first(read(without))["e2e_s"] == 0.9


def test_inferencemax_is_per_gpu_and_in_seconds():
    report = {
        "hw": "mi355x", "conc": 32, "model": "m", "infmax_model_prefix": "m", "framework": "vllm", "precision": "int4", "spec_decoding": "mtp",
        "disagg": False, "isl": 8192, "osl": 1024, "tp": 8, "tput_per_gpu": 157.0, "output_tput_per_gpu": 17.5, "mean_ttft": 2.5, "median_ttft": 1.8,
        "p99.9_ttft": 15.4, "mean_tpot": 0.224, "mean_itl": 0.63, "mean_e2el": 209.5, "duration": 1, "completed": 1, "request_throughput": 1,
    }  # fmt: skip
    row = first(read(report))
    expected = {
        "tokens_per_s": 140,
        "device_count": 8,
        "ttft_s": 2.5,
        "tpot_s": 0.224,
        "itl_s": 0.63,
        "concurrency": 32,
        "weight_format": "int4",
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "speculative" in row["note"]
    assert "8 GPUs" in row["conversion"]


def test_mlc_bench_is_in_seconds():
    text = "num_gpus,num_requests,output_token_throughput,time_to_first_token_s.quantiles.p50,time_to_first_token_s.mean,time_per_output_token_s.mean,end_to_end_latency_s.mean\n2,100,1000,0.06,0.07,0.010,1.30\n"
    row = first(read(text))
    expected = {"ttft_s": 0.07, "ttft_p50_s": 0.06, "tpot_s": 0.01, "device_count": 2, "tokens_per_s": 1000}
    assert {name: row[name] for name in expected} == pytest.approx(expected)


MLPERF = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Tokens per second: 1200.5
Result is : INVALID
Mean latency (ns)                : 2000000000
Mean First Token latency (ns)    : 300000000
Mean Time to Output Token (ns)   : 25000000
"""


def test_mlperf_is_in_nanoseconds():
    row = first(read(MLPERF))
    expected = {"tokens_per_s": 1200.5, "ttft_s": 0.3, "tpot_s": 0.025, "e2e_s": 2.0}
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "INVALID" in row["note"]
    samples = first(read(MLPERF.replace("Tokens per second: 1200.5", "Samples per second: 0.165")))
    assert "tokens_per_s" not in samples
    assert "0.165 samples" in samples["note"]


def test_several_tools_at_once():
    found = read_many(
        [("a.json", json.dumps(VLLM).encode()), ("b.log", CONSOLE.encode()), ("c.csv", GENAI_CSV.encode())]
    )
    assert found.format == "vllm bench serve + serving benchmark console + genai-perf csv"
    assert found.rows["source_file"].tolist() == ["a.json", "b.log", "c.csv"]


def test_the_summary_of_a_vllm_sweep_leaves_its_warm_up_out():
    keys = ["completed", "failed", "duration", "request_throughput", "output_throughput", "total_token_throughput", "mean_ttft_ms", "mean_tpot_ms", "num_prompts", "max_concurrency", "total_input_tokens", "total_output_tokens"]  # fmt: skip
    lines = [",".join(["", "run_number", *keys, "input_lens"])]
    lines += [",".join([str(at), str(run), *(str(VLLM[key]) for key in keys), '"[1, 2]"']) for at, run in enumerate((0, 1, -1))]  # fmt: skip
    found = read("\n".join(lines) + "\n")
    assert found.format == "vllm bench sweep csv"
    assert found.rows["tokens_per_s"].tolist() == [640, 640]
    assert found.rows["tpot_s"].tolist() == [0.01, 0.01]
    assert found.skipped["why"].tolist() == ["a warm-up run of a sweep"]


def test_words_that_a_vllm_run_was_given_name_its_devices():
    row = first(read(VLLM | {"gpu_type": "H100", "tp": 4, "pipeline_parallel_size": 2}))
    assert (row["device"], row["device_count"], row["tensor_parallel"], row["pipeline_parallel"]) == ("H100", 8, 4, 2)  # fmt: skip
    row = first(read(VLLM | {"tensor_parallel_size": 8, "enable_expert_parallel": True, "device": "cuda"}))
    assert (row["device_count"], "tensor_parallel" in row, "device" in row) == (8, False, False)


def test_diffusion_is_told_since_its_pass_commits_several_tokens():
    row = first(read(VLLM | {"diffusion_committed_throughput": 1200.0}))
    assert "diffusion" in row["note"]


def test_sglang_replicas_and_split_attention():
    info = {"model_path": "m", "tp_size": 4, "dp_size": 2, "pp_size": 1}
    row = first(read(SGLANG | {"server_info": info}))
    assert (row["device_count"], row["tensor_parallel"], row["pipeline_parallel"]) == (8, 4, 1)
    row = first(read(SGLANG | {"server_info": info | {"enable_dp_attention": True}}))
    assert (row["device_count"], "tensor_parallel" in row) == (4, False)


def inferencex(**more):
    return {
        "hw": "b200", "conc": 32, "model": "m", "isl": 1024, "osl": 1024, "tput_per_gpu": 500.0, "output_tput_per_gpu": 100.0, "mean_ttft": 0.5,
        "mean_tpot": 0.01, "dp_attention": "false", **more,
    }  # fmt: skip


def test_inferencex_output_of_a_gpu_is_of_those_that_decode():
    apart = first(read(inferencex(disagg=True, num_prefill_gpu=4, num_decode_gpu=12)))
    assert (apart["device_count"], apart["tokens_per_s"]) == (16, 1200)
    assert "tensor_parallel" not in apart
    one = first(read(inferencex(tp=4, pp=2, ep=1)))
    assert (one["device_count"], one["tokens_per_s"], one["tensor_parallel"], one["pipeline_parallel"]) == (8, 800, 4, 2)  # fmt: skip
    assert "tensor_parallel" not in first(read(inferencex(tp=8, ep=8)))


def test_an_aiperf_run_that_was_cancelled_or_met_a_warm_cache_says_so():
    value = {"request_latency": {"unit": "ms", "avg": 100.0}, "schema_version": "1.2", "was_cancelled": True}
    value["theoretical_prefix_cache_hit"] = {"unit": "%", "avg": 96.5}
    note = first(read(value))["note"]
    assert note == "prefix-cache hits up to 96.5 % by the trace; the run was cancelled before its end"
