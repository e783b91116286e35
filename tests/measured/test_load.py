"""Measuring a server: streams timed by their usage, failures told and counted, loads kept, files that can be gone on with."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.load import Level, Runner, arrivals
from slmopt.measured.load_file import ROW, LoadFile, rows_of
from slmopt.measured.load_prompts import Prompts, read_prompts
from slmopt.measured.load_summary import drift, drift_of, summaries
from slmopt.measured.placed import Facts
from slmopt.measured.stream_client import Endpoint, request
from slmopt.specs.base import SpecError
from slmopt.words import load as words
from tests.measured.streaming_server import TOKENS, serving


@pytest.fixture(scope="module")
def server():
    with serving() as found:
        yield found


def ask(server, model="good", **more):
    return request(Endpoint.of(server.url, model, **{"timeout_s": 5.0, **more}), "one two three", 16)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_tokens_are_those_of_the_usage_and_not_chunks(server, api):
    found = ask(server, api=api)
    assert found.error == ""
    assert (found.output_tokens, found.chunks, found.prompt_tokens, found.cached_tokens) == (TOKENS, 3, 6, 4)
    assert 0 < found.ttft_s < found.e2e_s
    assert found.tpot_s == pytest.approx((found.e2e_s - found.ttft_s) / (TOKENS - 1))
    assert found.chunk_gap_s == pytest.approx((found.e2e_s - found.ttft_s) / 2)
    asked = server.asked[-1]
    assert asked["path"] == ("/v1/chat/completions" if api == "chat" else "/v1/completions")
    assert asked["stream_options"] == {"include_usage": True}
    assert asked["max_tokens"] == 16


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("refuses", "HTTP 503: no slot is free"),
        ("breaks", "the stream ended before it was finished"),
        ("errs", "the server said: out of memory"),
        ("garbles", "a chunk is no JSON: {not json"),
        ("hangs", "time-out after 0.2 s"),
    ],
)
def test_what_goes_wrong_is_told(server, model, error):
    assert ask(server, model, timeout_s=0.2 if model == "hangs" else 5.0).error == error


def test_a_server_that_is_not_there():
    assert request(Endpoint.of("http://127.0.0.1:9/v1", "m", timeout_s=2), "a", 1).error.startswith(
        "ConnectionRefused"
    )


def test_without_usage_there_are_times_but_no_tokens(server):
    found = ask(server, "silent")
    assert found.error == ""
    assert found.output_tokens is None
    assert found.tpot_s is None
    assert found.chunks == 3


def test_a_slow_stream_takes_its_time(server):
    found = ask(server, "slow")
    assert found.ttft_s >= 0.02
    assert found.tpot_s >= 0.04 / (TOKENS - 1) * 0.9


def test_the_key_and_more_travel_with_each_request(server):
    ask(server, key="secret", extra=(("ignore_eos", True),))
    assert server.keys[-1] == "Bearer secret"
    assert server.asked[-1]["ignore_eos"] is True


@pytest.mark.parametrize(
    ("url", "path", "api"),
    [
        ("http://host:1", "/v1/chat/completions", "chat"),
        ("https://host/v1/", "/v1/chat/completions", "chat"),
        ("http://host/api/v1/completions", "/api/v1/completions", "completions"),
    ],
)
def test_addresses(url, path, api):
    found = Endpoint.of(url, "m")
    assert (found.path, found.api) == (path, api)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host", "http://", "http://host:port/"])
def test_addresses_that_are_none(url):
    with pytest.raises(SpecError, match="http://localhost:8080/v1"):
        Endpoint.of(url, "m")


def runner(server, tmp_path, model="good", *, resume=False, name="rows.jsonl", tokens=20):
    settings = {
        "model": model,
        "api": "chat",
        "url": "u",
        "seed": 1,
        "prompt_tokens": tokens,
        "output_tokens": 16,
        "prompts_file": "",
    }
    file = (LoadFile.resume if resume else LoadFile.start)(tmp_path / name, settings)
    shown = []
    made = Runner(Endpoint.of(server.url, model, timeout_s=5.0), Prompts(tokens, 1), 16, file, shown.append)
    return made, file, shown


def test_so_many_are_in_flight_and_every_row_is_written(server, tmp_path):
    run, file, shown = runner(server, tmp_path, "slow")
    done = run.level(Level(concurrency=4, requests=12))
    file.close()
    rows = rows_of(tmp_path / "rows.jsonl")
    assert sorted(row["request"] for row in rows) == list(range(12))
    assert (done.done, done.failed, done.tokens) == (12, 0, 12 * TOKENS)
    assert max(row["in_flight"] for row in rows) == 4
    assert len(shown) == 12
    (found,) = summaries(rows)
    assert (found.requests, found.failures, found.output_tokens) == (12, 0, TOKENS)
    assert found.tokens_per_s == pytest.approx(12 * TOKENS / found.wall_s)


def test_a_rate_arrives_at_random_times_that_a_seed_fixes(server, tmp_path):
    times = np.array(list(islice(arrivals(50.0, 3), 4000)))
    gaps = np.diff(times, prepend=0.0)
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    # Gaps of a Poisson process spread as much as they last.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.06)
    assert list(islice(arrivals(50.0, 3), 9)) == times[:9].tolist()
    assert next(arrivals(50.0, 4)) != times[0]
    run, file, _ = runner(server, tmp_path)
    done = run.level(Level(rate=400.0, requests=20))
    file.close()
    assert (done.done, done.failed) == (20, 0)


def test_a_time_ends_a_level(server, tmp_path):
    run, file, _ = runner(server, tmp_path, "slow")
    done = run.level(Level(concurrency=2, seconds=0.3))
    file.close()
    assert 2 <= done.done < 40


def test_failures_are_counted_and_no_success(server, tmp_path):
    run, file, _ = runner(server, tmp_path, "sometimes")
    run.level(Level(concurrency=1, requests=9))
    file.close()
    (found,) = summaries(rows_of(tmp_path / "rows.jsonl"))
    assert (found.requests, found.failures) == (6, 3)
    assert found.errors == (("HTTP 503: no slot is free", 3),)
    assert any(text.startswith("failed 3 times: HTTP 503") for text in words.notes(found))


def test_a_stopped_run_is_gone_on_with(server, tmp_path):
    path = tmp_path / "rows.jsonl"
    run, file, _ = runner(server, tmp_path)
    run.level(Level(concurrency=1, requests=3))
    file.close()
    path.write_bytes(path.read_bytes() + b'{"slmopt_request": 1, "kind": "timed", "requ')
    run, file, _ = runner(server, tmp_path, resume=True)
    assert run.level(Level(concurrency=2, requests=8)).done == 8
    file.close()
    run, file, _ = runner(server, tmp_path, resume=True)
    assert run.level(Level(concurrency=2, requests=10)).done == 2
    assert run.level(Level(concurrency=1, requests=3)).done == 0
    file.close()
    rows = rows_of(path)
    assert len(rows) == 13
    assert all(line.startswith("{") and line.endswith("}") for line in path.read_text().splitlines())


@pytest.mark.parametrize("load", [Level(concurrency=2), Level(rate=50.0)], ids=["concurrency", "rate"])
def test_a_timed_run_goes_on_for_what_is_left_of_its_minutes(server, tmp_path, load):
    path = tmp_path / "rows.jsonl"
    _, file, _ = runner(server, tmp_path)
    for number, (at, took) in enumerate([(10.0, 2.0), (3000.0, 9.0), (2990.0, None)]):
        row = {ROW: 1, "kind": "timed", "level": load.name, "request": number, "at_s": at, "e2e_s": took}
        file.write(row | {"error": "" if took else "timed out"})
    file.close()
    # 2,999 s were measured (10 to 3,009): a run of so long has nothing left to send, and one of 0.3 s more ends at once.
    run, file, _ = runner(server, tmp_path, resume=True)
    run.alone("warmup", -1)
    assert run.level(replace(load, seconds=2999.0)).done == 0
    found = run.level(replace(load, seconds=2999.3))
    file.close()
    assert found.done > 0
    new = [row for row in rows_of(path) if row["kind"] == "timed"][3:]
    assert {row["request"] for row in new}.isdisjoint({0, 1, 2})
    assert all(row["at_s"] >= 3009.0 for row in new)
    (summary,) = summaries(rows_of(path))
    assert summary.wall_s == pytest.approx(max(row["at_s"] + row["e2e_s"] for row in new) - 10.0)


def test_files_of_others_and_of_other_settings_are_left_alone(server, tmp_path):
    _, file, _ = runner(server, tmp_path)
    file.close()
    with pytest.raises(SpecError, match="exists: --resume goes on with it"):
        runner(server, tmp_path)
    with pytest.raises(SpecError, match="was measured with model = 'good', now it is 'slow'"):
        runner(server, tmp_path, "slow", resume=True)
    (tmp_path / "mine.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(SpecError, match=r"mine\.jsonl was not written by slmopt measure"):
        runner(server, tmp_path, resume=True, name="mine.jsonl")


def test_stopping_sends_no_further_request(server, tmp_path):
    run, file, _ = runner(server, tmp_path, "slow")
    threading.Timer(0.1, run.stop).start()
    assert run.level(Level(concurrency=2, requests=10_000)).done < 100
    file.close()


def test_prompts_are_all_different_and_learn_their_length(server, tmp_path):
    run, file, _ = runner(server, tmp_path, tokens=40)
    run.alone("warmup", -1)
    run.level(Level(concurrency=1, requests=4))
    file.close()
    warm, *timed = rows_of(tmp_path / "rows.jsonl")
    assert (warm["kind"], warm["prompt_tokens"]) == ("warmup", 80)
    assert [row["prompt_tokens"] for row in timed] == [40] * 4
    texts = {asked["messages"][0]["content"] for asked in server.asked[-5:]}
    assert len(texts) == 5
    assert len({text.split()[0:3].__str__() for text in texts}) == 5


def test_prompts_of_a_file():
    assert read_prompts(b"one\n\ntwo\n", "a.txt") == ("one", "two")
    lines = b'{"prompt": "p"}\n{"messages": [{"role": "user", "content": "m"}]}\n{not json\n'
    assert read_prompts(lines, "a.jsonl") == ("p", "m", "{not json")
    with pytest.raises(SpecError, match="holds no prompt"):
        read_prompts(b"\n", "a.txt")
    with pytest.raises(SpecError, match="line 1 has neither prompt nor messages"):
        read_prompts(b'{"x": 1}\n', "a.jsonl")


def test_drift_is_told_only_beyond_chance():
    steady = np.array([1.0, 1.1, 0.9, 1.05, 0.95] * 6)
    assert not drift_of(steady).real
    throttled = np.concatenate([steady, 1.2 * steady, 1.5 * steady])
    found = drift_of(throttled)
    assert found.real
    assert found.change == pytest.approx(0.5, abs=0.02)
    assert drift_of(steady[:12]) is None
    rows = [{"at_s": float(at), "e2e_s": float(value)} for at, value in enumerate(throttled)]
    assert drift(rows).change == pytest.approx(found.change)


def measured_with_failures(server, path):
    """A cold request, a warm-up and eight timed ones, every third of all refused."""
    settings = {
        "model": "Llama-3.2-1B",
        "api": "chat",
        "url": "u",
        "seed": 1,
        "device": "NVIDIA GeForce RTX 4090",
        "weights": "F16",
    }
    file = LoadFile.start(path, settings)
    run = Runner(
        Endpoint.of(server.url, "sometimes", timeout_s=5.0), Prompts(20, 1), 16, file, lambda _: None
    )
    run.alone("cold", -9)
    run.alone("warmup", -1)
    run.level(Level(concurrency=2, requests=8))
    file.close()
    return rows_of(path)


def test_the_product_reads_its_own_file_back(tmp_path):
    path = tmp_path / "rows.jsonl"
    with serving() as fresh:
        rows_written = measured_with_failures(fresh, path)
    read = read_benchmark("mine.jsonl", path.read_bytes())
    assert read.format == "slmopt measure jsonl"
    whole = read.rows[read.rows["statistic"] == "p50"].iloc[0]
    failures = sum(bool(row["error"]) for row in rows_written if row["kind"] == "timed")
    assert (whole["requests"], whole["failures"]) == (8 - failures, failures)
    assert whole["row"] == "concurrency 2"
    assert whole["tokens_per_s_basis"] == "device"
    singles = read.rows[read.rows["statistic"] == "single"]
    assert len(singles) == 8 - failures + 1
    assert (singles["note"] == "cold: the first request after the server started").sum() == 1
    assert singles["timestamp"].notna().all()
    assert len(read.skipped) == failures
    assert "HTTP 503" in read.skipped["why"].iloc[0]
    judged = compare(read.rows, Facts()).rows
    assert judged["ceiling"].notna().all()


def test_broken_lines_of_its_own_file_are_no_error():
    lines = [
        {"slmopt_measure": 1, "model": "m"},
        {
            "slmopt_request": 1,
            "kind": "timed",
            "at_s": "x",
            "e2e_s": "y",
            "ttft_s": 0.1,
            "in_flight": None,
            "level": 3,
        },
        {"slmopt_request": 1},
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    assert len(read_benchmark("a.jsonl", content).rows) >= 1
