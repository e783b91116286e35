"""The articles' worked functions, with their arguments; each is the forward pass of a model known by its count alone."""

from __future__ import annotations

import math
from numbers import Real

from slmopt.specs.base import SpecError
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.speculation import expected_tokens
from slmopt.theory.terms import operator_terms

# Operations are as many at every width.
_ANY_BITS = 16.0


def decode_ceiling(
    params: float,
    bits_per_weight: float,
    bandwidth_gbs: float,
    ctx: float = 0,
    layers: int = 16,
    kv_heads: int = 8,
    head_dim: int = 64,
    kv_bytes: float = 2,
) -> float:
    """Most tokens/s of one sequence at batch 1: bandwidth over the bytes of every weight and the whole cache.

    ``bandwidth_gbs`` in GB/s (10^9), ``ctx`` in cached tokens, ``kv_bytes`` bytes a cached element.
    Raises :class:`SpecError` where a value is not a positive and finite number, or an element has more than 64 bits.

    >>> decode_ceiling(1e9, 16, 50)
    25.0
    """
    _positive(params=params, bandwidth_gbs=bandwidth_gbs)
    _positive(bits_per_weight=bits_per_weight, most=64)
    _positive(kv_bytes=kv_bytes, most=8)
    _not_negative(ctx=ctx)
    _whole(layers=layers, kv_heads=kv_heads, head_dim=head_dim)
    model = Model(id="m", name="m", params=params, layers=layers, kv_heads=kv_heads, head_dim=head_dim)
    cost = _cost(model, bits_per_weight, 8 * kv_bytes, Group(past=float(ctx)))
    return bandwidth_gbs * 1e9 / float(cost.bytes)


def prefill_seconds(params: float, prompt_tokens: float, effective_tflops: float) -> float:
    """Least seconds to process a prompt: 2 operations a weight and token at ``effective_tflops`` (10^12 FLOP/s).

    >>> prefill_seconds(1e9, 1000, 4)
    0.5
    """
    _positive(params=params, prompt_tokens=prompt_tokens, effective_tflops=effective_tflops)
    model = Model(id="m", name="m", params=params)
    cost = _cost(model, _ANY_BITS, _ANY_BITS, Group(new=float(prompt_tokens)))
    return float(cost.flops) / (effective_tflops * 1e12)


def expected_tokens_per_pass(acceptance: float, draft_tokens: int) -> float:
    """Tokens that one pass of the target yields on average: (1 − a^(k+1)) / (1 − a), k + 1 at a = 1."""
    if not (_finite(acceptance) and 0 <= acceptance <= 1):
        raise SpecError(f"acceptance = {acceptance!r}: it must be a number between 0 and 1.")
    _not_negative(draft_tokens=draft_tokens)
    return float(expected_tokens(acceptance, draft_tokens))


def _cost(model: Model, weight_bits: float, cache_bits: float, group: Group) -> PassCost:
    weights = WeightFormat(id="w", name="w", bits=weight_bits)
    cache = CacheFormat(id="c", name="c", bits=cache_bits)
    return forward(operator_terms(model, weights, cache, cache), [group])


def _finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _positive(most: float = math.inf, **values: float) -> None:
    limit = "" if math.isinf(most) else f" and at most {most:g}"
    for name, value in values.items():
        if not (_finite(value) and 0 < value <= most):
            raise SpecError(f"{name} = {value!r}: it must be a finite number above 0{limit}.")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        if not (_finite(value) and value >= 0):
            raise SpecError(f"{name} = {value!r}: it must be a finite number, 0 or above.")


def _whole(**values: float) -> None:
    for name, value in values.items():
        if not (_finite(value) and value >= 0 and value == int(value)):
            raise SpecError(f"{name} = {value!r}: it must be a whole number, 0 or above.")
