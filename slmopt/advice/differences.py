"""Where other calculators go wrong: each kind of error as a worked example, wrong and right, through the one pass.

The wrong value is computed by the same functions from a model, a format or a device that is described the wrong way, so
that nothing but the error stands between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from slmopt.specs.device import GIB
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.scenario import scenario
from slmopt.specs.weights import stored_bytes
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.memory import bytes_per_token, cache_bytes
from slmopt.theory.speculation import expected_tokens
from slmopt.theory.worked import decode_ceiling, prefill_seconds

CARD = {"id": "card", "name": "card", "bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}


@dataclass(frozen=True, slots=True)
class Difference:
    """A kind of error with one worked example; both values in ``unit``."""

    id: str
    wrong: float
    right: float
    unit: str


@lru_cache(maxsize=1)
def differences() -> tuple[Difference, ...]:
    """Every kind, in the order in which they are told."""
    return tuple(Difference(ident, *make()) for ident, make in _MAKERS.items())


def _on_card(**more: Any) -> Evaluation:
    return evaluate(scenario({"model": "llama-2-7b", "weights": "f16", "device": CARD, **more}))


def _windows() -> tuple[float, float, str]:
    """Gemma-3-27B at 128 Ki tokens in 16 bits."""
    model, f16 = library().models["gemma-3-27b"], library().caches["f16"]
    groups = tuple(
        group.model_copy(
            update={"attention": group.attention and group.attention.model_copy(update={"window": None})}
        )
        for group in model.groups
    )
    every = model.model_copy(update={"groups": groups})
    wrong, right = (float(cache_bytes(one, f16, f16, 131_072)) / GIB for one in (every, model))
    return wrong, right, "GiB"


def _head_width() -> tuple[float, float, str]:
    """Qwen3-4B, cached bytes a token in 16 bits; the wrong width is hidden over heads."""
    model, f16 = library().models["qwen3-4b"], library().caches["f16"]
    attention = model.groups[0].attention
    assert attention is not None, "the model has attention in every layer"
    guessed = Model(
        id="m",
        name="m",
        params=model.total_params,
        layers=model.layer_count,
        kv_heads=attention.kv_heads,
        head_dim=model.hidden // attention.heads,
    )
    return bytes_per_token(guessed, f16, f16), bytes_per_token(model, f16, f16), "B a token"


def _latent() -> tuple[float, float, str]:
    """DeepSeek-V3 at 32 Ki tokens in 16 bits; the wrong way keeps keys and values of every head."""
    model, f16 = library().models["deepseek-v3"], library().caches["f16"]
    attention = model.groups[0].attention
    assert attention is not None, "the model has attention in every layer"
    # Keys and values differ in width; their mean serves both.
    width = (attention.head_dim + attention.value_dim) // 2
    every = Model(
        id="m",
        name="m",
        params=model.total_params,
        layers=model.layer_count,
        kv_heads=attention.heads,
        head_dim=width,
    )
    wrong, right = (float(cache_bytes(one, f16, f16, 32_768)) / 1e9 for one in (every, model))
    return wrong, right, "GB"


def _bits() -> tuple[float, float, str]:
    """Llama-3.1-70B in Q4_K_M."""
    model = library().models["llama-3.1-70b"]
    four = WeightFormat(id="w", name="w", bits=4)
    return stored_bytes(four, model) / 1e9, stored_bytes(library().weights["q4_k_m"], model) / 1e9, "GB"


def _prefixes() -> tuple[float, float, str]:
    """Llama-2-7B, a step at one cached token, if 2 TB/s were 2 TiB/s; times in ms."""
    binary = {**CARD, "bandwidth_gbs": 2 * 1024**4 / 1e9}
    wrong = _on_card(context=1, device=binary).ceiling.decode.seconds
    return float(wrong) * 1e3, float(_on_card(context=1).ceiling.decode.seconds) * 1e3, "ms"


def _look_up() -> tuple[float, float, str]:
    """Llama-3.1-8B in 16 bits: bytes of weights that a step reads, in GB."""
    step = _on_card(model="llama-3.1-8b", context=1).ceiling.decode
    whole = stored_bytes(library().weights["f16"], library().models["llama-3.1-8b"])
    return whole / 1e9, float(step.cost.weight_bytes) / 1e9, "GB"


def _cache_reads() -> tuple[float, float, str]:
    """Llama-2-7B, 64 sequences of 2,000 tokens: tokens/s of the device."""
    bare, whole = (_on_card(batch=64, context=context).ceiling.device_tokens_per_s for context in (0, 2000))
    return bare, whole, "tokens/s"


def _limit() -> tuple[float, float, str]:
    """Llama-2-7B at 1,000 tokens: what large batches approach; the wrong way divides the rate by the operations."""
    bare = _on_card(context=1000).ceiling.crossover
    reads_nothing = _on_card(context=0).ceiling.crossover
    assert bare.throughput_limit is not None
    assert reads_nothing.throughput_limit is not None
    return reads_nothing.throughput_limit, bare.throughput_limit, "tokens/s"


def _prompt_attention() -> tuple[float, float, str]:
    """Llama-2-7B, a prompt of 8,000 tokens, ms; the wrong way counts two operations a weight and token."""
    wrong = prefill_seconds(library().models["llama-2-7b"].total_params, 8000, 400)
    return wrong * 1e3, float(_on_card(prompt=8000).ceiling.prefill.seconds) * 1e3, "ms"


def _hit_attention() -> tuple[float, float, str]:
    """Llama-2-7B, 1,000 new tokens behind 15,000 cached ones, ms; the wrong way takes a prompt of 1,000."""
    wrong = float(_on_card(prompt=1000).ceiling.prefill.seconds)
    return wrong * 1e3, float(_on_card(prompt=16_000, prefix_hit=15_000).ceiling.prefill.seconds) * 1e3, "ms"


def _added_token() -> tuple[float, float, str]:
    """Acceptance 0.8, four drafted tokens: the wrong way forgets the token that the target adds."""
    right = float(expected_tokens(0.8, 4))
    return right - 1.0, right, "tokens a pass"


def _drafting_costs() -> tuple[float, float, str]:
    """Acceptance 0.7, four drafted tokens, each a tenth of a step, batch 1; the wrong way takes drafts as free."""
    draft = {"acceptance": 0.7, "draft_tokens": 4}
    wrong, right = (_on_card(draft_cost=cost, **draft).ceiling.speculation for cost in (0.0, 0.1))
    assert wrong is not None
    assert right is not None
    return wrong.speedup, right.speedup, "×"


def _experts() -> tuple[float, float, str]:
    """Qwen3-30B-A3B, 16 sequences: experts' bytes that bound a step (the fewest) against those expected, GB."""
    e = _on_card(model="qwen3-30b-a3b", weights="q8_0", batch=16, context=1000)
    return (
        float(e.typical.decode.cost.weight_bytes) / 1e9,
        float(e.ceiling.decode.cost.weight_bytes) / 1e9,
        "GB",
    )


def _engine_holds() -> tuple[float, float, str]:
    """Gemma-3-27B, one sequence of 4,096 tokens: the model's own need against what llama.cpp holds, GB."""
    asked = {"model": "gemma-3-27b", "weights": "q4_k_m", "context": 4096}
    wrong, right = (_on_card(engine=engine, **asked).capacity.held_now for engine in ("exact", "llama.cpp"))
    bare = _on_card(**asked).capacity.weight_bytes
    return (wrong - bare) / 1e9, (right - bare) / 1e9, "GB"


def _two_memories() -> tuple[float, float, str]:
    """8 billion weights of 4.5 bits, half read at 450 GB/s, half at 100: tokens/s; the wrong way takes the mean rate."""
    wrong = decode_ceiling(8e9, 4.5, (450 + 100) / 2)
    seconds = sum(1.0 / decode_ceiling(4e9, 4.5, rate) for rate in (450, 100))
    return wrong, 1.0 / seconds, "tokens/s"


def _promise() -> tuple[float, float, str]:
    """Llama-3.1-8B in Q4_K_M on an RTX 4090: the ceiling against the median of what such cards reach, tokens/s."""
    e = evaluate(scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "weights": "q4_k_m"}))
    return e.ceiling.user_tokens_per_s, e.typical.user_tokens_per_s, "tokens/s"


_MAKERS: Mapping[str, Callable[[], tuple[float, float, str]]] = MappingProxyType(
    {
        "windows": _windows,
        "head_width": _head_width,
        "latent": _latent,
        "bits": _bits,
        "prefixes": _prefixes,
        "look_up": _look_up,
        "cache_reads": _cache_reads,
        "limit": _limit,
        "prompt_attention": _prompt_attention,
        "hit_attention": _hit_attention,
        "added_token": _added_token,
        "drafting_costs": _drafting_costs,
        "experts": _experts,
        "engine_holds": _engine_holds,
        "two_memories": _two_memories,
        "promise": _promise,
    }
)
