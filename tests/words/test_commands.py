"""Commands: the scenario's own numbers, what does not fit is split, and nothing in a name takes effect in a shell."""

from __future__ import annotations

import json
import shlex

import pytest

from slmopt.advice.launch import launch
from slmopt.cli.run import build_parser
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import commands as words

BASE = {"model": "llama-3.1-8b", "device": "rtx-4090", "weights": "q4_k_m", "prompt": 1000, "output": 100}


def lines(found):
    return [shlex.split(command.text) for command in found]


def flag(words_, name):
    return words_[words_.index(name) + 1]


def test_the_scenario_s_numbers_are_measured():
    bench, batched, vllm, own = lines(
        words.checks(evaluate(scenario({**BASE, "batch": 8, "cache_k": "q8_0"})))
    )
    assert bench[0] == "llama-bench"
    assert (flag(bench, "-p"), flag(bench, "-n"), flag(bench, "-d")) == ("1000", "100", "0,1100")
    assert (flag(bench, "-ctk"), flag(bench, "-ctv"), flag(bench, "-ngl")) == ("q8_0", "q8_0", "99")
    assert (flag(batched, "-npl"), flag(batched, "-c")) == ("1,2,4,8", "8800")
    assert (flag(vllm, "--max-concurrency"), flag(vllm, "--num-prompts")) == ("8", "100")
    assert flag(vllm, "--model") == "meta-llama/Llama-3.1-8B"
    # The product's own command is one that its command line takes.
    options = build_parser().parse_args(own[3:])
    assert (options.prompt_tokens, options.output_tokens, options.concurrency) == (1000, 100, "1,2,4,8")


def test_one_sequence_needs_no_batched_bench():
    assert [line[0] for line in lines(words.checks(evaluate(scenario(BASE))))] == [
        "llama-bench",
        "vllm",
        "python",
    ]


def test_a_server_starts_with_all_sequences_context():
    made = scenario({**BASE, "batch": 4, "gpu_memory_utilization": 0.9, "cache_k": "fp8", "micro_batch": 256})
    llama, vllm = lines(words.launches(evaluate(made)))
    assert (flag(llama, "-c"), flag(llama, "-np"), flag(llama, "-ub")) == ("4400", "4", "256")
    assert (flag(vllm, "--max-model-len"), flag(vllm, "--max-num-seqs")) == ("1100", "4")
    assert (flag(vllm, "--gpu-memory-utilization"), flag(vllm, "--kv-cache-dtype")) == ("0.9", "fp8")
    assert any("F16, then runs" in note for note in words.notes(evaluate(made)))


def test_what_does_not_fit_is_split_by_layers():
    e = evaluate(scenario({**BASE, "model": "llama-3.3-70b"}))
    found = launch(e)
    layers = e.setup.model.layer_count
    assert found.cpu_experts is None
    assert 0 < found.gpu_layers < layers
    # As many layers stay as fit beside the cache, and not one more.
    freed = (layers - found.gpu_layers) / layers * e.capacity.weight_bytes
    one = e.capacity.weight_bytes / layers
    assert freed - one < e.capacity.held_now - e.capacity.usable <= freed
    llama, _ = lines(words.launches(e))
    assert flag(llama, "-ngl") == str(found.gpu_layers)


def test_experts_go_to_main_memory_first():
    e = evaluate(scenario({**BASE, "model": "qwen3-30b-a3b", "capacity_gb": 12}))
    found = launch(e)
    assert 0 < found.cpu_experts <= 48
    llama, _ = lines(words.launches(e))
    assert (flag(llama, "--n-cpu-moe"), flag(llama, "-ngl")) == (str(found.cpu_experts), "99")


@pytest.mark.parametrize("name", ["a; rm -rf ~", "-evil --flag", "$(touch x)", "`x`", "a\nb", "'\"", ""])
def test_names_are_harmless_in_a_shell(name):
    model = {"id": "x", "name": name or "x", "params": 1e9, "hf_id": f"{name}/{name}"}
    e = evaluate(scenario({**BASE, "model": model}))
    for command in (*words.checks(e), *words.launches(e)):
        parts = shlex.split(command.text)
        assert not set(command.text) & set(";$`\n&|<>~")
        at = (
            parts.index("-m") + 1
            if parts[0].startswith("llama")
            else parts.index("--model") + 1
            if "--model" in parts
            else 2
        )
        assert not parts[at].startswith("-")


@pytest.mark.parametrize(
    ("more", "split", "served"),
    [
        ({"devices": 4}, "row", ["--tensor-parallel-size", "4"]),
        ({"devices": 4, "parallel": "pipeline"}, "layer", ["--pipeline-parallel-size", "4"]),
        (
            {"devices": 2, "parallel": "expert", "model": "gpt-oss-20b"},
            "layer",
            ["--tensor-parallel-size", "2", "--enable-expert-parallel"],
        ),
    ],
)
def test_several_devices_are_started_as_the_scenario_shares_the_model(more, split, served):
    e = evaluate(scenario({**BASE, **more}))
    llama, vllm = lines(words.launches(e))
    assert flag(llama, "-sm") == flag(lines(words.checks(e))[0], "-sm") == split
    assert vllm[-len(served) :] == served
    assert any("does not spread experts" in note for note in words.notes(e)) == (
        more.get("parallel") == "expert"
    )


def test_layers_and_experts_lie_where_the_scenario_puts_them():
    e = evaluate(scenario({**BASE, "gpu_layers": 10}))
    llama, _ = lines(words.launches(e))
    assert flag(llama, "-ngl") == flag(lines(words.checks(e))[0], "-ngl") == "10"
    assert not any("does not fit" in note for note in words.notes(e))
    e = evaluate(scenario({**BASE, "model": "gpt-oss-20b", "cpu_moe_layers": 6, "gpu_layers": 20}))
    llama, _ = lines(words.launches(e))
    assert (flag(llama, "-ngl"), flag(llama, "--n-cpu-moe")) == ("20", "6")


def test_a_draft_is_started_by_both_servers():
    e = evaluate(scenario({**BASE, "draft_model": "llama-3.2-1b", "draft_tokens": 5}))
    llama, vllm = lines(words.launches(e))
    assert flag(llama, "--draft-max") == "5"
    config = json.loads(flag(vllm, "--speculative-config"))
    assert config == {"model": "meta-llama/Llama-3.2-1B", "num_speculative_tokens": 5}


def test_a_server_feeds_and_attends_as_the_scenario_has_it():
    made = scenario(
        {
            **BASE,
            "batch": 4,
            "prefill_chunk_tokens": 512,
            "batching": "static",
            "attention_kernels": "unfused",
        }
    )
    llama, vllm = lines(words.launches(evaluate(made)))
    assert (flag(llama, "-b"), flag(llama, "-fa")) == ("516", "off")
    assert "--no-cont-batching" in llama
    assert flag(vllm, "--max-num-batched-tokens") == "516"
