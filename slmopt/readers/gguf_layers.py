"""A layer of a GGUF as a layer group: what its tensors are is told by their shapes, what they do by the metadata.

Shapes rule. Whatever tensor the description does not produce by itself joins it as a matrix or a vector, so that a
layer's weights add up to the file's; where the two cannot agree, :class:`~slmopt.readers.gguf_parts.Unlike` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from slmopt.readers.gguf_attention import Mixed, attention, latent_attention
from slmopt.readers.gguf_keys import Keys
from slmopt.readers.gguf_parts import Part, Unlike
from slmopt.readers.gguf_state import state_of
from slmopt.specs.base import SpecError, sentence
from slmopt.specs.model import EXPERT_ROLES, VECTOR_ROLES, LayerGroup, Matrix, Mlp, Moe
from slmopt.specs.tensors import layer_tensors


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's description, its parts in the roles of that description, and those that no text step reads."""

    group: LayerGroup
    parts: tuple[Part, ...]
    idle: tuple[Part, ...]


def describe(parts: Sequence[Part], keys: Keys, hidden: int, at: int) -> Layer:
    """The layer at a place in the stack.

    Raises
    ------
    Unlike
        If its tensors contradict the metadata.
    SpecError
        If the metadata lacks what a layer of this kind needs.
    """
    try:
        return _described(parts, keys, hidden, at)
    except ValidationError as error:
        raise Unlike(f"layer {at}: {sentence(error)}") from None
    except Unlike as why:
        raise Unlike(f"layer {at}: {why}") from None


def _described(parts: Sequence[Part], keys: Keys, hidden: int, at: int) -> Layer:
    attended, parts, idle = _mixer(parts, keys, hidden, at)
    state, parts = state_of(parts, keys, hidden, attends=attended is not None)
    projected = any(part.role.startswith("attn_") and not part.vector for part in parts)
    if attended is None and state is None and projected and keys.at("attention.head_count_kv", at):
        keys.assume("attention that is not understood: its weights count, its cache and its work do not")
    mlp, parts = _mlp(parts, hidden)
    moe, parts = _moe(parts, keys, hidden)
    group = LayerGroup(count=1, attention=attended, state=state, mlp=mlp, moe=moe)
    return Layer(_completed(group, parts, hidden), tuple(parts), tuple(idle))


def _mixer(parts: Sequence[Part], keys: Keys, hidden: int, at: int) -> Mixed:
    held = {part.role for part in parts}
    heads = keys.at("attention.head_count", at)
    kv_heads = keys.at("attention.head_count_kv", at)
    # A layer without KV heads mixes by a state, and one without an output projection has no attention either.
    if "attn_output" not in held or not heads or kv_heads == 0:
        return None, list(parts), []
    if "attn_kv_a" in held:
        return latent_attention(parts, keys, heads)
    return attention(parts, keys, hidden, at, heads, kv_heads or heads)


def _one(parts: Sequence[Part], role: str) -> Part | None:
    return next((part for part in parts if part.role == role), None)


def _mlp(parts: list[Part], hidden: int) -> tuple[Mlp | None, list[Part]]:
    up, down = _one(parts, "ffn_up"), _one(parts, "ffn_down")
    if up is None or down is None:
        return None, parts
    gate = _one(parts, "ffn_gate")
    if gate is None and up.rows == 2 * down.cols:
        parts = [p for p in parts if p is not up]
        parts += [up.rows_of("ffn_gate", 0, down.cols), up.rows_of("ffn_up", down.cols, down.cols)]
        gate = up
    biases = sum(p.params for p in parts if p.role == "bias" and p.name in ("ffn_gate", "ffn_up", "ffn_down"))
    wanted = down.cols * (1 if gate is None else 2) + hidden
    return Mlp(width=down.cols, gated=gate is not None, bias=biases == wanted), parts


def _moe(parts: list[Part], keys: Keys, hidden: int) -> tuple[Moe | None, list[Part]]:
    down = _one(parts, "ffn_down_exps")
    if down is None:
        return None, parts
    fused = _one(parts, "ffn_gate_up_exps")
    if fused is not None and fused.rows == 2 * down.cols:
        parts = [p for p in parts if p is not fused]
        half = down.cols
        parts += [fused.rows_of("ffn_gate_exps", 0, half), fused.rows_of("ffn_up_exps", half, half)]
    # Older files hold every expert as a tensor of its own.
    experts = sum(p.copies for p in parts if p.role == "ffn_down_exps")
    gated = any(p.role == "ffn_gate_exps" for p in parts)
    shared = _one(parts, "ffn_down_shexp")
    routed = any(p.role == "bias" and p.name in ("exp_probs_b", "ffn_gate_inp") for p in parts)
    active = keys.needed("expert_used_count")
    if active > experts:
        raise SpecError(
            f"{keys.arch}.expert_used_count = {active}: it should be at most the {experts} experts."
        )
    return Moe(
        experts=experts,
        active=active,
        width=down.cols,
        gated=gated,
        bias=any(p.role == "ffn_bias_exps" for p in parts),
        shared_width=0 if shared is None else shared.cols,
        shared_gate=any(p.role == "ffn_gate_inp_shexp" for p in parts),
        router_bias=routed,
        latent=None if down.rows == hidden else down.rows,
    ), parts


def _completed(group: LayerGroup, parts: Sequence[Part], hidden: int) -> LayerGroup:
    """The group with what its tensors hold beyond attention, state and feed-forward: norms, vectors, further matrices."""
    wanted: Counter[str] = Counter()
    for role, rows, cols, copies in layer_tensors(group, hidden):
        wanted[role] += rows * cols * copies
    held: Counter[str] = Counter()
    for part in parts:
        held[part.role] += part.params
    for role, count in wanted.items():
        if role not in VECTOR_ROLES and held[role] != count:
            raise Unlike(f"{role} holds {held[role]:,} weights, {count:,} are expected")
    further = [part for part in parts if not part.vector and part.role not in wanted]
    lone = next((part for part in further if part.role in EXPERT_ROLES and group.moe is None), None)
    if lone is not None:
        raise Unlike(f"{lone.role} without a way down from the experts")
    norms = held["norm"] - wanted["norm"]
    vectors = held["vector"] + held["bias"] - wanted["vector"] - wanted["bias"]
    if norms < 0 or vectors < 0:
        # Which vector is called what does not matter, as long as there are enough of them.
        norms, vectors = 0, norms + vectors
    if vectors < 0:
        raise Unlike("norms and biases are fewer than expected")
    matrices = tuple(Matrix(role=p.role, rows=p.rows, cols=p.cols, copies=p.copies) for p in further)
    return group.model_copy(update={"norm_params": norms, "vector_params": vectors, "matrices": matrices})
