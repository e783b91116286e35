"""What vLLM reserves: one pool of pages of equal size, handed out in blocks of tokens.

* Every layer keeps whole blocks. Layers that keep the same number of tokens (all full, or all of one window) have pages
  of their own size; the bytes of a sequence are ⌈t/block⌉ pages of each.
* Where kinds differ, all pages get the size of the largest: smaller ones take more tokens in a page, and a recurrent state
  takes a page. For that the attention block grows to 16·⌈state/(16·bytes a token)⌉ tokens, and the state is padded to it.
* Layers then form groups of equal size (that of the rarest kind; of the commonest where that is less than 1.5 times as
  common); what the last group lacks is padded. A sequence takes, for each group, a page for every layer of a group's size.
* A full group needs ⌈t/block⌉ pages, a window ⌈(window − 1 + new)/block⌉ + 1 with the tokens of one pass (1 in decode), a
  state 1. Before the hybrid allocator (pull request 17996, 2025), with it disabled, and with many KV connectors, windows
  are kept in full ("full_windows").
* An indexer's keys are kept in FP8 with a scale for each 128, whatever the cache format.
* KV heads on a device: max(1, heads/devices); latents are on every device.

Ignored: one page that is never handed out; kernels that want larger blocks than 16; pages for prefix caching of states
("align" takes 2 a sequence and more). Layers that compress are counted at the model's own need: their pools differ from
version to version.

Sources: vllm-project/vllm, vllm/v1/core/kv_cache_utils.py and kv_cache_interface.py (2026);
docs.vllm.ai/en/latest/design/hybrid_kv_cache_manager; issues 40691, 43308, 54458, 54662, pull request 39866 and
alvarobartt/hf-mem#60, whose logs the tests repeat.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from slmopt.theory.engine_layers import Cache, Kept, own_bytes, state_bytes
from slmopt.theory.forward import Numbers

MEMORY_SHARE = 0.92
"""``gpu_memory_utilization`` (docs.vllm.ai, vllm.config.cache, stable; 0.9 up to 0.10)."""
UNSTATED = (0.4 * 2**30, 10.7 * 2**30)
"""Bytes for activations and graphs inside that share, as logs show them: 0.49 GiB with Llama-2-7B on an A100 (pull request
2031), 2.9 (issue 11251), 10.7 with a 4B model and large batches on 178 GiB (pull request 21489). Known after start only."""
ALIGN = 16
ALIKE = 1.5
INDEX_SCALE = 128
_TOKENS = ("full", "window", "chunk")


@dataclass(frozen=True, slots=True)
class Spec:
    """How layers of a kind are paged: tokens a block, bytes a page, layers in all groups of the kind, padding included."""

    kept: Kept
    block: int
    page: float
    groups: int
    padded_layers: int

    def pages(self, tokens: Numbers, new: float = 1.0) -> Numbers:
        """Pages that a layer needs for a sequence of ``tokens``, of which a pass may hold ``new`` at once."""
        if self.kept.what == "state":
            return np.ones_like(np.asarray(tokens, dtype=np.float64))
        whole = np.ceil(np.asarray(tokens, dtype=np.float64) / self.block)
        limit = self.kept.limit
        return whole if limit is None else np.minimum(whole, self._most(limit, tokens, new))

    def asked(self, tokens: float, new: float) -> float:
        """Pages that a request is charged with at admission, as the printed concurrency counts them."""
        limit = self.kept.limit
        return float(self.pages(tokens) if limit is None else self._most(limit, tokens, new))

    def _most(self, limit: int, tokens: Numbers, new: float) -> Numbers:
        if self.kept.what == "chunk":
            return np.ceil(np.minimum(limit + (new if new > 1 else 0.0), tokens) / self.block)
        return np.ceil(np.minimum(limit - 1.0 + new, tokens) / self.block) + 1.0


@dataclass(frozen=True, slots=True)
class Layout:
    """All kinds, and the size of a group (0 where every layer has pages of its own)."""

    specs: tuple[Spec, ...]
    group_size: int

    def of(self, kept: Kept) -> Spec | None:
        """The pages of one kind; None where it is not paged."""
        return next((spec for spec in self.specs if spec.kept == kept), None)


def layout(cache: Cache) -> Layout:
    """How the model's layers share pages."""
    return _layout(cache.kept, cache.block, cache.full_windows)


@lru_cache(maxsize=512)
def _layout(layers: tuple[Kept, ...], block: int, full_windows: bool) -> Layout:
    paged = [kept for kept in layers if kept.what in _TOKENS]
    if full_windows:
        paged = [_in_full(kept) for kept in paged]
    states = [kept for kept in layers if kept.what == "state"]
    keys = [_alone(k, block, key_bytes(k)) for k in layers if k.what == "index" and k.every == 1]
    if (not states and len({(k.what, k.limit) for k in paged}) <= 1) or not paged:
        own = [_alone(k, block, k.token_bytes) for k in paged]
        own += [_alone(k, 1, page_of_state(k)) for k in states]
        return Layout((*own, *keys), 0)
    return _grouped(block, paged, states, keys)


def _alone(kept: Kept, block: int, one: float) -> Spec:
    """Layers whose pages are their own; ``one`` are the bytes of each of a block's tokens."""
    return Spec(kept, block, block * one, 1, kept.layers)


def _in_full(kept: Kept) -> Kept:
    return Kept(kept.group, "full", kept.layers, kept.token_bytes)


def _grouped(block: int, paged: list[Kept], states: list[Kept], keys: list[Spec]) -> Layout:
    widest = max(kept.token_bytes for kept in paged)
    if states:
        largest = max(map(page_of_state, states))
        block = max(block, ALIGN * math.ceil(largest / (ALIGN * widest)))
    page = block * widest
    alike: dict[tuple[object, ...], int] = {}
    for kept in (*paged, *states):
        alike[_alike(kept)] = alike.get(_alike(kept), 0) + kept.layers
    fewest, most = min(alike.values()), max(alike.values())
    size = most if most < ALIKE * fewest else fewest
    specs = []
    for kept in (*paged, *states):
        layers = alike[_alike(kept)]
        groups = math.ceil(layers / size)
        tokens = 1 if kept.what == "state" else block * int(page // (block * kept.token_bytes))
        specs.append(Spec(kept, tokens, page, groups, groups * size))
    return Layout((*specs, *keys), size)


def _alike(kept: Kept) -> tuple[object, ...]:
    """Layers of which one group may be made: those that keep the same, wherever they stand in the stack."""
    return kept.what, kept.limit, kept.token_bytes, kept.state_elements, kept.conv_elements


def page_of_state(kept: Kept) -> float:
    """Bytes of a layer's state: 16-bit elements unless the model's config asks for 32."""
    return state_bytes(kept, (kept.state_bits or 16) / 8, 2.0)


def key_bytes(kept: Kept) -> float:
    """Bytes of an indexer's key: FP8 elements and a 32-bit scale for each 128."""
    return kept.index_dim + 4.0 * math.ceil(kept.index_dim / INDEX_SCALE)


def steps(kept: Kept, cache: Cache, sequences: Numbers, tokens: Numbers) -> Iterator[tuple[str, Numbers]]:
    """From the model's own need to what is reserved, one rule after the other; the last value counts."""
    plan = layout(cache)
    in_full = cache.full_windows and kept.what in ("window", "chunk")
    spec = plan.of(_in_full(kept) if in_full else kept)
    if spec is None:
        yield "own_need", own_bytes(kept, cache, sequences, tokens)
        return
    if kept.what == "state":
        if kept.state_bits == 32:
            yield "state_f32", sequences * kept.layers * page_of_state(kept)
        yield "state_pages", sequences * kept.layers * spec.page
    else:
        if kept.what == "index":
            yield (
                "index_fp8",
                own_bytes(kept, cache, sequences, tokens) * (key_bytes(kept) / kept.token_bytes),
            )
        pages = _pages(spec, cache, sequences, tokens) * kept.layers
        one = key_bytes(kept) if kept.what == "index" else kept.token_bytes
        rule = "windows_in_full" if in_full else "blocks" if kept.limit is None else "window_pages"
        yield rule, pages * (spec.block * one)
        yield "page_padding", pages * spec.page
    if plan.group_size and kept.what != "index":
        alike = sum(s.kept.layers for s in plan.specs if _alike(s.kept) == _alike(spec.kept))
        held = kept.layers * spec.padded_layers / alike * spec.page
        yield "group_padding", held * _pages(spec, cache, sequences, tokens)


def _pages(spec: Spec, cache: Cache, sequences: Numbers, tokens: Numbers) -> Numbers:
    """Pages of a layer for all sequences; whole ones of a shared prefix once, where a layer keeps everything."""
    each = spec.pages(tokens)
    if spec.kept.what == "state" or spec.kept.limit is not None:
        return sequences * each
    prefix = np.minimum(cache.shared // spec.block, each)
    return prefix + sequences * (each - prefix)


def request_pages(cache: Cache, tokens: float, batched: float) -> float:
    """Pages, summed over groups, that a request of ``tokens`` is charged with; a pass holds ``batched`` of them.

    Where every layer has pages of its own, one page stands for a block of all layers.
    """
    plan = layout(cache)
    if not plan.group_size:
        return max((spec.asked(tokens, batched) for spec in plan.specs), default=0.0)
    groups = {_alike(spec.kept): spec for spec in plan.specs if spec.kept.what != "index"}
    return sum(spec.groups * spec.asked(tokens, batched) for spec in groups.values())


def needed_bytes(cache: Cache, tokens: float, batched: float = 2048.0) -> float:
    """What it prints as "GiB KV cache is needed" to serve one request of ``tokens``."""
    return request_pages(cache, tokens, batched) * _page_bytes(cache)


def pool_pages(cache: Cache, available: float) -> int:
    """Pages that ``available`` bytes hold ("# GPU blocks")."""
    return int(available // _page_bytes(cache))


def _page_bytes(cache: Cache) -> float:
    plan = layout(cache)
    if plan.group_size:
        return plan.specs[0].page * plan.group_size
    return sum(spec.page * spec.kept.layers for spec in plan.specs)


def printed_concurrency(cache: Cache, available: float, tokens: float, batched: float = 2048.0) -> float:
    """The "Maximum concurrency for … tokens per request": the pool's pages over those that a request is charged with."""
    return pool_pages(cache, available) / request_pages(cache, tokens, batched)


def printed_tokens(
    cache: Cache, available: float, tokens: float | None = None, batched: float = 2048.0
) -> int:
    """The "GPU KV cache size: … tokens" that it prints for ``available`` bytes.

    Since 0.21 it is the concurrency times the longest request (``tokens``); before (None) the pool's pages, shared out
    evenly among the groups, times the smallest block. Both agree where all layers keep alike.
    """
    if tokens is not None:
        return int(printed_concurrency(cache, available, tokens, batched) * tokens)
    plan = layout(cache)
    if not plan.group_size:
        return pool_pages(cache, available) * cache.block
    groups = {_alike(spec.kept): spec.groups for spec in plan.specs if spec.kept.what != "index"}
    blocks = [spec.block for spec in plan.specs if spec.kept.what in _TOKENS]
    return pool_pages(cache, available) // sum(groups.values()) * min(blocks)
