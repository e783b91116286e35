"""safetensors tensors by their names: which tensors of a model their bytes belong to.

Names differ between libraries and fused or packed tensors have no counterpart of their own, so bytes go to pools of
a layer group's tensors (experts, attention, feed-forward, state, vectors) and are shared out there by weights: a
pool is exact, and so is every operator's reading of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slmopt.readers.file_model import FileTensor
from slmopt.specs.formats import StoredTensor
from slmopt.specs.model import EXPERT_ROLES, VECTOR_ROLES, Model, Tensor

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d{1,5})\.")
_TOWER = re.compile(
    r"(?:^|\.)(?:vision|visual|audio|image|vit|mm_projector|multi_modal|vpm|resampler|speech|siglip)"
)
_AHEAD = re.compile(r"(?:^|\.)(?:mtp|nextn|mtp_layers|model_mtp)\.")
_OUTSIDE = (
    ("per_layer_token_embd", re.compile(r"embed_tokens_per_layer")),
    ("position_embd", re.compile(r"(?:^|\.)(?:wpe|embed_positions|position_embeddings)\.")),
    (
        "token_embd",
        re.compile(
            r"embed_tokens|(?:^|\.)(?:wte|word_embeddings|tok_embeddings|embed_in|embeddings?|tok_embd)\."
        ),
    ),
    ("output", re.compile(r"(?:^|\.)(?:lm_head|embed_out)\.|^output\.weight$|(?:^|\.)output_layer\.")),
)
_EXPERTS = re.compile(r"\.experts\.|\.experts_|block_sparse_moe\.(?:input|output)_linear")
_STATE = re.compile(
    r"mamba|linear_attn|\.ssm|\.conv\.|mixer\.(?!(?:q|k|v|o)_proj)|recurrent|kda|time_mix|rwkv"
)
_MIXING = re.compile(r"attn|attention|indexer|(?:q|k|v|o)_proj")
_FEED = re.compile(r"mlp|feed_forward|ffn|moe|experts?|router")
_SCALE = re.compile(
    r"scale|zeros|zero_point|g_idx|absmax|quant_map|quant_state|weight_shape|amax|^biases$|^perm$"
)
_PACKED = re.compile(r"qweight$|weight_packed$|_blocks$|weight$")


@dataclass(frozen=True, slots=True)
class Shape:
    """What names and shapes tell without a config: layers, and the rows of the key projection."""

    layers: int
    kv_width: int


def shaped_count(tensors: Iterable[FileTensor]) -> Shape:
    """Layers by the highest number in a name, and the width of a key by an ordinary key projection."""
    last, width = -1, 0
    for tensor in tensors:
        if _TOWER.search(tensor.name) or _AHEAD.search(tensor.name):
            continue
        found = _LAYER.search(tensor.name)
        if found is not None:
            last = max(last, int(found[1]))
        if not width and tensor.name.endswith("self_attn.k_proj.weight") and tensor.type in _FLOATS:
            width = tensor.shape[0] if len(tensor.shape) == 2 else 0
    return Shape(last + 1, width)


_FLOATS = frozenset({"F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F64"})


def packed_weights(tensors: Iterable[FileTensor]) -> tuple[int, bool]:
    """Weights, and whether some had to be counted as 4-bit ones packed into integers; scales are no weights."""
    total, guessed = 0, False
    for tensor in tensors:
        if tensor.type in {"I32", "U32", "U8"} and _PACKED.search(tensor.name):
            total += tensor.size_bytes * 2
            guessed = True
        elif tensor.type in _FLOATS | {"I8"} and not _is_scale(tensor.name):
            total += tensor.elements
    return max(1, total), guessed


def _is_scale(name: str) -> bool:
    """Whether the last part of a name says that it holds scales, zeros or the like of another tensor."""
    return _SCALE.search(name.rpartition(".")[2]) is not None


Pool = tuple[str, int | None]


def _pool_of_tensor(tensor: Tensor) -> Pool:
    role = tensor.role
    if tensor.group is None:
        named = {name for name, _ in _OUTSIDE} | {"tower", "mtp"}
        return (role if role in named else "rest", None)
    if role in EXPERT_ROLES:
        return ("experts", tensor.group)
    if role in VECTOR_ROLES:
        return ("vectors", tensor.group)
    if role.startswith(("ssm_", "state_", "conv_")):
        return ("state", tensor.group)
    if role.startswith(("attn_", "indexer_")):
        return ("attention", tensor.group)
    return ("feed", tensor.group) if role.startswith("ffn_") else ("rest", tensor.group)


def _pool_of_name(tensor: FileTensor, group_at: dict[int, int]) -> Pool:
    name = tensor.name
    if _TOWER.search(name):
        return ("tower", None)
    found = _LAYER.search(name)
    layer = None if found is None else int(found[1])
    if _AHEAD.search(name) or (layer is not None and layer not in group_at):
        return ("mtp", None)
    if layer is None:
        return (next((role for role, pattern in _OUTSIDE if pattern.search(name)), "rest"), None)
    group, inner = group_at[layer], name[found.end() - 1 :] if found is not None else name
    if _EXPERTS.search(inner):
        return ("experts", group)
    # Scales and zeros belong to the matrix whose name they carry.
    if "norm" in inner or inner.endswith(".bias") or (len(tensor.shape) < 2 and not _is_scale(inner)):
        return ("vectors", group)
    if _STATE.search(inner):
        return ("state", group)
    if _MIXING.search(inner):
        return ("attention", group)
    return ("feed", group) if _FEED.search(inner) else ("rest", group)


def stored_for(model: Model, tensors: Sequence[FileTensor]) -> tuple[Model, list[StoredTensor]]:
    """The model of the config, mended where the file knows better, and the file's bytes for each of its tensors."""
    group_at = {at: index for index, places in enumerate(model.positions) for at in places}
    sizes: defaultdict[Pool, int] = defaultdict(int)
    counts: defaultdict[Pool, int] = defaultdict(int)
    for tensor in tensors:
        pool = _pool_of_name(tensor, group_at)
        sizes[pool] += tensor.size_bytes
        counts[pool] += tensor.elements
    notes = list(model.assumed)
    model = _with_head(model, sizes, counts, notes)
    model = _with_stored_only(model, counts, notes)
    _compared(model, tensors, counts, notes)
    model = changed_model(model, assumed=tuple(notes))
    return model, _shared(model, sizes)


def _with_head(model: Model, sizes: dict[Pool, int], counts: dict[Pool, int], notes: list[str]) -> Model:
    """A head in the file of a tied model is a copy; a model without one in the file is tied, whatever its config says."""
    head = ("output", None)
    if model.tied and head in sizes:
        notes.append(
            f"the file repeats the tied embedding as a head ({sizes[head]:,} bytes): memory holds it once"
        )
        del sizes[head], counts[head]
    elif not model.tied and head not in sizes:
        notes.append("the file has no head of its own: it is tied to the embedding")
        return changed_model(model, tied=True)
    return model


def _with_stored_only(model: Model, counts: dict[Pool, int], notes: list[str]) -> Model:
    """Towers and prediction layers that the config does not count, or that the file leaves out."""
    changed: dict[str, int] = {}
    for role, field, noun in (
        ("tower", "tower_params", "towers"),
        ("mtp", "mtp_params", "prediction layers"),
    ):
        held, known = counts.get((role, None), 0), getattr(model, field)
        if bool(held) != bool(known):
            changed[field] = held
            notes.append(f"{noun} as the file has them: {held:,} elements")
    return changed_model(model, **changed) if changed else model


def changed_model(model: Model, **values: Any) -> Model:
    """A new model with some fields replaced; a copy would keep what the old one has worked out."""
    return Model(**{**{name: getattr(model, name) for name in Model.model_fields}, **values})


def _compared(model: Model, tensors: Sequence[FileTensor], counts: dict[Pool, int], notes: list[str]) -> None:
    plain = all(tensor.type in _FLOATS and not tensor.type.startswith("F8") for tensor in tensors)
    held = sum(counts.values())
    if plain and held != model.stored_params:
        notes.append(f"the file holds {held:,} weights, the config describes {model.stored_params:,.0f}")


def _shared(model: Model, sizes: dict[Pool, int]) -> list[StoredTensor]:
    """Bytes by tensor: pools that only one side knows are joined with the rest of their group, then of the model."""
    weights: defaultdict[Pool, int] = defaultdict(int)
    where = [_pool_of_tensor(tensor) for tensor in model.tensors]
    for pool, tensor in zip(where, model.tensors, strict=True):
        weights[pool] += tensor.params
    joined = _joined(set(weights), {pool for pool, size in sizes.items() if size})
    params: defaultdict[Pool, int] = defaultdict(int)
    held: defaultdict[Pool, int] = defaultdict(int)
    for pool, count in weights.items():
        params[joined(pool)] += count
    for pool, size in sizes.items():
        held[joined(pool)] += size
    stored = []
    for pool, tensor in zip(where, model.tensors, strict=True):
        into = joined(pool)
        share = held[into] * tensor.params // params[into]
        params[into] -= tensor.params
        held[into] -= share
        stored.append(StoredTensor(role=tensor.role, params=tensor.params, size_bytes=share))
    return stored


def _joined(weights: set[Pool], sizes: set[Pool]) -> Callable[[Pool], Pool]:
    """Where a pool's weights and bytes are shared out: by itself where both sides have it, else joined with others."""
    into: dict[Pool, Pool] = {}
    for group in {group for _, group in weights | sizes}:
        known = {pool for pool in weights if pool[1] == group}
        held = {pool for pool in sizes if pool[1] == group}
        if not known or not held:
            everything: Pool = ("all", None)
            return lambda _: everything
        lone = known ^ held
        if known - held and held - known:
            # Names that only one side has stand for each other.
            into.update(dict.fromkeys(lone, ("joined", group)))
        elif lone:
            into.update(dict.fromkeys(known | held, ("joined", group)))
    return lambda pool: into.get(pool, pool)
