"""Whatever bytes arrive: a result with the schema, or one sentence. Never a traceback, never an endless read."""

from __future__ import annotations

import gzip
import json
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
from tests.measured import llama_bench_files as bench
from tests.measured.test_read_llama_cpp import (
    BATCHED,
    BATCHED_MD,
    BENCHY_CSV,
    BENCHY_MD,
    PRINTED,
    SWEEP_MD,
    TIMINGS,
    benchy,
    benchy_file,
)
from tests.measured.test_read_local import (
    LITERT,
    LITERT_CLI,
    LOCALSCORE,
    OLLAMA,
    OPENVINO,
    OPTIMUM_MD,
    ORT_FLAT,
    REPORT,
    VERBOSE,
)
from tests.measured.test_read_serving import (
    AIPERF_CSV,
    BOX,
    CONSOLE,
    GENAI_CSV,
    GUIDE_METRICS,
    MLPERF,
    SGLANG,
    VLLM,
    guide_grouped,
)
from tests.measured.test_read_table import assert_schema
from tests.measured.test_read_tables import FRENCH, GERMAN, PLAIN, WIDE_MD
from tests.measured.test_read_yaml import GUIDE, LLMD

ROWS = [bench.PREFILL, bench.BASE, bench.MIXED]
REAL = [
    bench.csv_text(ROWS), bench.jsonl_text(ROWS), json.dumps([bench.with_samples(row) for row in ROWS], indent=1), bench.sql_text(ROWS),
    bench.MARKDOWN, json.dumps(BATCHED), BATCHED_MD, SWEEP_MD, json.dumps({"timings": TIMINGS}), PRINTED, BENCHY_CSV, BENCHY_MD,
    json.dumps(benchy_file(benchy(0, 1.0, 2.0))), json.dumps(OLLAMA), VERBOSE, OPENVINO, ORT_FLAT, OPTIMUM_MD, json.dumps(REPORT),
    json.dumps({"accelerator_info": {}, "results": [LOCALSCORE]}), json.dumps(VLLM), json.dumps(SGLANG), CONSOLE, GENAI_CSV, AIPERF_CSV, BOX,
    json.dumps({"benchmarks": [{"metrics": GUIDE_METRICS}]}), guide_grouped(["r,b,1,1,1,1,[1],1,1,1"]), MLPERF, LITERT, LITERT_CLI, yaml.safe_dump(GUIDE), yaml.safe_dump(LLMD),
    PLAIN, GERMAN, FRENCH, WIDE_MD,
]  # fmt: skip
TOKENS = [
    "", ",", '"', "\n", "\x00", "NaN", "-1", "1e999", "{", "}", "[", "]", "null", "true", "|", ";", "\t", "9" * 400, "inf", "0", ":", "\\",
    "2024-99-99T00:00:00Z", "\r", "'", "{}", "[]", "\u202f", "é", "±", "=", "#", "-", "---|---",
]  # fmt: skip


def check(content: bytes) -> None:
    try:
        found = read_benchmark("file", content)
    except UnreadableFile as error:
        sentence = str(error)
    else:
        sentence = "read."
        assert_schema(found.rows)
        assert len(found.rows) or len(found.skipped)
        assert found.rows["row"].notna().all()
        assert not (found.rows[["tokens_per_s", "ttft_s", "tpot_s", "e2e_s"]] <= 0).any(axis=None)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@settings(max_examples=150)
@given(st.binary(max_size=400))
def test_any_bytes(content):
    check(content)


@settings(max_examples=150)
@given(st.text(max_size=300))
def test_any_text(text):
    check(text.encode("utf-8", "surrogatepass"))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 3, 20, 300])))
        kind = draw(st.sampled_from(["replace", "cut", "repeat", "splice"]))
        if kind == "replace":
            text = text[:start] + draw(st.sampled_from(TOKENS)) + text[end:]
        elif kind == "cut":
            text = text[:start]
        elif kind == "repeat":
            text = text[:end] + text[start:end] + text[end:]
        else:
            other = draw(st.sampled_from(REAL))
            text = text[:start] + other[: end - start + 50] + text[start:]
    return text.encode(draw(st.sampled_from(["utf-8", "utf-16", "cp1252"])), "replace")


@settings(max_examples=120)
@given(mutated())
def test_real_files_damaged(content):
    check(content)


@pytest.mark.parametrize("text", REAL)
def test_real_files_cut_off_anywhere(text):
    content = text.encode()
    for cut in range(0, len(content), max(1, len(content) // 11)):
        check(content[:cut])


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n" * 30_000,
        b"model,ttft_ms\nx,1\n\n" * 20_000,
        b"ttft_ms,a\n1,2\n\nb,c,tpot_ms\n1,2,3\n\n" * 20_000,
        b"|a|b|\n|-|-|\n|1|2|\n\n" * 5_000,
        b'{"a": 1}\n' * 20_000,
        b'{"' * 100_000,
        b"[" * 100_000,
        b'"' * 300_000,
        b"ttft_ms,tpot_ms\n" + b'"' * 300_001,
        b"," * 60_000,
        b"ttft_ms" + b",x" * 20_000 + b"\n1" + b",2" * 20_000,
        b"(" * 200_000,
        b"<" * 200_000,
        b"_" * 200_000,
        b"1" * 200_000,
        b"ttft_ms,x\n" + b"1," * 3 + b"9" * 300_000,
        b"ttft_ms,x\n" + b" " * 300_000 + b",1",
        b"============ Serving Benchmark Result ============\n" * 5_000,
        b"eval time = eval rate: llama_print_timings " * 20_000,
        b"A" + b" a" * 100_000 + b":",
        b"Device 0: " * 50_000,
    ],
    ids=range(21),
)
def test_no_input_takes_for_ever(content):
    start = time.process_time()
    check(content)
    check(gzip.compress(content))
    assert time.process_time() - start < 40


def test_a_duration_with_two_points_is_no_traceback():
    check(VERBOSE.replace("ms", ".5.5ms", 1).encode())
    check(VERBOSE.replace("s\n", "1.2.3s\n").encode())


@pytest.mark.parametrize(
    "content", [json.dumps({"k" * 5000: 1, "b\n" * 900: 2}), f"{'a' * 5000},b\n1,2\n3,4\n"]
)
def test_names_of_any_length_are_cut_in_the_sentence(content):
    with pytest.raises(UnreadableFile) as refused:
        read_benchmark("file", content.encode())
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)
