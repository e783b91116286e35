"""The scenario: one frozen object that a link, a file and the command line carry; bad input in one clear sentence."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from pydantic import ValidationError

from slmopt import Scenario, SpecError, scenario
from slmopt.specs.scenario import UNITS
from tests.strategies import few, scenarios


@few
@given(scenarios(ways=True))
def test_a_scenario_survives_json_and_hashes_alike(s):
    again = scenario(json.loads(s.model_dump_json()))
    assert again == s
    assert hash(again) == hash(s)
    assert Scenario.model_validate_json(s.model_dump_json(exclude_defaults=True)) == s


def test_the_defaults_are_a_whole_question():
    s = Scenario()
    assert s.version == 1
    assert s.depth == s.prompt + s.output
    assert json.loads(s.model_dump_json(exclude_defaults=True)) == {}


def test_context_is_prompt_and_output_unless_given():
    s = Scenario(prompt=10, output=5)
    assert (s.context, s.depth) == (None, 15)
    assert s.change(context=0).depth == 0
    assert s.change(context=99).change(context=None).depth == 15


def test_a_scenario_is_frozen_and_changes_into_another():
    s = Scenario(prompt=1000)
    with pytest.raises(ValidationError, match="frozen"):
        s.prompt = 5
    other = s.change(prompt=5, bandwidth_gbs=60)
    assert (s.prompt, s.bandwidth_gbs) == (1000, None)
    assert (other.prompt, other.bandwidth_gbs) == (5, 60)
    assert other.change(prompt=1000, bandwidth_gbs=None) == s


def test_models_and_formats_may_be_described_inline_in_a_few_words():
    s = scenario(
        {
            "model": {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128},
            "device": {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80},
            "weights": {"bits": 4.5},
            "cache_k": {"bits": 16},
            "draft_model": {"params": 5e8},
        }
    )
    assert (s.model.id, s.model.name) == ("inline", "7B")
    assert s.draft_model.name == "0.5B"
    assert s.device.units[0].peak_tflops == {"any": 400}
    assert s.device.capacities == (80e9,)
    assert (s.weights.bits, s.weights.name, s.cache_k.name) == (4.5, "4.5-bit", "16-bit")


# Each names the field, the value, what is allowed and the unit.
SENTENCES = [
    ({"bandwidth_gbs": -5}, "bandwidth_gbs = -5 GB/s: it should be greater than 0."),
    ({"bandwidth_gbs": 0}, "bandwidth_gbs = 0 GB/s: it should be greater than 0."),
    (
        {"bandwidth_gbs": math.nan},
        "bandwidth_gbs = nan: it should be a finite number greater than 0, in GB/s.",
    ),
    (
        {"bandwidth_gbs": math.inf},
        "bandwidth_gbs = inf: it should be a finite number greater than 0, in GB/s.",
    ),
    ({"bandwidth_gbs": "fast"}, "bandwidth_gbs = 'fast': it should be a number greater than 0, in GB/s."),
    ({"peak_tflops": -1}, "peak_tflops = -1 TFLOPS: it should be greater than 0."),
    ({"weight_bits": 65}, "weight_bits = 65 bits: it should be greater than 0 and at most 64."),
    ({"prompt": 0}, "prompt = 0 tokens: it should be between 1 and 100,000,000."),
    ({"prompt": 1.5}, "prompt = 1.5 tokens: it should be a whole number between 1 and 100,000,000."),
    ({"prompt": None}, "prompt = None: it should be a whole number between 1 and 100,000,000, in tokens."),
    ({"context": -1}, "context = -1 tokens: it should be between 0 and 100,000,000."),
    ({"batch": 0}, "batch = 0 sequences: it should be between 1 and 10,000,000."),
    ({"acceptance": 1.5}, "acceptance = 1.5: it should be between 0 and 1."),
    ({"bandwidth_fraction": 0}, "bandwidth_fraction = 0: it should be greater than 0 and at most 1."),
    ({"fixed_ms": -0.5}, "fixed_ms = -0.5 ms: it should be at least 0."),
    ({"target_users": 0}, "target_users = 0: it should be at least 1."),
    ({"engine": "lmdeploy"}, "engine = 'lmdeploy': it should be 'exact', 'llama.cpp', 'vllm' or 'sglang'."),
    ({"allocation": "lazy"}, "allocation = 'lazy': it should be 'paged' or 'reserved'."),
    ({"version": 2}, "version = 2: it should be 1."),
    ({"name": 5}, "name = 5: it should be text."),
    ({"bandwith_gbs": 3}, "bandwith_gbs is not a known field. Did you mean bandwidth_gbs?"),
    ({"colour": "blue"}, "colour is not a known field."),
    ({"model": 5}, "model = 5: it should be a preset's id or a whole description."),
    ({"model": {"params": -1}}, "model.params = -1: it should be greater than 0."),
    ({"model": {"parms": 7e9}}, "model.parms is not a known field. Did you mean params?"),
    (
        {"model": {}},
        "model: a model needs either layer groups or a parameter count (params), not both and not neither.",
    ),
    ({"model": {"params": 7e9, "layers": -2}}, "model.layers = -2: it should be at least 0."),
    ({"draft_model": {"params": 0}}, "draft_model.params = 0: it should be greater than 0."),
    ({"device": {"bandwidth_gbs": -3}}, "device.bandwidth_gbs = -3 GB/s: it should be greater than 0."),
    ({"device": {"peak_tflops": 3}}, "device.bandwidth_gbs is missing."),
    (
        {"device": {"bandwidth_gbs": 3, "host_link": {"gbs": 0}}},
        "device.host_link.gbs = 0 GB/s: it should be greater than 0.",
    ),
    (
        {"device": {"bandwidth_gbs": 3, "capacity_gb": 8, "capacity_gib": 8}},
        "device: give capacity_gb (10^9 bytes) or capacity_gib (2^30 bytes), not both.",
    ),
    ({"weights": {"bits": 0}}, "weights.bits = 0: it should be greater than 0 and at most 64."),
    ({"weights": {"bit": 4}}, "weights.bit is not a known field. Did you mean bits?"),
    ({"cache_k": {"bits": "x"}}, "cache_k.bits = 'x': it should be a number greater than 0 and at most 64."),
]


@pytest.mark.parametrize(("values", "sentence"), SENTENCES)
def test_bad_input_is_named_in_one_sentence(values, sentence):
    with pytest.raises(SpecError) as caught:
        scenario(values)
    assert str(caught.value) == sentence


def test_a_place_inside_a_description_is_written_out():
    groups = [{"count": 1}, {"count": 1, "attention": {"heads": 3, "kv_heads": 2, "head_dim": 4}}]
    sentence = "model.groups[1].attention: 3 heads cannot share 2 KV heads: give a divisor of heads."
    with pytest.raises(SpecError) as caught:
        scenario({"model": {"hidden": 8, "vocab": 8, "groups": groups}})
    assert str(caught.value) == sentence
    with pytest.raises(
        SpecError, match=r"^model\.groups\[0\] = 4: it should be an object with named values\.$"
    ):
        scenario({"model": {"hidden": 8, "vocab": 8, "groups": [4]}})


def test_a_long_value_is_cut_short():
    with pytest.raises(SpecError, match="…") as caught:
        scenario({"engine": "x" * 500})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("hit", [10, 11, 5000])
def test_the_last_prompt_token_is_always_computed(hit):
    assert Scenario(prompt=10, prefix_hit=9).prefix_hit == 9
    with pytest.raises(SpecError) as caught:
        scenario({"prompt": 10, "prefix_hit": hit})
    assert str(caught.value) == (
        f"prefix_hit = {hit} tokens: it must be at most prompt - 1 = 9, "
        "since the last prompt token has to be computed to give the first token."
    )
    with pytest.raises(SpecError, match="prefix_hit = 9 tokens"):
        Scenario(prompt=10, prefix_hit=9).change(prompt=9)


def test_a_shared_prefix_fits_in_the_context():
    assert Scenario(context=100, shared_prefix=100).shared_prefix == 100
    with pytest.raises(
        SpecError, match=r"^shared_prefix = 101 tokens: it must be at most the context of 100 "
    ):
        scenario({"context": 100, "shared_prefix": 101})


def test_every_number_with_a_unit_in_its_name_has_one_in_its_sentence():
    endings = {"_gbs": "GB/s", "_tflops": "TFLOPS", "_gb": "GB", "_ms": "ms", "_bits": "bits", "_w": "W"}
    for name in Scenario.model_fields:
        for ending, unit in endings.items():
            if name.endswith(ending):
                assert UNITS[name] == unit
    counts = {"prompt", "output", "context", "prefix_hit", "shared_prefix", "draft_tokens", "block_tokens"}
    assert {name for name in counts if UNITS.get(name) != "tokens"} == set()
