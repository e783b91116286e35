"""What SGLang reserves: pools of tokens that are sized once, when it starts.

* A pool holds its tokens and one page more. A sequence takes whole pages; a shared prefix is held once.
* Window layers have a pool of their own with 0.8 tokens for each token of the full one (``swa_full_tokens_ratio``); with
  ``--disable-hybrid-swa-memory`` ("full_windows") they keep everything. A sequence holds its window and a page there.
* Recurrent states have a pool of slots with 0.9 bytes for each byte of the token pools (``mamba_full_memory_ratio``), 32-bit
  states and 16-bit convolutions; prefix caching takes 3 slots for each running request.
* What one pool needs decides the others' size, so the memory that ``n`` sequences take is that of the pool that binds,
  times the sum of all.
* An indexer's keys are kept in FP8 with a scale for each 128. KV heads on a device: max(1, heads/devices).

The sizes it prints as GB are GiB. Ignored: architectures for which it keeps no window pool; extra slots of speculative
decoding. Layers that compress are counted at the model's own need.

Sources: sgl-project/sglang, python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py and server_args.py (2026);
docs.sglang.io, server arguments; pull request 11309 for the indexer's keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from slmopt.theory.engine_layers import Cache, Kept, own_bytes, round_up, state_bytes
from slmopt.theory.engine_vllm import key_bytes
from slmopt.theory.forward import Numbers

MEMORY_SHARE = 0.9
"""``--mem-fraction-static`` (docs.sglang.io, server arguments); versions compute it from the memory when not given."""
WINDOW_TOKENS = 0.8
STATE_MEMORY = 0.9
STATE_SLOTS = 3
STATE_F32 = 4.0
CONV_BYTES = 2.0


@dataclass(frozen=True, slots=True)
class Pools:
    """Tokens of the full and of the window pool without the extra page, and how much larger the split makes both."""

    full: Numbers
    window: Numbers
    grown: Numbers


def token_bytes(cache: Cache) -> tuple[float, float]:
    """Bytes of a token in the full pool and in the window pool, over all their layers."""
    full = window = 0.0
    for kept in cache.kept:
        one = kept.layers * _one(kept)
        if _window(kept, cache) is not None:
            window += one
        elif _pooled(kept):
            full += one
    return full, window


def _one(kept: Kept) -> float:
    return key_bytes(kept) if kept.what == "index" else kept.token_bytes


def _pooled(kept: Kept) -> bool:
    return kept.what != "state" and kept.every == 1


def _window(kept: Kept, cache: Cache) -> int | None:
    return None if cache.full_windows else kept.limit


def pools(cache: Cache, sequences: Numbers, tokens: Numbers) -> Pools:
    """The pools that ``sequences`` of ``tokens`` need, each as large as the one that binds makes it."""
    page = float(cache.block)
    each = round_up(tokens, page)
    prefix = np.minimum(cache.shared // page * page, each)
    full = prefix + sequences * (each - prefix)
    limits = [kept.limit for kept in cache.kept if kept.limit is not None]
    kept_window = np.minimum(each, float(round_up(max(limits, default=0), page)) + page)
    window = sequences * kept_window
    full_bytes, window_bytes = token_bytes(cache)
    both = bool(full_bytes and window_bytes)
    full_pool = np.maximum(full, window / WINDOW_TOKENS) if both else full
    window_pool = WINDOW_TOKENS * full_pool if both else window
    held = _with_page(full_pool, full_bytes, page) + _with_page(window_pool, window_bytes, page)
    grown = np.maximum(1.0, sequences * _slots(cache) / (STATE_MEMORY * held))
    return Pools(full_pool, window_pool, grown)


def _with_page(pool: Numbers, one: float, page: float) -> Numbers:
    return (pool + page) * one if one else np.zeros_like(np.asarray(pool, dtype=np.float64))


def _slots(cache: Cache) -> float:
    """Bytes of the state slots that a running request takes."""
    states = [kept for kept in cache.kept if kept.what == "state"]
    return sum(STATE_SLOTS * kept.layers * state_bytes(kept, STATE_F32, CONV_BYTES) for kept in states)


def steps(kept: Kept, cache: Cache, sequences: Numbers, tokens: Numbers) -> Iterator[tuple[str, Numbers]]:
    """From the model's own need to what is reserved, one rule after the other; the last value counts."""
    if kept.what == "state":
        raw = sequences * kept.layers * state_bytes(kept, STATE_F32, CONV_BYTES)
        yield "state_f32", raw
        yield "state_slots", STATE_SLOTS * raw
        yield "pool_split", _state_pool(cache, sequences, tokens) * (raw * STATE_SLOTS)
        return
    if not _pooled(kept):
        yield "own_need", own_bytes(kept, cache, sequences, tokens)
        return
    page = float(cache.block)
    one = kept.layers * _one(kept)
    sized = pools(cache, sequences, tokens)
    if kept.what == "index":
        yield "index_fp8", own_bytes(kept, cache, sequences, tokens) * (_one(kept) / kept.token_bytes)
    each = round_up(tokens, page)
    limit = _window(kept, cache)
    if limit is not None:
        window = np.minimum(each, float(round_up(limit, page)) + page)
        yield "window_pages", (sequences * window + page) * one
        yield "pool_split", (sized.window + page) * sized.grown * one
        return
    prefix = np.minimum(cache.shared // page * page, each)
    rule = "pool_page" if kept.limit is None else "windows_in_full"
    yield rule, (prefix + sequences * (each - prefix) + page) * one
    yield "pool_split", (sized.full + page) * sized.grown * one


def _state_pool(cache: Cache, sequences: Numbers, tokens: Numbers) -> Numbers:
    """How much larger than its sequences need the pool of states is, because it goes by the token pools' bytes."""
    full_bytes, window_bytes = token_bytes(cache)
    if not (full_bytes or window_bytes):
        return np.ones_like(np.asarray(tokens, dtype=np.float64))
    sized = pools(cache, sequences, tokens)
    page = float(cache.block)
    held = _with_page(sized.full, full_bytes, page) + _with_page(sized.window, window_bytes, page)
    needed = np.asarray(sequences, dtype=np.float64) * _slots(cache)
    return np.maximum(1.0, STATE_MEMORY * held / np.where(needed > 0, needed, np.inf))


def pool_bytes(cache: Cache, tokens: float, window_tokens: float = 0.0) -> tuple[float, float]:
    """Bytes of the two pools at these sizes in tokens, the extra page of each included."""
    full, window = token_bytes(cache)
    return (tokens + cache.block) * full, (window_tokens + cache.block) * window
