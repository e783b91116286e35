"""Files that once raised: each is read as far as it goes, or refused in a sentence."""

import json

import numpy as np
import pytest

from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.measured.text import UnreadableFile
from slmopt.serving.trace import read_trace
from slmopt.serving.traffic import LONGEST
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve

HEAD = b"arrival_s,prompt_tokens,output_tokens\n"
REPORTS = (
    {"accelerator_info": {"name": "NVIDIA GeForce RTX 4090"}, "results": -1},
    {"schemaVersion": 1, "tool": {"name": "llmfit", "version": "1.1.10"}, "hardware": {"cpu": "x"}, "results": 7},
    {"schemaVersion": 1, "tool": {"name": "llmfit", "version": "1.1.10"}, "hardware": {"cpu": "x"}, "results": "x"},
)  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_results_that_are_no_list_are_no_rows(report):
    with pytest.raises(UnreadableFile, match="has no row of results"):
        read_benchmark("report.json", json.dumps(report).encode())


def test_a_depth_at_which_a_float_loses_single_tokens_is_judged():
    reply = {
        "object": "chat.completion",
        "model": "Llama-3.2-1B",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}],
        "usage": {"prompt_tokens": 2.0**53, "total_tokens": 77},
        "stats": {"tokens_per_second": 51.4, "time_to_first_token": 0.111, "generation_time": 0.954},
        "model_info": {"arch": "llama", "quant": "Q4_K_M", "format": "gguf", "context_length": 4096},
        "runtime": {"name": "llama.cpp", "version": "1.3.0"},
    }
    found = read_benchmark("reply.json", json.dumps(reply).encode())
    judged = compare(found.rows, Facts(device="rtx-4090", model="llama-3.2-1b", weights="q4_k_m", batch=1.0))
    assert len(judged.rows) == len(found.rows) == 1
    assert 0 < float(judged.rows["ceiling"].iloc[0]) < np.inf


def test_an_endless_arrival_is_refused():
    with pytest.raises(SpecError, match="1 time that is infinite"):
        read_trace(HEAD + b"1e999,100,20\n1.25,50,10\n")


def test_tokens_beyond_a_float_are_more_than_any_server_takes():
    found = read_trace(HEAD + b"0.5," + b"9" * 400 + b",30\n0.25,50,10\n")
    assert found.prompt.tolist() == [50, 2 * LONGEST]
    assert np.all(np.isfinite(found.arrival))


def test_a_name_of_any_length_is_told_in_short():
    with pytest.raises(SpecError) as told:
        resolve(scenario({"cache_k": "[" + "9" * 5000 + "]"}))
    assert len(str(told.value)) < 300


SWEEP = """|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   512 |    128 |      0 |    0.500 |  1024.00 |    2.000 |    64.00 |
|   512 |    128 |    512 |    {} |  1000.00 |    {} |    60.01 |
"""


def test_a_line_of_negative_time_is_no_row():
    found = read_benchmark("sweep.md", SWEEP.format("0.512", "-1 2.133").encode())
    assert found.rows["tokens_per_s"].tolist() == [1024, 64, 1000]


def test_a_time_that_rounds_to_none_leaves_the_speed():
    found = read_benchmark("sweep.md", SWEEP.format("0.000", "2.133").encode())
    assert found.rows["tokens_per_s"].tolist() == [1024, 64, 1000, 60.01]
    assert found.rows["e2e_s"].isna().tolist() == [False, False, True, False]


def test_a_record_that_holds_nothing_readable_is_left_out():
    nested = b'{"avg_latency": [[[474.8]]], "latencies": [474.9, 474.8]}'
    for content, labels in ((nested, ["item 1"]), (nested + b"\n" + nested, ["line 1", "line 2"])):
        found = read_benchmark("file", content)
        assert not len(found.rows)
        assert found.skipped["row"].tolist() == labels
        assert set(found.skipped["why"]) == {"holds no number and no text under a name"}
