"""``advise`` and ``solve``: the contract's keys, gains as factors, and one line for what is wrong."""

from __future__ import annotations

import pytest

from slmopt.advice.diagnosis import PARTS
from slmopt.specs.library import preset_root
from tests.cli.command import CARD, MODEL_1B, MODEL_7B, SMALL, call

EVEN = ("--bandwidth-fraction", "1", "--compute-fraction", "1", "--fixed-ms", "0")
SERVER = ("--model", MODEL_7B, "--device", CARD, "--weights", "16", "--kv", "16", *EVEN)


def advise(*flags: str):
    answer = call("advise", *flags, "--json")
    assert answer.code == 0, answer.err
    return answer.json


def test_the_articles_server():
    found = advise(*SERVER, "--batch", "16", "--prompt", "2000", "--output", "200", "--context", "4000")
    assert found["bottleneck"] == {
        "ttft": "compute",
        "tpot": "cache",
        "throughput": "cache",
        "capacity": "cache",
    }
    techniques = {t["id"]: t for t in found["techniques"]}
    keys = {"id", "pile", "applies", "why", "ttft_gain", "tpot_gain", "throughput_gain", "capacity_gain"}
    assert all(keys <= t.keys() for t in found["techniques"])
    assert techniques["group_heads"]["capacity_gain"] == pytest.approx(125 / 31)
    assert techniques["quantise_weights"]["ttft_gain"] == pytest.approx(1.0)
    assert "compute-bound" in techniques["quantise_weights"]["why"]
    assert techniques["cache_prefix"]["tpot_gain"] == pytest.approx(1.0)
    assert techniques["keep_resident"]["applies"] is False
    assert found["targets"] == []


def test_targets_are_judged_and_the_smallest_change_named():
    flags = ("--prompt", "2000", "--output", "200", "--ttft-ms", "50", "--tpot-ms", "40", "--users", "31")
    found = advise(*SERVER, *flags, "--context", "4000", "--memory-gb", "70", "--tokens-per-s", "100")
    judged = {t["name"]: t for t in found["targets"]}
    assert judged["tpot"]["met"] is True
    assert judged["tpot"]["target"] == pytest.approx(0.04)
    assert judged["ttft"]["verdict"] == "missed"
    assert judged["ttft"]["value"] == pytest.approx(0.07)
    assert judged["users"] == {**judged["users"], "met": True, "value": 31.0, "target": 31.0}
    assert judged["memory"]["met"] is True
    assert judged["tokens_per_s"]["met"] is True
    assert {change["target"] for change in found["changes"]} == {"ttft"}
    assert any("prompt of 1,428 tokens" in change["change"] for change in found["changes"])


SWEEP = preset_root() / "this_machine"
HERE = ("--model", "llama-3.2-1b", "--device", "epyc-2core", "--weights", "q4_0")


def test_measurements_change_the_diagnosis(tmp_path):
    file = str(SWEEP / "llama-bench_1b_Q4_0.csv")
    found = advise(*HERE, "--measured", file)
    assert found["bottleneck"]["tpot"] in ("weights", "software")
    assert {item["id"]: item["state"] for item in found["checklist"]}["measure"] == "done"
    slow = tmp_path / "slow.csv"
    slow.write_text(
        "model,device,phase,tokens_per_s,batch,context,weight_format\n"
        "Llama-3.2-1B,AMD EPYC 2 cores,decode,1.5,1,100,Q4_0\n",
        encoding="utf-8",
    )
    told = advise(*HERE, "--measured", str(slow))
    assert told["bottleneck"]["tpot"] == "software"
    assert told["without"]["tpot"]["software"] > 2
    other = call("advise", "--model", "llama-3.1-70b", "--device", "h200-sxm-141gb", "--measured", file)
    assert other.code == 0
    assert "no row is of" in other.err


def test_a_rate_makes_times_percentiles():
    alone = advise(*SERVER, "--prompt", "2000", "--ttft-ms", "500")["targets"][0]
    busy = advise(*SERVER, "--prompt", "2000", "--ttft-ms", "500", "--rate", "1")["targets"][0]
    assert not alone["p95"]
    assert busy["p95"]
    assert busy["value"] > alone["value"]
    assert advise(*SERVER, "--prompt", "2000", "--rate", "100")["bottleneck"]["ttft"] == "queueing"


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--ttft-ms", "500", "--tpot-ms", "40", "--users", "3"),
        ("--rate", "1"),
        ("--draft-tokens", "4", "--acceptance", "0.6", "--draft-cost", "0.1", "--verify-cost", "0.4"),
        ("--output", "1"),
    ],
)
@pytest.mark.parametrize("device", ["rtx-4090", "snapdragon-8-elite", SMALL, "cpu-ddr4-2666-dual"])
def test_text_and_json_hold_everywhere(device, flags):
    where = ("--model", "llama-3.2-1b", "--device", device, *flags)
    text = call("advise", *where)
    assert text.code == 0, text.err
    assert text.out.startswith("What holds it back")
    assert "**" not in text.out
    found = advise(*where)
    assert all(part is None or part in PARTS for part in found["bottleneck"].values())
    assert len(found["checklist"]) >= 12


def test_solve_by_hand_and_in_words():
    flags = (
        "--model",
        MODEL_1B,
        "--device",
        SMALL,
        "--weights",
        "16",
        *EVEN,
        "--prompt",
        "1000",
        "--output",
        "1",
    )
    answer = call("solve", *flags, "--for", "peak_tflops", "--target", "ttft_ms=250", "--json")
    found = answer.json
    assert found["value"] == pytest.approx(8.0)
    assert found["unit"] == "TFLOPS"
    assert found["target"] == {"ttft_ms": 250.0}
    assert found["reachable"] is True
    text = call("solve", *flags, "--for", "prompt", "--target", "ttft_ms=250", "--level", "ceiling").out
    assert "prompt of 500 tokens just gives" in text


def test_solve_says_what_is_out_of_reach():
    flags = ("--model", MODEL_1B, "--device", SMALL, "--weights", "16")
    answer = call("solve", *flags, "--for", "bandwidth_gbs", "--target", "ttft_ms=1", "--json")
    assert answer.code == 0
    assert answer.json["reachable"] is False
    assert answer.json["value"] is None
    assert answer.json["why"]
    listed = call("solve", *flags, "--for", "device", "--target", "tpot_ms=5", "--json").json
    assert "h100-sxm-80gb" in listed["value"]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("advise --ttft-ms 0", "--ttft-ms = 0"),
        ("advise --users 0", "--users = 0"),
        ("advise --rate -1", "--rate = -1"),
        ("advise --tpot-ms ten", "'ten' is not a number"),
        ("advise --measured nowhere.csv", "nowhere.csv"),
        ("advise --verify-cost -1", "--verify-cost = -1"),
        ("advise --draft-device rtx-4090", "draft_device needs draft_model"),
        ("solve --for bits", "--target"),
        ("solve --for speed --target tpot_ms=5", "--for"),
        ("solve --for bits --target tpot=5", "--target"),
        ("solve --for bits --target tpot_ms", "--target"),
        ("solve --for bits --target tpot_ms=x", "'x' is not a number"),
        ("solve --for bits --target tpot_ms=0", "must be above 0"),
        ("solve --for bits --target tpot_ms=5 --rate 0", "--rate = 0"),
        ("solve --for bits --target tpot_ms=5 --level best", "--level"),
    ],
)
def test_bad_input_is_one_line(command, named):
    name, *flags = command.split()
    answer = call(name, "--model", MODEL_7B, "--device", CARD, *flags)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert named in answer.err


RATED = (
    "--model",
    "llama-3.1-8b",
    "--device",
    "rtx-4090",
    "--rate",
    "1",
    "--prompt",
    "1000",
    "--output",
    "100",
)


def test_requests_are_played_beside_the_closed_form():
    found = advise(*RATED, "--ttft-ms", "400", "--tpot-ms", "30", "--users", "2", "--simulate")
    run = found["simulation"]
    assert run["requests"] == 500
    assert run["closed_form"]["ttft_p95_s"] > 0
    told = {target["name"]: target for target in found["targets"]}
    assert told["ttft"]["simulated"] == run["ttft_p95_s"]
    assert told["ttft"]["simulated_met"] == (run["ttft_p95_s"] <= 0.4)
    assert (told["users"]["simulated"], told["users"]["simulated_met"]) == (None, None)
    plain = advise(*RATED, "--ttft-ms", "400")
    assert "simulation" not in plain
    assert "simulated" not in plain["targets"][0]


def test_the_text_says_which_was_used():
    answer = call("advise", *RATED, "--ttft-ms", "120", "--simulate")
    assert answer.code == 0, answer.err
    assert "The same requests, played" in answer.out
    assert "found with the closed form" in answer.out


def test_a_solution_is_played():
    asked = ("solve", *RATED, "--for", "bandwidth_gbs", "--target", "tpot_ms=10", "--simulate")
    found = call(*asked, "--json").json
    assert found["reachable"]
    assert found["simulation"]["met"] == (found["simulation"]["tpot_p95_s"] <= 0.010)
    assert found["simulation"]["closed_form"]["tpot_p95_s"] == pytest.approx(0.010, rel=1e-6)
    text = call(*asked).out
    assert "plays the requests" in text
    assert "Played, it" in text


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("advise", "--model", MODEL_1B, "--device", CARD, "--simulate"), "--simulate needs --rate"),
        (("solve", *RATED, "--for", "bits", "--target", "users=9", "--simulate"), "take ttft_ms or tpot_ms"),
        (("advise", *RATED, "--devices", "2", "--simulate"), "more memories than one"),
    ],
)
def test_what_cannot_be_played_is_one_line(flags, why):
    answer = call(*flags)
    assert answer.code == 2
    assert why in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err


def test_how_it_serves_changes_the_answer():
    flags = ("--model", "llama-3.1-8b", "--device", "rtx-4090", "--batch", "8", "--prompt", "4000")
    usual = call("estimate", *flags, "--json").json
    assert usual["serving"]["batching"] == "continuous"
    more = (
        "--prefill-chunk-tokens",
        "512",
        "--residency",
        "cold",
        "--storage-gbs",
        "4",
        "--attention-kernels",
        "unfused",
    )
    found = call("estimate", *flags, *more, "--json").json
    assert found["serving"]["ceiling"]["load_s"] == pytest.approx(found["capacity"]["weight_bytes"] / 4e9)
    assert found["estimate"]["latency"]["ttft_s"] > usual["estimate"]["latency"]["ttft_s"]
    assert found["serving"]["estimate"]["stall_s"] < usual["serving"]["estimate"]["stall_s"]
    assert found["estimate"]["decode"]["score_bytes"] > 0
    assert found["estimate"]["decode"]["kv_bytes"] == usual["estimate"]["decode"]["kv_bytes"]
    groups = call("estimate", *flags, "--batching", "static", "--output-spread", "0.5", "--json").json
    assert groups["estimate"]["decode"]["tokens_per_s"] < usual["estimate"]["decode"]["tokens_per_s"]
    techniques = {t["id"]: t for t in advise(*flags, *more)["techniques"]}
    assert techniques["keep_resident"]["applies"]
    assert techniques["keep_resident"]["ttft_gain"] > 1
    plain = {t["id"]: t for t in advise(*flags)["techniques"]}
    assert plain["chunk_prefill"]["stall_gain"] > 1


@pytest.mark.parametrize(
    ("flag", "value", "why"),
    [
        ("--prefill-chunk-tokens", "0", "--prefill-chunk-tokens = 0 tokens"),
        ("--output-spread", "1.5", "--output-spread = 1.5"),
        ("--storage-gbs", "0", "--storage-gbs = 0.0 GB/s"),
        ("--draft-heads-gb", "-1", "--draft-heads-gb = -1.0 GB"),
        ("--batching", "loose", "invalid choice"),
    ],
)
def test_bad_ways_to_serve_are_one_line(flag, value, why):
    answer = call("estimate", "--model", MODEL_1B, "--device", CARD, flag, value)
    assert answer.code == 2
    assert why in answer.err


def test_no_format_is_best_without_an_evaluation_and_one_is_with_it(tmp_path):
    scores = tmp_path / "scores.csv"
    scores.write_text("format,score,valid\nq4_k_m,0.7,0.99\nq8_0,0.9,1\n")
    flags = ("--model", "llama-3.1-8b", "--device", "rtx-4090", "--weights", "f16", "--scores", str(scores))
    found = advise(*flags)["quality"]
    assert found["best"] is None
    assert "say which score is good enough" in found["verdict"]
    found = advise(*flags, "--score-floor", "0.8")["quality"]
    assert found["best"] == "q8_0"
    assert {row["id"]: row["passes"] for row in found["formats"]}["q4_k_m"] is False
    text = call("advise", *flags, "--score-floor", "0.8").out
    assert "scores 0.7 on your task" in text
    assert "Q8_0 is the fastest that passes your evaluation" in text
    out = tmp_path / "report.md"
    assert call("report", *flags, "--score-floor", "0.8", "--out", str(out)).code == 0
    assert "the fastest that passes your evaluation" in out.read_text()
    answer = call("advise", "--model", MODEL_1B, "--device", CARD, "--score-floor", "1")
    assert answer.code == 2
    assert "need --scores" in answer.err


def test_the_text_names_pile_cost_and_end_of_each_technique():
    out = call(
        "advise", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--batch", "8", "--prompt", "4000"
    ).out
    assert "What each belongs to, costs, and after what it stops helping" in out
    assert (
        "Chunk the prefill: outside the piles: prefill; costs: the newcomer's first token comes later" in out
    )
    assert "memory  stall" in out
