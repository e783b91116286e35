"""``measure`` from the command line, against a small server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.command import call
from tests.measured.streaming_server import TOKENS, serving
from tests.shared import ROOT


@pytest.fixture(scope="module")
def server():
    with serving() as found:
        yield found


def measure(server, tmp_path, *more, model="good", name="rows.jsonl"):
    flags = [
        "--url",
        server.url,
        "--model",
        model,
        "--out",
        str(tmp_path / name),
        "--prompt-tokens",
        "20",
        "--timeout",
        "5",
    ]
    return call("measure", *flags, *more)


def test_levels_are_measured_and_written(server, tmp_path):
    answer = measure(server, tmp_path, "--concurrency", "1,2", "--requests", "4", "--cold", "--json")
    assert answer.code == 0, answer.err
    levels = answer.json["levels"]
    assert [level["level"] for level in levels] == ["concurrency 1", "concurrency 2"]
    assert levels[0]["output_tokens"] == TOKENS
    assert set(levels[0]["ttft_s"]) == {"p50", "p95", "p99"}
    assert "cold request: first token after" in answer.err
    assert "concurrency 2: 4 of 4 done, 0 failed" in answer.err
    kinds = [json.loads(line).get("kind") for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert kinds == [None, "cold", "warmup", "warmup", *["timed"] * 8]
    told = call(
        "compare",
        str(tmp_path / "rows.jsonl"),
        "--device",
        "rtx-4090",
        "--model",
        "llama-3.2-1b",
        "--weights",
        "f16",
    )
    assert told.code == 0, told.err
    assert "slmopt measure jsonl" in told.out


def test_text_says_what_was_measured_and_what_to_beware_of(server, tmp_path):
    out = measure(
        server, tmp_path, "--requests", "3", "--rate", "500", "--api", "completions", model="silent"
    ).out
    assert "rate 500: 3 requests in" in out
    assert "3 answers told no usage" in out
    assert "the p95 rests on 1 request" in out


def test_a_run_goes_on_where_it_stopped(server, tmp_path):
    measure(server, tmp_path, "--requests", "2")
    assert "exists: --resume goes on with it" in measure(server, tmp_path, "--requests", "4").err
    found = measure(server, tmp_path, "--requests", "4", "--resume", "--json").json["levels"][0]
    assert found["requests"] == 4


def test_prompts_of_a_file_are_sent_in_turn(server, tmp_path):
    (tmp_path / "prompts.txt").write_text("alpha beta\ngamma delta\n")
    measure(server, tmp_path, "--prompts", str(tmp_path / "prompts.txt"), "--requests", "4", "--warmup", "0")
    assert {asked["messages"][0]["content"] for asked in server.asked[-4:]} == {"alpha beta", "gamma delta"}


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--concurrency", "0"], "--concurrency = 0: give whole numbers between 1 and 1,024, such as 1,2,4."),
        (["--rate", "-1"], "--rate = -1: it must be above 0."),
        (["--requests", "0"], "--requests = 0: it must be a whole number between 1 and"),
        (["--api-key-env", "SLMOPT_NO_SUCH"], "no such environment variable is set"),
        (["--prompts", "nowhere.txt"], "does not exist"),
        (["--rate", "1", "--concurrency", "2"], "not allowed with"),
    ],
)
def test_bad_flags_are_one_line_and_exit_2(server, tmp_path, flags, sentence):
    answer = measure(server, tmp_path, *flags)
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_bad_address_is_refused(tmp_path):
    answer = call("measure", "--url", "localhost", "--model", "m", "--out", str(tmp_path / "a"))
    assert answer.code == 2
    assert "must begin with http:// or https://" in answer.err
    assert not (tmp_path / "a").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signal to one process")
def test_an_interrupt_loses_nothing_and_leaves_no_traceback(server, tmp_path):
    out = tmp_path / "rows.jsonl"
    flags = [
        "--url",
        server.url,
        "--model",
        "slow",
        "--out",
        str(out),
        "--concurrency",
        "4",
        "--minutes",
        "5",
    ]
    # Started in the background, tests inherit that interrupts are ignored, and would hand it on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "slmopt", "measure", *flags],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and (not out.exists() or len(out.read_text().splitlines()) < 8):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (
        "stopped: what was measured is in rows.jsonl; the same command with --resume goes on with it" in err
    )
    assert "Traceback" not in err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) >= 8


def test_rows_that_state_no_speed_leave_no_notes(server, tmp_path):
    measure(server, tmp_path, "--requests", "2", model="silent")
    told = call(
        "compare",
        str(tmp_path / "rows.jsonl"),
        "--device",
        "rtx-4090",
        "--model",
        "llama-3.2-1b",
        "--weights",
        "f16",
    )
    assert "0 rows:" not in told.out
