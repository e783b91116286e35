"""Checks on a benchmark: each finds its own fault, and nothing in sound rows."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.measured.checks import Shape, check
from slmopt.measured.detect import read_benchmark
from slmopt.measured.table import make_rows
from slmopt.specs.library import preset_root
from slmopt.words import checks as words


def requests(ttft, tpot=None, **more):
    count = len(ttft)
    return make_rows(
        {
            "source_file": ["run.jsonl"] * count,
            "row": [f"line {n}" for n in range(count)],
            "phase": ["serving"] * count,
            "statistic": ["single"] * count,
            "concurrency": np.full(count, 4.0),
            "prompt_tokens": np.full(count, 500.0),
            "output_tokens": np.full(count, 100.0),
            "ttft_s": np.asarray(ttft, dtype=float),
            "tpot_s": np.asarray(
                tpot if tpot is not None else 0.02 + 1e-4 * np.arange(count) % 3e-4, dtype=float
            ),
            **more,
        },
        count,
    )


def rows(**columns):
    count = max(len(values) for values in columns.values() if isinstance(values, list))
    base = {"source_file": "a.csv", "row": [f"row {n}" for n in range(count)], "phase": "decode"}
    told = {**base, **columns}
    return make_rows({k: v if isinstance(v, list) else [v] * count for k, v in told.items()}, count)


STEADY = [0.1 + 0.001 * (n % 7) + 1e-7 * n for n in range(40)]


def codes(table, shape=None):
    return [finding.code for finding in check(table, shape)]


def test_sound_rows_ask_for_nothing():
    assert check(requests(STEADY), Shape(500, 100, 4)) == ()


@pytest.mark.parametrize(
    ("table", "code", "text"),
    [
        (requests([1.0, *STEADY]), "cold", "run.jsonl: the first request took 9.71 times as long"),
        (requests([0.2, *STEADY]), "warmup", "leave the warm-up out"),
        (requests(STEADY, np.linspace(0.02, 0.03, 40)), "drift", "slower than the first"),
        (
            requests(STEADY, cached_tokens=np.full(40, 250.0)),
            "prefix",
            "a prefix cache supplied 50\u00a0% of the prompt in 40 rows",
        ),
        (rows(phase="serving", tokens_per_s=[10.0], output_tokens=[0.0]), "empty", "1 row generated nothing"),
        (
            rows(phase="serving", tokens_per_s=[10.0], requests=[90.0], failures=[10.0]),
            "failures",
            "10 requests failed (10\u00a0%) in 1 row",
        ),
        (
            rows(phase="serving", ttft_s=[0.1], ttft_p95_s=[0.2], requests=[20.0]),
            "p95",
            "a p95 of 20 requests",
        ),
        (
            rows(phase="serving", ttft_s=[0.1], ttft_p99_s=[0.2], requests=[200.0]),
            "p99",
            "500 or more are needed",
        ),
        (rows(tokens_per_s=[10.0, 10.0], model=["m", "m"]), "duplicates", "1 row is there twice"),
        (
            rows(tokens_per_s=[10.0, 20.0, 40.0], batch=[1.0, 2.0, 4.0], tokens_per_s_basis="device"),
            "proportional",
            "exactly proportional to the batch",
        ),
        (
            rows(tokens_per_s=[10.0], note=["Extrapolated from 8 GPUs"]),
            "not_measured",
            "computed and not measured",
        ),
        (rows(tokens_per_s=[10.0, 11.0], spread=[0.3, 0.01]), "busy", "one by 30\u00a0%"),
        (
            rows(
                phase="serving",
                ttft_s=[0.1, 0.11, 1.2],
                concurrency=[1.0, 2.0, 64.0],
                prompt_tokens=[500.0, 505.0, 498.0],
            ),
            "queueing",
            "12.0 times as long at 64 at once as alone",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 14 else "",
)
def test_each_fault_is_found_and_told(table, code, text):
    found = {finding.code: words.sentence(finding) for finding in check(table)}
    assert list(found) == [code]
    assert text in found[code]


def test_a_cold_request_that_a_file_marks():
    assert codes(
        rows(phase="serving", ttft_s=[3.0], note=["cold: the first request after the server started"])
    ) == ["cold_rows"]


def test_shapes_that_are_not_those_that_will_run():
    found = {f.code: words.sentence(f) for f in check(requests(STEADY), Shape(8000, 500, 64))}
    assert "measured at 550 tokens of context, and the scenario has 8,250" in found["context"]
    assert "measured with 4 at once, and the scenario has 64" in found["batch"]
    assert check(requests(STEADY), Shape(900, 100, 8)) == ()


def test_the_own_depth_sweep_was_measured_on_a_busy_machine():
    name = "llama-bench_135m_Q8_0_depth.csv"
    read = read_benchmark(name, (preset_root() / "this_machine" / name).read_bytes())
    (found,) = check(read.rows)
    assert found.code == "busy"
    assert found.values["most"] > 0.7


def test_an_empty_table_has_no_findings():
    assert check(rows(tokens_per_s=[1.0]).iloc[:0], Shape(1, 1, 1)) == ()


def test_the_head_counts():
    found = check(requests([1.0, *STEADY], cached_tokens=np.full(41, 250.0)))
    assert words.head(found) == "2 checks on the benchmark itself ask for attention"
    assert words.head(found[:1]) == "1 check on the benchmark itself asks for attention"
