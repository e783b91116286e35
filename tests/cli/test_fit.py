"""``fit``, and estimates that start from what it wrote."""

from __future__ import annotations

import json

import pytest

from slmopt.specs.calibration import Calibration
from tests.cli.command import call
from tests.measured.sweeps import DEVICE, sweep

MADE = Calibration(
    overlap="none", bandwidth_gbs=30, batched_gbs=18, matrix_tflops=0.15, attention_tflops=0.02, fixed_ms=1.5
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.csv"
    path.write_bytes(sweep(MADE))
    return str(path)


def test_the_fit_is_printed_written_and_used(file, tmp_path):
    out = str(tmp_path / "fit.json")
    answer = call("fit", file, "--device", DEVICE, "--out", out)
    assert answer.code == 0, answer.err
    assert "Bandwidth, several tokens a pass" in answer.out
    assert "rows left out" in answer.out
    assert answer.err == f"wrote {out}\n"
    told = call(
        "estimate",
        "--model",
        "llama-3.2-1b",
        "--device",
        DEVICE,
        "--weights",
        "f16",
        "--fit",
        out,
        "--batch",
        "64",
        "--json",
    )
    assert told.code == 0
    assert told.json["sources"][0].startswith("estimate: fitted to your rows (60 rows")
    assert "batch 64 sequences (measured 1 to 16)" in told.json["warnings"][0]
    plain = call("estimate", "--model", "llama-3.2-1b", "--device", DEVICE, "--weights", "f16", "--json").json
    assert plain["ceiling"]["decode"] == {**told.json["ceiling"]["decode"], **plain["ceiling"]["decode"]}


def test_json_has_errors_terms_and_points(file):
    found = call("fit", file, "--device", DEVICE, "--json").json
    assert found["calibration"]["overlap"] == "none"
    assert set(found["errors"]) == {
        "in_sample",
        "row_left_out",
        "model_left_out",
        "ceiling",
        "constant_fraction",
    }
    assert [term["name"] for term in found["terms"]] == [
        "bandwidth",
        "batched",
        "matrix",
        "attention",
        "fixed",
    ]
    assert len(found["rows"]) == 60


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "{file}"], "0 points of decode or prefill"),
        (["fit", "{file}", "--device", DEVICE, "--out", "/nowhere/a.json"], "cannot be written"),
        (
            ["estimate", "--model", "llama-3.2-1b", "--device", DEVICE, "--fit", "{file}"],
            "--fit: the text is no JSON",
        ),
        (
            ["estimate", "--model", "llama-3.2-1b", "--device", DEVICE, "--fit", "nowhere.json"],
            "--fit: 'nowhere.json' does not exist",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, sentence, file):
    answer = call(*(argument.format(file=file) for argument in arguments))
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_what_is_written_is_a_calibration(file, tmp_path):
    out = tmp_path / "fit.json"
    call("fit", file, "--device", DEVICE, "--out", str(out))
    assert Calibration.model_validate(json.loads(out.read_text())).rows == 60
