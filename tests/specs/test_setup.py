"""A scenario resolved: overrides before presets, rates by operand and engine, factors with their origin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import Scenario, SpecError, scenario
from slmopt.specs.device import RATES
from slmopt.specs.formats import KERNELS, CacheFormat, WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.rates import default_compute
from slmopt.specs.setup import inline, resolve
from tests.strategies import few, scenarios

MODEL = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}
RATED = {"fp32": 10, "fp16": 100, "fp8": 200, "int8": 210, "int4": 400, "fp4": 800}


def question(**more: object) -> Scenario:
    base = {"model": MODEL, "device": {"bandwidth_gbs": 2000, "peak_tflops": RATED}, "weights": {"bits": 16}}
    return scenario({**base, **more})


@pytest.mark.parametrize(
    ("field", "wanted", "sentence"),
    [
        ("model", "llama-3.2-1bb", "model = 'llama-3.2-1bb' is not known. Did you mean llama-3.2-1b"),
        ("draft_model", "lama-2-7b", "draft model = 'lama-2-7b' is not known. Did you mean llama-2-7b"),
        ("device", "article-80gbs", "device = 'article-80gbs' is not known. Did you mean article-80gb"),
        ("weights", "q4_k_n", "weight format = 'q4_k_n' is not known. Did you mean "),
        ("cache_k", "q8_1", "cache format = 'q8_1' is not known. Did you mean "),
        ("cache_v", "q8_1", "cache format = 'q8_1' is not known. Did you mean "),
    ],
)
def test_what_is_not_known_is_named_with_what_is_near(field, wanted, sentence):
    with pytest.raises(SpecError) as caught:
        resolve(question(**{field: wanted}))
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith("?")
    assert "\n" not in str(caught.value)


def test_nothing_near_is_not_made_up():
    with pytest.raises(SpecError) as caught:
        resolve(question(model="ΩΩΩ"))
    assert str(caught.value) == "model = 'ΩΩΩ' is not known."


@pytest.mark.parametrize("written", ["llama-2-7b", "LLAMA 2 7B", "Llama_2_7b", "Llama-2-7B"])
def test_presets_are_found_whatever_the_spelling(written):
    assert resolve(question(model=written)).model == library().models["llama-2-7b"]


def test_an_unknown_file_type_names_the_known_ones():
    weights = {"id": "x", "name": "x", "recipe": "q9_k"}
    with pytest.raises(SpecError, match=r"^recipe = 'q9_k' is no GGUF file type: choose one of .*q4_k_m"):
        resolve(question(weights=weights))


def test_overrides_come_before_the_preset_and_give_way_when_emptied():
    preset = question(device="article-80gb")
    changed = preset.change(bandwidth_gbs=60, peak_tflops=3, capacity_gb=7, buffers_gb=1, price_per_hour=0)
    ours = resolve(changed)
    assert (ours.bandwidth, ours.decode.ceiling, ours.prefill.ceiling) == (60e9, 3e12, 3e12)
    assert (ours.capacity, ours.buffers, ours.price_per_hour) == (7e9, 1e9, 0)
    assert ours.decode.estimate_type == "entered"
    back = changed.change(
        bandwidth_gbs=None, peak_tflops=None, capacity_gb=None, buffers_gb=None, price_per_hour=None
    )
    assert resolve(back) == resolve(preset)
    assert (resolve(back).bandwidth, resolve(back).capacity) == (2e12, 80e9)


def test_entered_bits_replace_the_preset_format():
    setup = resolve(question(weights="q4_k_m", weight_bits=6))
    assert setup.weights.bits == 6
    assert setup.weight_bytes == 7e9 * 6 / 8


def test_values_are_stored_like_keys_unless_said_otherwise():
    assert resolve(question(cache_k={"bits": 8})).cache_v.bits == 8
    setup = resolve(question(cache_k={"bits": 8}, cache_v={"bits": 4.5}))
    assert [cache.bits for cache in setup.cache] == [8, 4.5]


@pytest.mark.parametrize(
    ("weights", "fastest"),
    [
        ({"bits": 32}, "fp32"),
        ({"bits": 16}, "fp16"),
        ({"bits": 8.5}, "int8"),
        ({"bits": 4.5}, "int4"),
        ({"bits": 8, "operand": "fp8"}, "fp8"),
        ({"bits": 4.25, "operand": "fp4"}, "fp4"),
    ],
)
def test_the_ceiling_takes_the_fastest_rate_for_the_operands(weights, fastest):
    peak = resolve(question(weights=weights)).decode
    assert (peak.ceiling_type, peak.ceiling) == (fastest, RATED[fastest] * 1e12)


@pytest.mark.parametrize("operand", sorted(KERNELS))
def test_wider_kernels_serve_narrower_operands_where_they_are_faster(operand):
    rates = dict.fromkeys(KERNELS[operand], 10.0)
    slowest_first = dict(zip(KERNELS[operand], range(1, 20), strict=False))
    weights = {"bits": 8, "operand": operand}
    for published in (rates, slowest_first):
        device = {"bandwidth_gbs": 100, "peak_tflops": published}
        assert resolve(question(device=device, weights=weights)).decode.ceiling == 1e12 * max(
            published.values()
        )


def test_an_fp32_rate_alone_bounds_no_narrower_operands():
    device = {"bandwidth_gbs": 100, "peak_tflops": {"fp32": 2}}
    peak = resolve(question(device=device)).decode
    assert (peak.ceiling, peak.estimate, peak.ceiling_type) == (None, None, "unknown")
    assert peak.known == (("device fp32", 2e12),)
    assert resolve(question(device=device, weights={"bits": 32})).decode.ceiling == 2e12


def test_a_rate_not_published_is_not_made_up():
    peak = resolve(question(device={"bandwidth_gbs": 100})).prefill
    assert (peak.ceiling, peak.estimate) == (None, None)
    assert "no rate" in peak.reason
    assert resolve(question(device={"bandwidth_gbs": 100}, peak_tflops=7)).prefill.ceiling == 7e12


@few
@given(scenarios(), st.sampled_from([None, *RATES]))
def test_the_engines_rate_is_a_published_one_and_never_above_the_ceiling(s, compute):
    setup = resolve(s.change(compute=compute))
    published = {rate * 1e12 for rate in setup.device.unit(None).peak_tflops.values()}
    for peak in (setup.decode, setup.prefill):
        assert peak.ceiling in published
        assert peak.estimate in published
        assert peak.estimate <= peak.ceiling
        assert peak.reason


@pytest.mark.parametrize("engine", ["exact", "llama.cpp", "vllm", "sglang"])
@pytest.mark.parametrize("operand", sorted(KERNELS))
def test_every_engine_has_a_compute_type_for_every_operand_with_a_reason(engine, operand):
    kind, reason = default_compute(engine, WeightFormat(id="w", name="w", bits=8, operand=operand))
    assert kind in RATES
    assert reason
    assert kind in KERNELS[operand], "a kernel that would lose values"


def test_the_chosen_compute_type_is_used_and_said():
    peak = resolve(question(weights={"bits": 4.5}, compute="int8")).decode
    assert (peak.estimate, peak.estimate_type, peak.ceiling) == (210e12, "int8", 400e12)
    assert peak.reason == "the compute type that you chose"
    missing = resolve(question(compute="tf32")).decode
    assert missing.estimate == 100e12
    assert missing.reason == "tf32 is not published for this unit, so fp16 stands in"


def test_factors_are_the_reference_band_unless_entered():
    free = resolve(question()).factors
    assert not free.fitted
    assert free.bandwidth[0] <= free.bandwidth[1] <= free.bandwidth[2] <= 1
    assert "reference measurements" in free.origin
    half = resolve(question(bandwidth_fraction=0.5)).factors
    assert half.bandwidth == (0.5,) * 3
    assert half.compute == free.compute
    assert half.origin.startswith("entered; ")
    assert not half.fitted
    fitted = resolve(
        question(bandwidth_fraction=0.5, compute_fraction=0.4, fixed_ms=2, factors_origin="fit of 12 rows")
    ).factors
    assert (fitted.compute, fitted.fixed_s, fitted.fitted) == ((0.4,) * 3, 2e-3, True)
    assert fitted.origin == "fit of 12 rows"
    assert resolve(question(fixed_ms=0)).factors.fixed_s == 0


def test_a_context_beyond_the_models_limit_is_a_warning():
    model = {**MODEL, "context_limit": 4096}
    assert resolve(question(model=model, context=4096)).warnings == ()
    (note,) = resolve(question(model=model, context=4097)).warnings
    assert note == "A context of 4,097 tokens is beyond the 4,096 that 7B was made for."


def test_the_same_scenario_is_resolved_once():
    assert resolve(question()) is resolve(question())


def test_inline_descriptions_are_checked_by_kind():
    assert isinstance(inline("model", MODEL), Model)
    assert isinstance(inline("cache", {"bits": 8}), CacheFormat)
    assert inline("model", {"params": 1.5e8}).name == "0.15B"
    assert inline("weights", {"bits": 4.5}).bits == 4.5
    for kind, values, sentence in [
        ("model", {"param": 7e9}, "model: param is not a known field. Did you mean params?"),
        ("device", {}, "device: bandwidth_gbs is missing."),
        (
            "device",
            {"bandwidth_gbs": -1},
            "device: bandwidth_gbs = -1 GB/s: it should be greater than 0.",
        ),
        ("weights", {"bits": -4}, "weights: bits = -4: it should be greater than 0 and at most 64."),
        ("cache", 5, "cache: it should be a preset's id or a whole description."),
    ]:
        with pytest.raises(SpecError) as caught:
            inline(kind, values)
        assert str(caught.value) == sentence


def test_a_device_is_fully_described_or_says_what_is_wrong():
    with pytest.raises(SpecError, match=r"^device: give peak_tflops or units, not both\.$"):
        inline("device", {"bandwidth_gbs": 1, "peak_tflops": 1, "units": [{"name": "a"}]})
    with pytest.raises(
        SpecError, match=r"fp16 rate -3 TFLOPS: it must be above 0, or left out where unknown\.$"
    ):
        inline("device", {"bandwidth_gbs": 1, "peak_tflops": {"fp16": -3}})
    with pytest.raises(SpecError, match=r"^device: memory must be above 0\.$"):
        inline("device", {"bandwidth_gbs": 1, "capacity_gb": 0})
    with pytest.raises(SpecError, match=r"^device: units = \[\]: give at least 1\.$"):
        inline("device", {"bandwidth_gbs": 1, "units": []})
