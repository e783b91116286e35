"""What llama.cpp reserves: cells for the whole context when it starts, whatever the sequences turn out to need.

* ``n_ctx`` is padded to 256 cells. With one cache for all (``--kv-unified``; "paged" here) it holds the tokens of all
  sequences; split ("reserved") every sequence has a cache of its longest length.
* Window and chunk layers keep a ring of min(n_ctx, window·n + micro-batch) cells, n the sequences that share it, padded
  to 256; with ``--swa-full`` they keep everything. So they do where no layer of the model sees everything (Mistral 7B
  v0.1, Phi-3, StarCoder 2): for those architectures it knows no window.
* Recurrent layers keep one state a sequence, in 32 bits.
* A prefix that sequences share is held by each.

Ignored: compute buffers (hundreds of MB; printed as "compute buffer size" and best entered as buffers) and the states
that speculative decoding keeps to go back.

Sources: ggml-org/llama.cpp, src/llama-context.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp (2026) and pull
requests 13194 (window cache), 13676 (no windows for Phi), 16736 and 17046 (unified cache, padding); the cells and sizes that
it prints agree (see the tests).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slmopt.theory.engine_layers import Cache, Kept, own_bytes, round_up, state_bytes
from slmopt.theory.forward import Numbers

PAD = 256
MICRO_BATCH = 512
"""``--ubatch-size``, unless given."""
STATE_F32 = 4.0


def steps(kept: Kept, cache: Cache, sequences: Numbers, tokens: Numbers) -> Iterator[tuple[str, Numbers]]:
    """From the model's own need to what is reserved, one rule after the other; the last value counts."""
    if kept.what == "state":
        yield "state_f32", sequences * kept.layers * state_bytes(kept, STATE_F32, STATE_F32)
        return
    one = kept.layers * kept.token_bytes
    if kept.limit is not None and keeps_windows(cache):
        yield "window_ring", _ring(cache, kept.limit, sequences, tokens) * one
        return
    if kept.limit is not None:
        yield "windows_in_full", cells(cache, sequences, tokens) * one
        return
    if cache.shared:
        yield "prefix_not_shared", own_bytes(kept, cache.unshared(), sequences, tokens)
    if cache.paged:
        entries = np.ceil(cells(cache, sequences, tokens) / kept.every)
    else:
        entries = sequences * np.ceil(round_up(tokens, PAD) / kept.every)
    yield "context_padding", entries * one


def keeps_windows(cache: Cache) -> bool:
    """Whether window layers are kept as rings: some layer sees everything, and nobody asked for whole contexts."""
    kinds = {kept.what for kept in cache.whole}
    return not cache.full_windows and bool(kinds & {"full", "entries"})


def cells(cache: Cache, sequences: Numbers, tokens: Numbers) -> Numbers:
    """Cells of layers that keep everything: one pool for all sequences, or one cache for each."""
    if cache.paged:
        return round_up(sequences * np.asarray(tokens, dtype=np.float64), PAD)
    return sequences * round_up(tokens, PAD)


def _ring(cache: Cache, limit: int, sequences: Numbers, tokens: Numbers) -> Numbers:
    if cache.paged:
        wanted = limit * np.asarray(sequences, dtype=np.float64) + cache.micro_batch
        return round_up(np.minimum(cells(cache, sequences, tokens), wanted), PAD)
    return sequences * round_up(np.minimum(round_up(tokens, PAD), limit + cache.micro_batch), PAD)
