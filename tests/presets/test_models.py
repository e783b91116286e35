"""The model presets: sound, sourced, and the right size."""

import json
from pathlib import Path

import pytest

from slmopt.specs.library import library, preset_root

MODELS = library().models


def test_there_are_enough_of_them():
    assert len(MODELS) >= 200


@pytest.mark.parametrize("ident", sorted(MODELS))
def test_each_says_where_it_is_from_and_holds_its_weights(ident):
    model = MODELS[ident]
    assert model.source
    assert model.confidence in {"seen", "derived", "memory"}
    assert model.id == model.id.lower()
    assert model.active_params <= model.total_params
    if model.published_params and not model.note:
        assert model.total_params == model.published_params


@pytest.mark.parametrize("ident", ["article-1b", "article-7b", "article-7b-gqa"])
def test_the_articles_models_are_counts(ident):
    assert MODELS[ident].by_count


@pytest.mark.parametrize(
    ("ident", "params", "cached"),
    [
        ("smollm2-135m", 134_515_008, 11_520),
        ("smollm2-360m", 361_821_120, 20_480),
        ("llama-3.2-1b", 1_235_814_400, 16_384),
        ("qwen2.5-0.5b", 494_032_768, 6_144),
        ("qwen2.5-7b", 7_615_616_512, 28_672),
        ("granite-3.1-1b-a400m", 1_334_625_280, 24_576),
    ],
)
def test_the_models_of_our_own_sweep(ident, params, cached):
    model = MODELS[ident]
    assert model.total_params == params
    assert sum((g.attention.cached_k + g.attention.cached_v) * g.count for g in model.groups) == cached


def test_defaults_are_left_out():
    for path in sorted(Path(str(preset_root() / "models")).glob("*.json")):
        for record in json.loads(path.read_text(encoding="utf-8")):
            fields = type(MODELS[record["id"]]).model_fields
            assert all(value != fields[key].default for key, value in record.items()), record["id"]


@pytest.mark.parametrize("ident", ["glm-4.5", "glm-4.5-air", "glm-4.7-flash", "glm-5"])
def test_prediction_layers_make_up_the_published_count(ident):
    """What the repository holds beside the model: a layer that predicts further tokens, and router biases."""
    model = MODELS[ident]
    routed = [group for group in model.groups if group.moe is not None]
    biases = sum(group.count * group.moe.experts for group in routed)
    # Some of the counts have the prediction layer's own biases, too.
    missing = model.published_params - model.stored_params - biases
    assert missing in {0, routed[-1].moe.experts}
