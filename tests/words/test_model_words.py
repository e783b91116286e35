"""What the page Your model says, checked against numbers worked out by hand."""

import numpy as np
import pytest

from slmopt.readers.preset_file import preset_json, read_presets
from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from slmopt.specs.mend import can_mend, mended
from slmopt.specs.model import Model
from slmopt.specs.weights import stored_bytes, tensor_bits
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.memory import bytes_per_token, cache_bytes
from slmopt.theory.model_shape import layer_weights, params_by_role
from slmopt.words import model as words
from slmopt.words import model_arithmetic as explained
from slmopt.words import model_figures as titles

F16 = library().caches["f16"]
Q4 = library().weights["q4_k_m"]
LLAMA = library().models["llama-3.1-8b"]
GEMMA = library().models["gemma-3-27b"]


def grown(model, now=2200.0):
    return cache_growth(model, F16, F16, now)


def plain(text):
    return text.replace("**", "").replace("\u00a0", " ").replace("\\", "")


@pytest.mark.parametrize("model", library().models.values(), ids=lambda m: m.id)
def test_every_preset_adds_up_and_can_be_told(model):
    growth, roles = grown(model), params_by_role(model)
    assert sum(role.params for role in roles) == pytest.approx(model.stored_params, rel=1e-12)
    assert sum(role.used for role in roles) == pytest.approx(model.active_params, rel=1e-9)
    assert growth.total == pytest.approx(np.asarray(cache_bytes(model, F16, F16, growth.context)))
    assert growth.growing == pytest.approx(bytes_per_token(model, F16, F16))
    strip = layer_weights(model, Q4)
    assert [layer.place for layer in strip] == list(range(0 if model.by_count else model.layer_count))
    if not model.by_count:
        outside = sum(
            tensor.params * bits / 8
            for tensor, bits in zip(model.tensors, tensor_bits(Q4, model), strict=True)
            if tensor.group is None
        )
        assert sum(layer.total for layer in strip) + outside == pytest.approx(stored_bytes(Q4, model))
    said = plain(words.answer(model, growth))
    assert len(said.split()) <= 34
    for title in (titles.layers_title(model, strip), titles.growth_title(growth), titles.roles_title(roles)):
        assert len(title.split()) <= 14
    words.tiles(model, Q4, growth, own_format=False)
    explained.arithmetic(model, Q4, growth, roles, None)


def test_the_answer_holds_size_layers_and_the_cost_of_a_token():
    # 32 layers · 8 KV heads · 128 · (K and V) · 2 bytes = 131,072.
    said = plain(words.answer(LLAMA, grown(LLAMA)))
    assert said == "8.03 B parameters in 32 full layers; one more token of context costs 131 kB."


def test_windows_stop_costing_once_full():
    # A full layer keeps 16 heads · 128 · 2 · 2 bytes = 8,192 a token; ten are full, 52 see 1,024 tokens.
    growth = grown(GEMMA)
    assert growth.growing == 62 * 8192
    assert growth.token_bytes_at(1023) == 62 * 8192
    assert growth.token_bytes_at(1024) == growth.unlimited == 10 * 8192
    assert "at 2,200 tokens one more costs 81.9 kB" in plain(words.answer(GEMMA, growth))
    window = next(one for one in growth.kinds if one.kind == "window")
    assert window.bytes.max() == window.now == 52 * 1024 * 8192
    assert titles.layers_title(GEMMA, layer_weights(GEMMA, Q4)) == "52 of 62 layers see at most 1,024 tokens"


def test_a_state_is_said_to_stay():
    mamba = library().models["mamba-2.8b"]
    growth = grown(mamba)
    assert "however long it is" in words.answer(mamba, growth)
    assert "at any context" in titles.growth_title(growth)


def test_halved_kv_heads_halve_the_cache_and_shed_their_weights():
    model = mended(LLAMA, {"kv_heads": 4})
    assert model.name == "Llama-3.1-8B, mended"
    assert bytes_per_token(model, F16, F16) == 65_536
    # K and V of 32 layers lose 4 heads · 128 rows of 4,096 each.
    assert LLAMA.total_params - model.total_params == 32 * 2 * 4 * 128 * 4096
    assert "kv_heads = 4" in model.note


def test_a_mended_window_bounds_the_cache_there():
    growth = cache_growth(mended(GEMMA, {"window": 512}), F16, F16, 2200.0)
    window = next(one for one in growth.kinds if one.kind == "window")
    assert (window.limit, window.now) == (512, 52 * 512 * 8192)


def test_fewer_experts_make_fewer_active_weights_and_as_many_stored():
    model = library().models["gpt-oss-20b"]
    fewer = mended(model, {"experts_used": 2, "context_limit": 4096})
    assert fewer.total_params == model.total_params
    experts = next(role for role in params_by_role(model) if role.role == "experts")
    assert model.active_params - fewer.active_params == pytest.approx(experts.params * (4 - 2) / 32)
    assert fewer.context_limit == 4096


def test_what_changes_nothing_is_the_same_model():
    assert mended(LLAMA, {"kv_heads": 8, "window": 100, "head_dim": None}) is LLAMA
    assert mended(mended(LLAMA, {"kv_heads": 4}), {"kv_heads": 2}).name == "Llama-3.1-8B, mended"


@pytest.mark.parametrize(
    ("ident", "changes", "said"),
    [
        ("llama-3.1-8b", {"kv_heads": 5}, "give a divisor of heads"),
        ("gpt-oss-20b", {"experts_used": 33}, "active must not exceed experts"),
    ],
)
def test_what_cannot_be_is_named(ident, changes, said):
    with pytest.raises(SpecError, match=said):
        mended(library().models[ident], changes)


def test_latents_have_no_kv_heads_to_mend():
    assert not can_mend(library().models["deepseek-v3"], "kv_heads")
    assert can_mend(library().models["article-7b"], "kv_heads")
    assert mended(library().models["article-7b"], {"kv_heads": 8}).kv_heads == 8


@pytest.mark.parametrize("model", [LLAMA, GEMMA, library().models["article-7b"]], ids=lambda m: m.id)
def test_a_model_comes_back_from_its_preset_file(model):
    assert read_presets(preset_json(model).encode()).models == (model,)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[]", "The list is empty"),
        (b"[1]", "should be an object"),
        (b'[{"id": "x", "name": "X"}]', "number 1|Preset 'X'"),
        (b'[{"name": "X", "bandwidth_gbs": -1}]', "greater than 0"),
        (b'[{"params": 1e99}]', "at most"),
        (b"[" * 100_000, "nested"),
        (b"[{]", "Not valid JSON at line 1"),
        (b"\xff[", "not UTF-8"),
        (b'[{"name": "X", "params": 1e9, "layrs": 3}]', "Did you mean layers"),
    ],
)
def test_a_wrong_preset_file_is_refused_in_one_sentence(data, said):
    with pytest.raises(SpecError, match=said) as refused:
        read_presets(data)
    assert "\n" not in str(refused.value)


def test_names_from_files_stay_text():
    model = Model(id="x", name="<b>**x**</b> [a](b) $z$", params=1e9)
    line = words.scenario_line(model, None, Q4, F16)
    assert "\\<b\\>\\*\\*x\\*\\*" in line
    assert "\\$z\\$" in line
