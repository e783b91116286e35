"""Figures of the page Your model: valid for Plotly, drawn from the package's numbers, deaf to markup in names."""

import json

import numpy as np
import pytest

from slmopt.figures import model as figures
from slmopt.figures import model_parts, theme
from slmopt.specs.library import library
from slmopt.specs.weights import stored_bytes
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.model_shape import layer_weights, params_by_role

F16 = library().caches["f16"]
Q4 = library().weights["q4_k_m"]
SHOWN = [
    "llama-3.1-8b",
    "gemma-3-27b",
    "deepseek-v3.2",
    "deepseek-v4-flash",
    "kimi-linear-48b-a3b",
    "nemotron-3-nano-30b-a3b",
    "mamba-2.8b",
    "llama-4-scout-17b-16e",
    "article-7b",
]


@pytest.fixture(params=SHOWN)
def model(request):
    return library().models[request.param]


def test_every_kind_of_model_draws(model):
    growth = cache_growth(model, F16, F16, 2200.0)
    theme.checked(figures.layers(layer_weights(model, Q4), stored_bytes(Q4, model)))
    theme.checked(figures.growth(growth, model.context_limit))
    theme.checked(model_parts.roles(params_by_role(model)))


def test_bars_add_up_to_the_layers():
    model = library().models["gemma-3-27b"]
    strip = layer_weights(model, Q4)
    figure = figures.layers(strip, stored_bytes(Q4, model))
    heights = np.sum([np.asarray(trace.y, dtype=float) for trace in figure.data], axis=0)
    assert heights * 1e6 == pytest.approx([layer.total for layer in strip])
    # Every sixth layer sees all, and has its own colour.
    colours = figure.data[0].marker.color
    assert {at + 1 for at, colour in enumerate(colours) if colour == colours[5]} == set(range(6, 63, 6))


def test_a_window_s_line_is_flat_beyond_it():
    model = library().models["gemma-3-27b"]
    growth = cache_growth(model, F16, F16, 2200.0)
    lines = [trace for trace in figures.growth(growth, None).data if trace.mode == "lines"]
    flat = next(line for line in lines if np.asarray(line.y)[-1] == 52 * 1024 * 8192)
    beyond = np.asarray(flat.x) >= 1024
    assert set(np.asarray(flat.y)[beyond]) == {52 * 1024 * 8192}


def test_used_experts_are_hatched_and_the_rest_outlined():
    roles = params_by_role(library().models["gpt-oss-20b"])
    used, rest = model_parts.roles(roles).data
    both = np.asarray(used.x) + np.asarray(rest.x)
    assert both * 1e9 == pytest.approx([role.params for role in roles])
    assert used.marker.pattern.shape == "/"


def test_a_kind_s_name_from_a_file_has_no_effect():
    plain = library().models["granite-4.0-h-1b"]
    group = plain.groups[0]
    state = group.state.model_copy(update={"kind": "<b>x</b>%{y}"})
    named = plain.model_copy(
        update={"groups": (group.model_copy(update={"state": state}), *plain.groups[1:])}
    )
    spec = json.dumps(figures.layers(layer_weights(named, Q4), 1e9).to_plotly_json(), default=list)
    assert "<b>x" not in spec
    assert "%{y}" not in spec
    assert "&lt;b&gt;x" in spec
