"""``report``: a file in each form, and one sentence for what cannot be."""

from __future__ import annotations

import zipfile

import pytest

from tests.cli.command import CARD, MODEL_7B, call
from tests.shared import ROOT

SWEEP = ROOT / "presets" / "this_machine" / "llama-bench_moe_Q8_0.csv"


def report(*more: str):
    return call("report", "--model", MODEL_7B, "--device", CARD, "--weights", "16", "--kv", "16", *more)


@pytest.mark.parametrize(
    ("ending", "starts"), [("html", b"<!doctype html>"), ("md", b"# "), ("zip", b"PK"), ("pptx", b"PK")]
)
def test_each_form(tmp_path, ending, starts):
    file = tmp_path / f"out.{ending}"
    answer = report("--out", str(file), "--json")
    assert answer.code == 0, answer.err
    assert file.read_bytes().startswith(starts)
    assert answer.json["bytes"] == file.stat().st_size


def test_what_is_assumed_is_said_and_written(tmp_path):
    file = tmp_path / "out.md"
    answer = call("report", "--model", MODEL_7B, "--device", CARD, "--out", str(file))
    assert answer.code == 0
    assert "q4_k_m is assumed" in answer.out


def test_measured_rows_are_a_section(tmp_path):
    file = tmp_path / "out.md"
    made = ("--model", "granite-3.1-1b-a400m", "--device", "epyc-2core", "--weights", "q8_0")
    answer = call("report", *made, "--measured", str(SWEEP), "--out", str(file))
    assert answer.code == 0, answer.err
    text = file.read_text(encoding="utf-8")
    assert "How close does each measured row come to its ceiling?" in text
    assert "Nothing measured" not in text


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--out", "x.pdf"), "A report is written as .html, .pptx, .md, .zip"),
        (("--out", "no/such/folder/x.md"), "cannot be written"),
        ((), "--out"),
        (("--out", "x.md", "--measured", "no.csv"), "no.csv"),
        (("--out", "x.md", "--measured", str(ROOT / "Makefile")), "can be judged"),
        (("--out", "x.md", "--prompt", "0"), "--prompt = 0"),
    ],
)
def test_bad_input_is_one_sentence(flags, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = report(*flags)
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_archive_opens(tmp_path):
    file = tmp_path / "out.zip"
    report("--out", str(file))
    assert "scenario.json" in zipfile.ZipFile(file).namelist()
