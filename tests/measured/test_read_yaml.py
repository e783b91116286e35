"""YAML reports: the same trees as JSON, llm-d's own, and what YAML can do beyond data, refused."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slmopt.measured.detect import read_benchmark
from slmopt.measured.readers import _yaml
from slmopt.measured.readers._yaml import decode_yaml, looks_like_yaml
from slmopt.measured.text import UnreadableFile
from tests.measured.test_read_table import assert_schema


def read(text):
    found = read_benchmark("f.yaml", text.encode())
    assert_schema(found.rows)
    return found


def first(found):
    return found.rows.iloc[0].dropna().to_dict()


def statistic(mean):
    return {"successful": {"mean": mean, "median": mean, "percentiles": {"p95": mean, "p99": mean}}}


GUIDE = {
    "metadata": {"version": 2, "guidellm_version": "0.8.1"},
    "config": {"spec": {"backend": {"model": "o/m-8b"}}},
    "benchmarks": [
        {
            "start_time": 1761000000.5,
            "metrics": {
                "request_totals": {"successful": 20, "errored": 1},
                "request_latency": statistic(2.0),
                "time_to_first_token_ms": statistic(100.0),
                "inter_token_latency_ms": statistic(19.0),
                "time_per_output_token_ms": statistic(20.0),
                "prompt_token_count": statistic(512),
                "output_token_count": statistic(101),
                "output_tokens_per_second": statistic(400.0),
                "request_concurrency": statistic(8.0),
            },
        }
    ],
}


def test_guidellm_reads_the_same_in_yaml_and_json():
    text = read(yaml.safe_dump(GUIDE))
    tree = read(json.dumps(GUIDE))
    for found in (text, tree):
        row = first(found)
        assert (row["ttft_s"], row["tpot_s"], row["e2e_s"]) == pytest.approx((0.1, 0.019, 2.0))
        assert (row["tokens_per_s"], row["requests"], row["failures"]) == (400, 20, 1)
        assert row["timestamp"] == np.datetime64("2025-10-20T22:40:00.500000")
    assert text.format == tree.format == "guidellm json"


def stats(mean, units, **more):
    return {"mean": mean, "units": units, **more}


LLMD = {
    "version": "0.2.1",
    "run": {"time": {"start": "2025-11-05T18:00:42Z", "duration": "PT49.9S"}},
    "results": {
        "request_performance": {
            "aggregate": {
                "requests": {
                    "total": 500,
                    "failures": 20,
                    "input_length": stats(2048, "count"),
                    "output_length": stats(128, "count"),
                },
                "latency": {
                    "time_to_first_token": stats(80.0, "ms", p50=70.0, p95=120.0, p99=200.0),
                    "time_per_output_token": stats(0.012, "s/token"),
                    "inter_token_latency": stats(0.025, "s/token"),
                    "request_latency": stats(1.6, "s"),
                },
                "throughput": {"output_token_rate": stats(3000.0, "tokens/s")},
            }
        }
    },
    "scenario": {
        "load": {
            "standardized": {"tool": "inference-perf", "tool_version": "0.3.0", "concurrency": float("inf")}
        },
        "stack": [
            {
                "standardized": {
                    "kind": "inference_engine",
                    "tool": "llm-d",
                    "replicas": 2,
                    "model": {"name": "Qwen/Qwen3-0.6B"},
                    "accelerator": {"count": 4, "model": "NVIDIA-H100-80GB-HBM3"},
                }
            },
            {"standardized": {"kind": "generic", "tool": "router"}},
        ],
    },
}


def test_llmd_report_with_its_units_and_all_replicas():
    row = first(read(yaml.safe_dump(LLMD)))
    assert row["timestamp"] == np.datetime64("2025-11-05T18:00:42")
    expected = {
        "model": "Qwen/Qwen3-0.6B", "device": "NVIDIA-H100-80GB-HBM3", "device_count": 8, "backend": "llm-d",
        "ttft_s": 0.08, "ttft_p50_s": 0.07, "ttft_p95_s": 0.12, "tpot_s": 0.012, "itl_s": 0.025, "e2e_s": 1.6,
        "tokens_per_s": 3000, "tokens_per_s_basis": "device", "requests": 480, "failures": 20, "prompt_tokens": 2048,
        "tool_version": "0.3.0", "statistic": "mean", "clock": "client",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert "concurrency" not in row  # .inf is no count


def test_llmd_older_report_over_guidellm_takes_the_latency_after_the_first_token():
    tree = {
        "version": "0.1",
        "scenario": {
            "model": {"name": "m"},
            "load": {"name": "guidellm"},
            "host": {"accelerator": [{"model": "L4", "count": 1}], "type": ["replica"]},
            "platform": {"engine": [{"name": "vllm"}]},
        },
        "metrics": {
            "time": {"duration": 30.0, "start": 1761000000.0},
            "requests": {
                "total": 20,
                "input_length": stats(512, "count"),
                "output_length": stats(101, "count"),
            },
            "latency": {
                "time_to_first_token": stats(100.0, "ms"),
                "time_per_output_token": stats(20.0, "ms/token"),
                "inter_token_latency": stats(19.0, "ms/token"),
                "request_latency": stats(3.0, "fortnights"),
            },
            "throughput": {"output_tokens_per_sec": 400.0, "total_tokens_per_sec": 2000.0},
        },
    }
    row = first(read(yaml.safe_dump(tree)))
    assert (row["tpot_s"], row["ttft_s"], row["tokens_per_s"]) == pytest.approx((0.019, 0.1, 400))
    assert "itl_s" not in row
    assert "e2e_s" not in row
    assert "'fortnights'" in row["note"]
    assert (row["device"], row["device_count"], row["backend"]) == ("L4", 1, "vllm")


def test_a_run_that_failed_altogether_is_listed():
    tree = json.loads(json.dumps(LLMD).replace('"failures": 20', '"failures": 500').replace("Infinity", "8"))
    found = read(yaml.safe_dump(tree))
    assert not len(found.rows)
    assert "all 500 requests failed" in found.skipped["why"].tolist()[0]


def test_several_documents():
    found = read("---\n" + yaml.safe_dump(LLMD) + "---\n" + yaml.safe_dump(GUIDE))
    assert found.format == "llm-d report + guidellm json"
    assert len(found.rows) == 2


def test_words_and_numbers_are_those_of_yaml_1_2():
    text = "a:\n  on: on\n  no: no\n  date: 2025-11-05\n  span: 1:30\n  old: 010\n  small: 1e-05\n  big: 12\n  t: true\n  n: null\n  e:\n"
    value = decode_yaml("f", text).items[0][1]["a"]
    assert value == {
        "on": "on", "no": "no", "date": "2025-11-05", "span": "1:30", "old": 10, "small": 1e-5, "big": 12, "t": True, "n": None,
        "e": None,
    }  # fmt: skip


BOMB = (
    "a: &a\n"
    + "  - lol\n" * 9
    + "b: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b]\nd: [*c, *c, *c]\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "aliases (*a)"),
        ("a: &a\n  b: *a\n", "aliases"),
        ("a:\n  b: !!python/object/apply:os.system ['true']\n", "broken at line 2"),
        ("a:\n" + "".join("  " * n + "b:\n" for n in range(1, 90)), "nests YAML values"),
        ("a:\n  b: " + "[" * 5000 + "\n", "nest"),
        ("a:\n  b: [1, 2\nc: 3\n", "broken at line"),
        ("a:\n  b: " + "9" * 5000 + "\n", "cannot be read"),
        ("a:\n  ? [1, 2]\n  : 3\n", "broken"),
        (
            "model: m\nscheduler:\n  batch: 4\n",
            "YAML without results that a reader knows (its keys: model, scheduler)",
        ),
        ("benchmarks:\n  - metrics:\n      request_latency_total: 1\n", "its keys: benchmarks"),
    ],
    ids=range(10),
)
def test_what_is_no_plain_report_is_refused_in_one_sentence(text, said):
    start = time.process_time()
    with pytest.raises(UnreadableFile) as caught:
        read(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - start < 20


def test_a_long_yaml_text_is_refused_and_json_asked_for(monkeypatch):
    monkeypatch.setattr(_yaml, "MAX_BYTES", 100)
    with pytest.raises(UnreadableFile, match="the same tool writes JSON"):
        read("a:\n" + "  - 1\n" * 30)


@pytest.mark.parametrize(
    "text",
    [
        "ttft_ms,tpot_ms\n1,2\n",
        "eval rate:   12.1 tokens/s\n",
        "model\ttok/s\nx\t1\n",
        '{"a": 1}\n',
        "Note: this is prose\nand it goes on: here\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
    ],
)
def test_what_is_not_yaml_is_left_to_other_readers(text):
    assert not looks_like_yaml(text)


@given(st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab:-#*&!{}[]\n'\" ", max_size=9), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)))  # fmt: skip
def test_what_yaml_writes_is_read_as_it_was(tree):
    value = {"top": tree}
    text = yaml.dump(value, Dumper=_NoAliases, default_flow_style=False)
    assert decode_yaml("f", text).items[0][1] == value


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, _data):
        return True
