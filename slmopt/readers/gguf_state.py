"""Recurrent states of a GGUF layer: state-space, linear attention, short convolution, RWKV.

Matrices are the file's own; what a sequence keeps follows from the metadata, and the work of a token from the counts
that :mod:`slmopt.readers.hf_state` explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slmopt.readers.gguf_keys import Keys
from slmopt.readers.gguf_parts import Part
from slmopt.specs.model import Matrix, State

# In a layer that does not attend, these projections belong to its state.
_AS_STATE = {
    "attn_q": "ssm_qkv",
    "attn_k": "ssm_qkv",
    "attn_v": "ssm_qkv",
    "attn_qkv": "ssm_qkv",
    "attn_gate": "ssm_gate",
    "attn_output": "ssm_out",
}


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a sequence keeps in a layer (elements), and a token's work outside the matrix products (operations)."""

    kind: str
    state: int = 0
    conv: int = 0
    scan: int = 0


def state_of(
    parts: Sequence[Part], keys: Keys, hidden: int, *, attends: bool
) -> tuple[State | None, list[Part]]:
    """The layer's state, None where it has none, and the layer's parts in its roles."""
    if not any(part.of_state for part in parts):
        return None, list(parts)
    held = [p if attends else p.renamed(_AS_STATE.get(p.role, p.role)) for p in parts]
    own = [p for p in held if p.of_state or p.role.startswith("ssm_")]
    kept = _kept({p.name for p in own}, own, keys, hidden)
    matrices = [p for p in own if not p.vector and not p.role.startswith("ffn_")]
    state = State(
        kind=kept.kind,
        matrices=tuple(Matrix(role=p.role, rows=p.rows, cols=p.cols, copies=p.copies) for p in matrices),
        vector_params=sum(p.params for p in own if p.role == "vector"),
        state_elements=kept.state,
        conv_elements=kept.conv,
        scan_flops=kept.scan,
    )
    return state, held


def _kept(names: set[str], parts: Sequence[Part], keys: Keys, hidden: int) -> _Kept:
    if any(name.startswith("time_mix_") for name in names):
        head = keys.number("wkv.head_size", least=1) or 64
        shifts = keys.number("token_shift_count") or 2
        return _Kept("recurrent", hidden * head, shifts * hidden, 5 * hidden * head)
    if any(name.startswith("shortconv.") for name in names):
        taps = keys.needed("shortconv.l_cache", most=4096)
        return _Kept("short_conv", 0, hidden * (taps - 1), 2 * hidden * (taps + 2))
    taps = keys.needed("ssm.conv_kernel", most=4096)
    channels = _channels(parts, taps)
    conv = channels * (taps - 1)
    if "ssm_f_a" in names:
        inner = max((p.rows for p in parts if p.role == "ssm_qkv"), default=0)
        head = keys.needed("kda.head_dim")
        return _Kept("kimi_delta", inner * head, conv, 7 * inner * head + 2 * channels * taps)
    inner, size = keys.needed("ssm.inner_size"), keys.needed("ssm.state_size")
    elements = inner * size
    if names & {"ssm_ba", "ssm_alpha", "ssm_beta"}:
        return _Kept("gated_delta", elements, conv, 7 * elements + 2 * channels * taps)
    if "ssm_x" in names:
        return _Kept("mamba1", elements, conv, 6 * elements + 2 * channels * taps)
    return _Kept("mamba2", elements, conv, 5 * elements + 2 * channels * taps)


def _channels(parts: Sequence[Part], taps: int) -> int:
    """Channels of all convolutions; a filter's bias, which has its name, is the smaller of the two."""
    filters: dict[str, int] = {}
    for part in parts:
        if "conv1d" in part.name:
            filters[part.name] = max(part.params, filters.get(part.name, 0))
    return sum(filters.values()) // taps
