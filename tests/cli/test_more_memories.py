"""``estimate`` over several devices, and with layers on the host."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import call, estimate

MODEL = json.dumps({"params": 7e9, "layers": 32, "kv_heads": 8, "head_dim": 128})
CARD = json.dumps(
    {
        "bandwidth_gbs": 1000,
        "peak_tflops": 100,
        "capacity_gb": 24,
        "link": {"gbs": 50},
        "host_link": {"gbs": 30},
    }
)
HOST = json.dumps({"bandwidth_gbs": 100, "peak_tflops": 2, "capacity_gb": 64})
PLAIN = ("--weights", "16", "--kv", "16", "--context", "1000", "--prompt", "500")


def test_one_device_has_no_link_and_one_memory():
    found = estimate(MODEL, CARD, *PLAIN)
    assert found["link"] is None
    assert found["offload"] is None
    assert found["memories"] == [
        {
            "place": "device",
            "usable_bytes": 24e9,
            "weight_bytes": 14e9,
            "max_sequences": found["capacity"]["max_sequences"],
        }
    ]


def test_two_devices_halve_a_step():
    one, two = (estimate(MODEL, CARD, *PLAIN, "--devices", count) for count in ("1", "2"))
    assert two["ceiling"]["decode"]["step_s"] == pytest.approx(one["ceiling"]["decode"]["step_s"] / 2)
    assert two["capacity"]["weight_bytes"] == 7e9
    assert two["capacity"]["kv_bytes_per_token"] == one["capacity"]["kv_bytes_per_token"] / 2
    assert two["capacity"]["max_sequences"] > 2 * one["capacity"]["max_sequences"]
    assert two["roofline"] == {"ridge": 100.0, "bandwidth": 2e12, "peak_flops": 200e12}
    assert (two["link"]["bandwidth"], two["link"]["latency_s"]) == (50e9, None)
    assert any("latency" in line for line in two["warnings"])


def test_the_link_is_what_was_entered():
    flags = ("--devices", "4", "--link-gbs", "10", "--link-latency-us", "5")
    found = estimate(MODEL, CARD, *PLAIN, *flags)
    assert (found["link"]["bandwidth"], found["link"]["latency_s"]) == (10e9, 5e-6)
    # Two all-reduces a layer; how wide the model is is not known, so only their messages count.
    assert found["link"]["decode_s"] == pytest.approx(64 * 5e-6)
    stages = estimate(MODEL, CARD, *PLAIN, *flags, "--parallel", "pipeline")
    assert stages["link"]["decode_s"] == pytest.approx(3 * 5e-6)
    assert stages["memories"][0]["place"] == "stage"


def test_layers_on_the_host():
    found = estimate(MODEL, CARD, *PLAIN, "--gpu-layers", "24", "--host", HOST)
    cache = 1000 * 32 * 2 * 8 * 128 * 2
    seconds = (14e9 + cache) * (0.75 / 1e12 + 0.25 / 100e9)
    assert found["ceiling"]["decode"]["step_s"] == pytest.approx(seconds)
    assert found["offload"] == {
        "host": "inline",
        "layers_on_device": 24,
        "head_on_device": False,
        "layers_with_experts_on_device": 24,
        "gpu_layers_that_fit": 32,
    }
    assert [memory["weight_bytes"] for memory in found["memories"]] == [0.75 * 14e9, 0.25 * 14e9]


def test_a_host_is_assumed_and_said():
    found = estimate(MODEL, CARD, *PLAIN, "--gpu-layers", "24")
    assert any("--host is not given" in line for line in found["assumed"])
    idle = estimate(MODEL, CARD, *PLAIN, "--host", HOST)
    assert any("no effect" in line for line in idle["assumed"])


def test_experts_on_the_host():
    flags = ("--model", "qwen3-30b-a3b", "--device", "rtx-4090", "--json", "--n-cpu-moe", "10")
    found = json.loads(call("estimate", *flags).out)
    assert found["offload"]["layers_on_device"] - found["offload"]["layers_with_experts_on_device"] == 10


def test_engine_flags_reach_the_scenario():
    flags = ("--model", "llama-3.1-8b", "--device", "h100-sxm-80gb", "--json", "--weights", "f16")

    def fit(*more: str) -> int:
        return json.loads(call("estimate", *flags, *more).out)["capacity"]["max_sequences"]

    assert fit("--engine", "vllm", "--gpu-memory-utilization", "0.5") < fit("--engine", "vllm")
    windowed = ("--model", "gemma-3-27b", "--device", "h100-sxm-80gb", "--json", "--context", "30000")

    def held(*more: str) -> float:
        answer = call("estimate", *windowed, "--engine", "llama.cpp", *more)
        return json.loads(answer.out)["capacity"]["kv_bytes_per_sequence"]

    assert held("--micro-batch", "2048", "--memory", "reserved") > held("--memory", "reserved")
    assert held("--full-windows") > held("--no-full-windows")


def test_the_text_says_what_runs_where():
    text = call("estimate", "--model", "llama-3.3-70b", "--device", "rtx-4090", "--devices", "2").out
    assert "2 × NVIDIA GeForce RTX 4090, tensor parallel" in text
    assert "link side" in text
    assert "Memory of each device" in text
    text = call("estimate", "--model", "llama-3.3-70b", "--device", "rtx-4090", "--gpu-layers", "30").out
    assert "NVIDIA GeForce RTX 4090 + Desktop CPU" in text
    assert "29 of 80 layers and the head on the card" in text
    slow = ("--devices", "8", "--link-gbs", "0.1", "--batch", "64")
    assert (
        "limited by the link"
        in call("estimate", "--model", "llama-3.3-70b", "--device", "rtx-4090", *slow).out
    )
