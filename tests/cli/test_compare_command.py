"""``compare``: the contract's keys, text for people, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from slmopt.specs.library import preset_root
from tests.cli.command import call
from tests.measured import llama_bench_files as bench

SWEEP = Path(str(preset_root() / "this_machine"))
F16 = str(SWEEP / "llama-bench_1b_F16.csv")
Q4 = str(SWEEP / "llama-bench_135m_Q4_K_M.csv")
BATCHED = str(SWEEP / "batched-bench_135m_Q8_0_t2.jsonl")
MACHINE = '{"bandwidth_gbs": 37.8, "peak_tflops": 0.19, "reference_class": "cpu"}'
ROW = {"row", "phase", "measured", "ceiling", "fraction", "bound", "verdict", "reasons", "note"}
VERDICTS = {"near_ceiling", "typical", "below_typical", "far_below", "above_ceiling", "unknown"}


def test_keys_are_those_of_the_contract():
    answer = call("compare", F16, Q4, "--device", MACHINE, "--json")
    assert answer.code == 0, answer.err
    found = answer.json
    assert set(found) == {"format", "rows", "skipped", "needs", "checks"}
    assert found["format"] == "llama-bench csv"
    assert len(found["rows"]) == 4 + 6
    for row in found["rows"]:
        assert set(row) >= ROW
        assert row["verdict"] in VERDICTS
        assert isinstance(row["reasons"], list)
        assert isinstance(row["note"], str)
        assert row["bound"] in {"memory", "compute"}
        assert row["fraction"] == pytest.approx(row["measured"] / row["ceiling"])
    assert found["needs"] == []
    assert found["skipped"] == []
    decode = next(r for r in found["rows"][:4] if r["phase"] == "decode" and r["measured"] > 10)
    assert round(100 * decode["fraction"]) == 100
    assert decode["verdict"] == "near_ceiling"


def test_text():
    answer = call("compare", F16, Q4, "--device", MACHINE)
    assert answer.code == 0
    assert "llama-bench_1b_F16.csv" in answer.out
    assert "near the ceiling" in answer.out
    assert "≤ 15.3" in answer.out
    assert "100 %" in answer.out


def test_what_a_file_lacks_is_asked_for_and_can_be_given():
    asked = call("compare", BATCHED, "--json").json
    assert asked["needs"] == ["device", "model", "weights"]
    assert {row["verdict"] for row in asked["rows"]} == {"unknown"}
    assert all(row["ceiling"] is None for row in asked["rows"])
    assert "--device, --model, --weights" in call("compare", BATCHED).out
    given = ("--device", MACHINE, "--model", "smollm2-135m", "--weights", "q8_0")
    found = call("compare", BATCHED, *given, "--json").json
    assert found["needs"] == []
    assert {row["batch"] for row in found["rows"]} == {1, 2, 4, 8, 16, 32}


def test_rows_left_out_are_listed(tmp_path):
    lines = Path(F16).read_text().splitlines()
    file = tmp_path / "shifted.csv"
    file.write_text("\n".join([*lines, lines[-1] + ',"more"']))
    found = call("compare", str(file), "--device", MACHINE, "--json").json
    assert len(found["rows"]) == 4
    assert len(found["skipped"]) == 1
    assert set(found["skipped"][0]) >= {"row", "why"}
    assert "Left out" in call("compare", str(file), "--device", MACHINE).out


def test_a_long_file_is_summed_up(tmp_path):
    lines = Path(F16).read_text().splitlines()
    file = tmp_path / "long.csv"
    file.write_text("\n".join([lines[0], *lines[1:] * 60]))
    answer = call("compare", str(file), "--device", MACHINE)
    assert "median share of the ceiling" in answer.out
    assert len(answer.out.splitlines()) < 60


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\x02" * 500, b"just words\n", b"{", b"GGUF\x03\x00", b"build_commit,cpu_info\n"],
)
def test_files_that_are_no_benchmark(tmp_path, content: bytes):
    file = tmp_path / "odd.csv"
    file.write_bytes(content)
    answer = call("compare", str(file), "--device", MACHINE)
    assert answer.code == 2
    assert answer.err.startswith("slmopt: ")
    assert answer.err.count("\n") == 1
    assert "odd.csv" in answer.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--device", "nope"),
        ("--device", '{"bandwidth_gbs": 0}'),
        ("--model", "nope"),
        ("--weights", "-1"),
        ("--kv", "nope"),
        ("--batch", "0"),
        ("--devices", "-2"),
        ("--bandwidth-fraction", "3"),
        ("--engine", "nope"),
    ],
)
def test_flags(flags: tuple[str, str]):
    answer = call("compare", F16, *flags)
    assert answer.code == 2
    assert flags[0] in answer.err
    assert answer.err.count("\n") == 1


def test_a_missing_file():
    answer = call("compare", "/no/such/file.csv")
    assert answer.code == 2
    assert "does not exist" in answer.err


def test_checks_on_the_benchmark_are_told():
    file = str(SWEEP / "llama-bench_135m_Q8_0_depth.csv")
    answer = call("compare", file, "--device", "epyc-2core")
    assert "1 check on the benchmark itself asks for attention" in answer.out
    found = call("compare", file, "--device", "epyc-2core", "--json").json["checks"]
    assert [one["check"] for one in found] == ["busy"]


def test_layers_beside_the_card_are_asked_for_and_held_against_both_memories(tmp_path):
    rows = [bench.BASE | {"gpu_info": "A card", "backends": "CUDA", "model_filename": "Llama-3.1-8B-F16.gguf", "n_gpu_layers": 16, "model_type": "llama 8B F16", "model_n_params": 8030261248, "model_size": 16060522496}]  # fmt: skip
    path = tmp_path / "rows.csv"
    path.write_text(bench.csv_text(rows))
    flags = ["compare", str(path), "--device", '{"bandwidth_gbs": 1000, "peak_tflops": 100}', "--json"]
    alone = call(*flags).json
    assert alone["needs"] == ["host"]
    assert "name the host" in alone["rows"][0]["note"]
    both = call(*flags, "--host", '{"bandwidth_gbs": 50, "peak_tflops": 1}').json
    assert both["needs"] == []
    assert both["rows"][0]["ceiling"] < 0.3 * alone["rows"][0]["ceiling"]
