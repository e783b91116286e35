"""What a weights file holds, in bytes."""

from __future__ import annotations

import math
from functools import lru_cache

from slmopt.measured.match import (
    EXACT,
)
from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.weights import tensor_bits


@lru_cache(maxsize=512)
def format_bytes(weights: WeightFormat, model: Model, params: float) -> float:
    """Bytes that the format gives for what a weights file holds: no tower; prediction layers if its count has them."""
    bits = tensor_bits(weights, model)
    if model.by_count:
        return model.total_params * bits[0] / 8
    without = model.total_params - model.tower_params - model.mtp_params
    has_mtp = math.isfinite(params) and abs(params / without - 1) > abs(
        params / (without + model.mtp_params) - 1
    )
    left_out = {"tower"} if has_mtp else {"tower", "mtp"}
    pairs = zip(model.tensors, bits, strict=True)
    made = sum(tensor.params * b for tensor, b in pairs if tensor.role not in left_out) / 8
    published = model.published_params
    if has_mtp and published is not None and abs(params / published - 1) < EXACT:
        # The published file holds more than the layers described, such as a prediction layer's own head.
        made *= max(published / (without + model.mtp_params), 1.0)
    return made
