"""``simulate``: the contract's keys, the article's server, overload, traces, and bad input in one line."""

from __future__ import annotations

import pytest

from tests.cli.command import CARD, MODEL_7B, call, estimate
from tests.cli.test_bad_input import refused

KEYS = {
    "completed",
    "rejected",
    "ttft_s",
    "tpot_s",
    "gap_s",
    "e2e_s",
    "output_tokens_per_s",
    "mean_batch",
    "slot_utilisation",
    "peak_kv_bytes",
    "saturated",
}
SERVER = ("simulate", "--model", MODEL_7B, "--device", CARD, "--weights", "16")
IDEAL = ("--bandwidth-fraction", "1", "--compute-fraction", "1", "--fixed-ms", "0")


def simulated(*flags: str):
    answer = call(*SERVER, *flags, "--json")
    assert answer.code == 0, answer.err
    return answer.json


def test_the_contract_s_keys():
    found = simulated("--rate", "1", "--requests", "50")
    assert found.keys() >= KEYS
    for name in ("ttft_s", "tpot_s", "gap_s", "e2e_s"):
        assert found[name].keys() >= {"p50", "p95", "p99"}
    assert found["completed"] == 50
    assert found["rejected"] == 0
    assert found["saturated"] is False


def test_light_load_is_what_estimate_says():
    found = simulated("--rate", "0.001", "--requests", "20", *IDEAL)
    ceiling = estimate(MODEL_7B, CARD, "--weights", "16", *IDEAL)["estimate"]["latency"]
    assert found["ttft_s"]["p50"] == pytest.approx(ceiling["ttft_s"], rel=1e-9)
    assert found["tpot_s"]["p50"] == pytest.approx(ceiling["tpot_s"], rel=1e-9)
    assert found["e2e_s"]["p99"] == pytest.approx(ceiling["reply_s"], rel=1e-9)


def test_the_ceiling_s_rates_differ_from_full_fractions_by_what_is_written_to_the_cache():
    flags = ("--rate", "3", "--requests", "60")
    ideal, ceiling = simulated(*flags, *IDEAL), simulated(*flags, "--rates", "ceiling")
    assert ideal["kind"] == "estimate"
    assert ceiling["kind"] == "ceiling"
    assert ceiling["e2e_s"]["p50"] < ideal["e2e_s"]["p50"] == pytest.approx(ceiling["e2e_s"]["p50"], rel=2e-3)


def test_a_seed_repeats_and_another_differs():
    flags = ("--rate", "2", "--requests", "80", "--output-kind", "geometric")
    assert simulated(*flags, "--seed", "4") == simulated(*flags, "--seed", "4")
    assert simulated(*flags, "--seed", "4")["e2e_s"] != simulated(*flags, "--seed", "5")["e2e_s"]


@pytest.mark.parametrize("policy", ["continuous", "static", "chunked"])
@pytest.mark.parametrize("memory", ["paged", "reserved"])
def test_overload_is_said_and_not_given_as_a_wait(policy, memory):
    found = simulated("--rate", "500", "--requests", "400", "--policy", policy, "--memory", memory)
    assert found["saturated"] is True
    assert found["ttft_s"] == {"p50": None, "p95": None, "p99": None, "mean": None}
    assert found["queue_growth_per_s"] > 400
    assert found["completed"] == 400
    assert found["peak_kv_bytes"] <= 66e9
    said = call(*SERVER, "--rate", "500", "--requests", "400", "--policy", policy, "--memory", memory)
    assert said.out.startswith("Overloaded: the queue grows by about")
    assert said.err == ""


def test_a_trace_is_served_and_what_cannot_be_is_counted(tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "arrival_s,prompt_tokens,output_tokens\n1,100,10\n0,200,20\n-1,5,5\n2,100,0\n3,1000000,10\n",
        encoding="utf-8",
    )
    found = simulated("--trace", str(trace))
    assert (found["completed"], found["rejected"]) == (2, 3)
    assert found["rejected_why"] == {"negative_time": 1, "no_output": 1, "larger_than_memory": 1}
    text = call(*SERVER, "--trace", str(trace)).out
    assert "1 a time below 0" in text.replace("\u00a0", " ")
    assert "sorted in" in text


def test_a_model_beyond_the_memory_is_an_answer():
    found = call(
        "simulate", "--model", "llama-3.1-70b", "--device", "rtx-4090", "--rate", "1", "--requests", "5"
    )
    assert found.code == 0
    assert found.out.startswith("Nothing could be served: 5 larger than the memory.")


def test_targets_give_goodput():
    found = simulated("--rate", "0.5", "--requests", "40", "--ttft-ms", "500", "--tpot-ms", "1", *IDEAL)
    assert found["goodput"] == {"share": 0.0, "requests_per_s": 0.0, "tokens_per_s": 0.0}
    met = simulated("--rate", "0.01", "--requests", "40", "--ttft-ms", "500", "--tpot-ms", "40", *IDEAL)
    assert met["goodput"]["share"] == 1


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("", "Give --rate"),
        ("--rate 1", "Give --rate"),
        ("--rate 0 --requests 5", "--rate = 0"),
        ("--rate -1 --requests 5", "--rate = -1"),
        ("--rate nan --requests 5", "--rate: 'nan'"),
        ("--rate 1 --requests 0", "--requests = 0"),
        ("--rate 1 --requests 5 --batch 0", "--batch = 0"),
        ("--rate 1 --requests 5 --policy eager", "--policy"),
        ("--rate 1 --requests 5 --memory none", "--memory"),
        ("--rate 1 --requests 5 --policy chunked --batch 64 --token-budget 64", "--token-budget = 64"),
        ("--rate 1 --requests 5 --seed -1", "--seed = -1"),
        ("--rate 1 --requests 5 --hit-rate 2", "--hit-rate = 2"),
        ("--rate 1 --requests 5 --output-kind uniform --spread 3", "between 0 and 1"),
        ("--rate 1 --requests 5 --prompt 0", "--prompt = 0"),
        ("--rate 1 --requests 4000000 --output 1000", "a run takes at most"),
        ("--rate 1 --requests 5 --replicas", "--replicas needs a target"),
        ("--trace nowhere.csv", "nowhere.csv"),
        ("--trace nowhere.csv --rate 1", "leave out --rate"),
    ],
)
def test_bad_input_is_one_line(flags, named):
    assert named in refused(*SERVER, *flags.split())


def test_a_file_that_is_no_trace(tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_bytes(b"\x00\x01\x02")
    assert "trace" in refused(*SERVER, "--trace", str(wrong)) or "wrong.csv" in refused(
        *SERVER, "--trace", str(wrong)
    )


def test_how_many_devices():
    flags = ("--rate", "12", "--requests", "120", "--ttft-ms", "400", "--tpot-ms", "60", "--replicas", *IDEAL)
    found = simulated(*flags)["replicas"]
    assert 1 <= found["low"] <= found["needed"] <= found["high"]
    assert found["draws"] == 5
    assert "within the targets at 12.0 requests/s" in call(*SERVER, *flags).out
    beyond = simulated("--rate", "1", "--requests", "20", "--ttft-ms", "1", "--replicas", *IDEAL)["replicas"]
    assert beyond["needed"] is None


@pytest.mark.parametrize(
    ("flags", "admission", "budget"),
    [
        ((), "continuous", 2048),
        (("--batching", "static"), "static", 2048),
        (("--prefill-chunk-tokens", "256"), "chunked", 256 + 8),
        (("--prefill-chunk-tokens", "256", "--token-budget", "700"), "chunked", 700),
        (("--batching", "static", "--policy", "continuous"), "continuous", 2048),
    ],
)
def test_the_scenario_admits_unless_a_policy_is_given(flags, admission, budget):
    found = simulated("--rate", "1", "--requests", "20", "--batch", "8", *flags)
    assert found["policy"]["admission"] == admission
    assert found["policy"]["token_budget"] == budget


def test_attention_that_is_not_fused_is_slower_when_played():
    flags = (
        "--model",
        "llama-2-7b",
        "--device",
        CARD,
        "--rate",
        "0.2",
        "--requests",
        "20",
        "--prompt",
        "4000",
    )
    times = {}
    for kernels in ("fused", "unfused"):
        answer = call("simulate", *flags, "--attention-kernels", kernels, "--compute-fraction", "1", "--json")
        times[kernels] = answer.json["tpot_s"]["p50"]
    assert times["unfused"] > times["fused"]
