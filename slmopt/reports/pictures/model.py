"""A model's figures: its layers, how its cache grows, and where its parameters sit."""

from __future__ import annotations

from functools import partial

from slmopt.figures import model as figures
from slmopt.figures import model_parts
from slmopt.reports import model_tables as tables
from slmopt.reports.picture import Picture
from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.weights import stored_bytes
from slmopt.theory.cache_growth import CacheGrowth
from slmopt.theory.model_shape import layer_weights, params_by_role
from slmopt.words import model_figures as words


def pictures(model: Model, weights: WeightFormat, growth: CacheGrowth) -> tuple[Picture, Picture, Picture]:
    """Bytes layer by layer; the cache of one sequence against context; parameters by role."""
    strip, roles = layer_weights(model, weights), params_by_role(model)
    layers, grown, parts = (
        words.layers_title(model, strip),
        words.growth_title(growth),
        words.roles_title(roles),
    )
    return (
        Picture(
            "model_layers",
            layers,
            words.layers_alt(layers, strip, model),
            figures.layers(strip, stored_bytes(weights, model)),
            partial(tables.layers, strip),
        ),
        Picture(
            "model_growth",
            grown,
            words.growth_alt(growth),
            figures.growth(growth, model.context_limit),
            partial(tables.growth, growth),
        ),
        Picture(
            "model_roles",
            parts,
            words.roles_alt(roles),
            model_parts.roles(roles),
            partial(tables.roles, roles),
        ),
    )
