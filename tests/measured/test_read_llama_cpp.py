"""llama.cpp beside llama-bench: batched-bench, sweep-bench, server timings, printed timings, llama-benchy, step times."""

from __future__ import annotations

import json

import numpy as np
import pytest

from slmopt.measured.detect import read_benchmark
from tests.measured.test_read_table import assert_schema


def read(text):
    found = read_benchmark("f", text.encode() if isinstance(text, str) else json.dumps(text).encode())
    assert_schema(found.rows)
    return found


BATCHED = {
    "n_kv_max": 8192, "n_batch": 2048, "n_ubatch": 512, "flash_attn": -1, "is_pp_shared": 0, "n_gpu_layers": -1, "n_threads": 1,
    "n_threads_batch": 2, "pp": 64, "tg": 16, "pl": 2, "n_kv": 160, "t_pp": 0.353492, "speed_pp": 362.101562, "t_tg": 0.499718,
    "speed_tg": 64.036118, "t": 0.853210, "speed": 187.527115,
}  # fmt: skip


def test_batched_bench_gives_prefill_and_decode_of_all_sequences():
    rows = read(BATCHED).rows
    assert rows["phase"].tolist() == ["prefill", "decode"]
    assert rows["tokens_per_s"].tolist() == [362.101562, 64.036118]
    assert set(rows["tokens_per_s_basis"]) == {"device"}
    assert rows["batch"].tolist() == [2, 2]
    assert rows["depth_tokens"].tolist() == [0, 64]
    assert rows["prompt_tokens"].tolist() == [64, 0]
    assert rows["tpot_s"].tolist()[1] == pytest.approx(0.499718 / 16)
    assert rows["threads"].tolist() == [2, 1]
    assert set(rows["flash_attention"]) == {"auto"}


def test_a_shared_prompt_is_fed_once():
    rows = read(BATCHED | {"is_pp_shared": 1, "speed_pp": 64 / 0.353492}).rows
    assert rows["batch"].tolist() == [1, 2]


def test_batched_rows_that_contradict_themselves_are_left_out():
    found = read(json.dumps(BATCHED) + "\n" + json.dumps(BATCHED | {"speed_pp": 1.0, "speed_tg": 1.0}))
    assert len(found.rows) == 2
    assert "do not fit together" in found.skipped["why"].tolist()[0]


BATCHED_MD = """\
## owner/Test-7B-GGUF

Model: https://huggingface.co/owner/Test-7B-GGUF

main: n_kv_max = 8192, n_batch = 2048, n_ubatch = 1024, flash_attn = 1, is_pp_shared = 0, n_gpu_layers = 99, n_threads = 20, n_threads_batch = 20

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   512 |     32 |    1 |    544 |    0.270 |  1896.30 |    0.400 |    80.00 |    0.670 |   811.94 |
|   512 |     32 |    2 |   1088 |    0.230 |  4452.17 |    0.580 |   110.34 |    0.810 |  1343.21 |
"""
SWEEP_MD = """\
|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   512 |    128 |      0 |    0.500 |  1024.00 |    2.000 |    64.00 |
|   512 |    128 |    512 |    0.512 |  1000.00 |    2.133 |    60.01 |
"""


def test_batched_bench_markdown_takes_model_and_settings_from_the_text():
    rows = read(BATCHED_MD).rows
    assert rows["row"].tolist() == ["row 1", "row 1", "row 2", "row 2"]
    assert set(rows["model"]) == {"owner/Test-7B-GGUF"}
    assert set(rows["chunk_tokens"]) == {1024}
    assert set(rows["flash_attention"]) == {"on"}
    assert rows["tpot_s"].tolist()[3] == pytest.approx(0.58 / 32)


def test_sweep_bench_is_one_stream_at_growing_depth():
    rows = read(SWEEP_MD).rows
    assert set(rows["tool"]) == {"sweep-bench"}
    assert set(rows["batch"]) == {1}
    assert rows["depth_tokens"].tolist() == [0, 512, 512, 1024]


def test_a_report_with_tables_of_two_tools():
    from tests.measured.llama_bench_files import MARKDOWN

    found = read(BATCHED_MD + "\ntext\n\n" + MARKDOWN)
    assert set(found.format.split(" + ")) == {"llama-batched-bench md", "llama-bench md"}
    assert found.rows["row"].tolist()[-1] == "table 2, row 3"


def test_a_markdown_row_of_another_width_is_listed():
    found = read(BATCHED_MD + "|   512 |     32 |    4 |\n")
    assert found.skipped["why"].tolist()[0].startswith("3 values under 10 column names")


TIMINGS = {
    "cache_n": 960, "prompt_n": 64, "prompt_ms": 169.375, "prompt_per_token_ms": 2.646484375, "prompt_per_second": 377.859778597786,
    "predicted_n": 16, "predicted_ms": 171.754, "predicted_per_token_ms": 11.450266666666666, "predicted_per_second": 87.33421055695938,
}  # fmt: skip


def test_server_timings_of_a_newer_server_count_one_step_less_than_tokens():
    rows = read({"model": "smollm2-135m-q8_0", "timings": TIMINGS}).rows
    assert rows["phase"].tolist() == ["prefill", "decode"]
    assert rows["prompt_tokens"].tolist() == [64, 0]
    assert rows["depth_tokens"].tolist() == [960, 1024]
    assert rows["cached_tokens"].tolist() == [960, 960]
    assert rows["tpot_s"].tolist()[1] == pytest.approx(0.171754 / 15)
    assert "one step less" in rows["conversion"].tolist()[1]
    assert set(rows["weight_format"]) == {"Q8_0"}


def test_server_timings_of_an_older_server_count_all_tokens():
    old = {
        "prompt_n": 64,
        "prompt_ms": 100.0,
        "prompt_per_second": 640.0,
        "predicted_n": 10,
        "predicted_ms": 100.0,
        "predicted_per_second": 100.0,
    }
    rows = read({"timings": old}).rows
    assert rows["tpot_s"].tolist()[1] == pytest.approx(0.01)
    assert "tokens over time" in rows["conversion"].tolist()[1]
    assert rows["cached_tokens"].isna().all()


def test_speculation_is_told():
    rows = read({"timings": TIMINGS | {"draft_n": 40, "draft_n_accepted": 30}}).rows
    assert rows["acceptance"].tolist()[1] == 0.75
    assert "speculative" in rows["note"].tolist()[1]


def test_a_client_line_has_both_clocks():
    line = {
        "model": "m",
        "concurrency": 2,
        "prompt_tokens": 1024,
        "output_tokens": 16,
        "ttft_ms": 174.26,
        "e2e_ms": 343.752,
        "tpot_ms": 11.263,
    }
    rows = read(
        {**line, "server_timings": TIMINGS, "usage": {"prompt_tokens_details": {"cached_tokens": 960}}}
    ).rows
    assert rows["clock"].tolist() == ["client", "server", "server"]
    assert rows["phase"].tolist() == ["serving", "prefill", "decode"]
    assert rows["ttft_s"].tolist()[0] == pytest.approx(0.17426)
    assert rows["cached_tokens"].tolist()[0] == 960
    assert rows["batch"].isna().all()  # two requests in flight: how many a pass held is not known


def test_a_wrapper_with_a_list_of_prompts():
    entry = {
        "name": "code",
        "wall_s": 13.8,
        "predicted_n": 192,
        "predicted_per_second": 14.54,
        "draft_n": 163,
        "draft_n_accepted": 136,
    }
    rows = read(
        {
            "model": "T-27B-Q8_0",
            "gguf": "a/T.gguf",
            "timestamp": "2026-05-15T10:40:12.760327",
            "results": [entry],
        }
    ).rows
    assert rows["tokens_per_s"].tolist() == [14.54]
    assert rows["acceptance"].tolist() == [pytest.approx(136 / 163)]
    assert str(rows["timestamp"].iloc[0]) == "2026-05-15 10:40:12.760327"


def test_a_stream_of_events():
    event = "data: " + json.dumps({"choices": [], "model": "m-q8_0", "timings": TIMINGS})
    rows = read('data: {"choices":[{"text":"a"}]}\n\n' + event + "\ndata: [DONE]\n" + event + "\n").rows
    assert rows["row"].tolist() == ["answer 1", "answer 1", "answer 2", "answer 2"]


PRINTED = """\
llama_model_loader: loaded meta data with 22 key-value pairs and 291 tensors from ./models/x/ggml-model-Q4_K_M.gguf (version GGUF V3)
\x1b[0mllama_print_timings:        load time =    1906.88 ms
llama_print_timings:      sample time =     312.85 ms /   261 runs   (    1.20 ms per token,   834.28 tokens per second)
llama_print_timings: prompt eval time =    2946.76 ms /   258 tokens (   11.42 ms per token,    87.55 tokens per second)
llama_print_timings:        eval time =   27024.42 ms /   260 runs   (  103.94 ms per token,     9.62 tokens per second)
llama_print_timings:       total time =   30607.13 ms /   518 tokens
"""


def test_printed_timings():
    rows = read(PRINTED).rows
    assert rows["tokens_per_s"].tolist() == [87.55, 9.62]
    assert rows["depth_tokens"].tolist()[1] == 258
    assert set(rows["weight_format"]) == {"Q4_K_M"}
    assert set(rows["tool"]) == {"llama.cpp"}


def test_printed_timings_of_the_later_name_and_of_a_run_without_tokens():
    later = PRINTED.replace("llama_print_timings", "llama_perf_context_print")
    nothing = "llama_perf_context_print:        eval time =       0.00 ms /     0 runs   (     nan ms per token,      inf tokens per second)\n"
    found = read(later + nothing)
    assert len(found.rows) == 2
    assert "eval of 0 tokens" in found.skipped["why"].tolist()[0]


def test_a_server_log_names_its_tasks():
    log = (
        "0.02 I slot print_timing: id  7 | task 9 | prompt eval time =     383.74 ms /   256 tokens (    1.50 ms per token,   667.13 tokens per second)\n"
        "0.02 I slot print_timing: id  7 | task 9 |        eval time =     402.50 ms /    48 tokens (    8.56 ms per token,   116.77 tokens per second)\n"
    )
    rows = read(log).rows
    assert rows["row"].tolist() == ["task 9", "task 9"]
    assert set(rows["tool"]) == {"llama-server"}
    assert rows["batch"].isna().all()
    assert "one step less" in rows["conversion"].tolist()[1]


def test_a_notebook_is_read_by_what_its_cells_printed():
    cells = [
        {
            "cell_type": "code",
            "source": ["!run"],
            "outputs": [{"output_type": "stream", "text": PRINTED.splitlines(keepends=True)}],
        }
    ]
    assert read({"cells": cells, "nbformat": 4, "metadata": {}}).rows["tokens_per_s"].tolist() == [
        87.55,
        9.62,
    ]


def stat(mean, std=0.0):
    return {"mean": mean, "std": std, "values": [mean, mean]}


def benchy(context, pp, ppt_ms, concurrency=1):
    return {
        "concurrency": concurrency, "context_size": context, "prompt_size": 256, "response_size": 24, "is_context_prefill_phase": False,
        "pp_throughput": stat(pp * concurrency, 2.0), "pp_req_throughput": stat(pp), "tg_throughput": stat(100.0 * concurrency),
        "tg_req_throughput": stat(100.0), "ttfr": stat(ppt_ms + 10), "est_ppt": stat(ppt_ms), "e2e_ttft": stat(ppt_ms + 10),
    }  # fmt: skip


def benchy_file(*entries):
    return {
        "version": "0.4.0",
        "timestamp": "2026-11-29 16:21:41Z",
        "model": "m-q8_0",
        "benchmarks": list(entries),
    }


def test_llama_benchy_counts_a_context_that_was_fed_again():
    rows = read(
        benchy_file(benchy(0, 772.38, 331.4), benchy(512, 707.97, 1083.4), benchy(512, 707.97, 361.6))
    ).rows
    prefill = rows[rows["phase"] == "prefill"]
    assert prefill["prompt_tokens"].tolist() == [256, 768, 256]
    assert prefill["depth_tokens"].tolist() == [0, 0, 512]
    assert rows[rows["phase"] == "decode"]["depth_tokens"].tolist() == [256, 768, 768]
    assert set(rows["clock"]) == {"client"}


def test_llama_benchy_speeds_are_of_all_users():
    rows = read(benchy_file(benchy(0, 400.0, 640.0, concurrency=2))).rows
    assert rows["tokens_per_s"].tolist() == [800, 200]
    assert set(rows["tokens_per_s_basis"]) == {"device"}
    assert rows["tpot_s"].tolist()[1] == 0.01
    assert rows["repeats"].tolist() == [2, 2]


BENCHY_CSV = """\
model,test_name,t_s_mean,t_s_std,t_s_req_mean,t_s_req_std,peak_ts_mean,peak_ts_std,peak_ts_req_mean,peak_ts_req_std,ttfr_mean,ttfr_std,est_ppt_mean,est_ppt_std,e2e_ttft_mean,e2e_ttft_std
m-q8_0,pp256 (c4),808.19,0.74,204.40,0.59,,,,,1268.99,4.11,1256.68,4.11,1268.99,4.11
m-q8_0,tg24 (c4),150.01,28.62,37.67,7.24,156.53,29.8,39.3,7.5,,,,,,
m-q8_0,odd test,1,0,1,0,,,,,,,,,,
"""
BENCHY_MD = """\
| model  |          test |           t/s |      peak t/s |     ttfr (ms) |   est_ppt (ms) |   e2e_ttft (ms) |
|:-------|--------------:|--------------:|--------------:|--------------:|---------------:|----------------:|
| m-q8_0 | ctx_pp @ d512 | 742.50 ± 7.09 |               | 701.84 ± 6.60 |  690.97 ± 6.60 |   701.84 ± 6.60 |
| m-q8_0 |  pp128 @ d512 | 547.08 ± 1.87 |               | 244.85 ± 0.80 |  233.97 ± 0.80 |   244.85 ± 0.80 |
| m-q8_0 |   tg16 @ d512 | 108.60 ± 0.25 | 115.84 ± 0.26 |               |                |                 |
"""


def test_llama_benchy_csv():
    found = read(BENCHY_CSV)
    assert found.rows["phase"].tolist() == ["prefill", "decode"]
    assert found.rows["concurrency"].tolist() == [4, 4]
    assert found.rows["tpot_s"].tolist()[1] == pytest.approx(1 / 37.67)
    assert found.skipped["row"].tolist() == ["row 3"]


def test_llama_benchy_markdown():
    rows = read(BENCHY_MD).rows
    assert rows["prompt_tokens"].tolist() == [512, 128, 0]
    assert rows["depth_tokens"].tolist() == [0, 512, 512]
    assert rows["ttft_s"].tolist()[1] == pytest.approx(0.24485)
    assert np.isnan(rows["ttft_s"].tolist()[2])


def test_step_times_of_a_loop_around_the_library():
    text = "model_file,kind,threads,kv,fa,batch_or_prompt,ctx,reps,wall_med_s\na/m-Q8_0.gguf,tg,2,f16,0,4,512,12,0.0208\nm-Q8_0.gguf,pp,2,f16,1,128,0,3,0.4\nm,odd,2,f16,1,1,0,3,0.4\n"
    found = read(text)
    rows = found.rows
    assert rows["tokens_per_s"].tolist() == [pytest.approx(4 / 0.0208), pytest.approx(320)]
    assert rows["batch"].tolist() == [4, 1]
    assert rows["depth_tokens"].tolist() == [512, 0]
    assert found.skipped["row"].tolist() == ["row 3"]
