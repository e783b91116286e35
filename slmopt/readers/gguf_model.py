"""From a GGUF's placed tensors to a model and the bytes of each of its tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from slmopt.readers.gguf_keys import MODEL_TYPES, Keys
from slmopt.readers.gguf_layers import Layer, describe
from slmopt.readers.gguf_parts import Part, Placed, Unlike
from slmopt.readers.hf_config import compact, slug
from slmopt.specs.base import SpecError, sentence
from slmopt.specs.formats import StoredTensor
from slmopt.specs.model import VECTOR_ROLES, Matrix, Model, Tensor

Stored = tuple[StoredTensor, ...]

_KNOWN_OUTSIDE = frozenset(
    {"token_embd", "output", "position_embd", "token_types", "per_layer_token_embd", "per_layer_model_proj"}
    | {"altup_proj", "altup_unembd_proj", "cls", "cls_output", "dense_2", "dense_3", *VECTOR_ROLES}
)
_LOOKUPS = frozenset({"token_types", "per_layer_token_embd"})


def model_of(placed: Placed, keys: Keys, name: str) -> tuple[Model, Stored]:
    """The model, and what the file holds for each of its tensors.

    A file whose tensors contradict its metadata gives a model of its count alone, which says so in ``assumed``.
    """
    try:
        return _described(placed, keys, name)
    except Unlike as why:
        keys.assumed.clear()
        keys.assume(f"layers could not be told ({why}): only the number of weights is used")
    except ValidationError as error:
        raise SpecError(f"The file's metadata does not add up: {sentence(error)}") from None
    return by_count(placed, keys, name)


def _described(placed: Placed, keys: Keys, name: str) -> tuple[Model, Stored]:
    embedding = _one(placed.outside, "token_embd")
    if embedding is None:
        raise Unlike("token_embd is missing")
    vocab, hidden = embedding.rows, embedding.cols
    output = [p for p in placed.outside if p.role == "output"]
    if sum(p.params for p in output) not in (0, vocab * hidden) or embedding.copies > 1:
        raise Unlike("output and token_embd differ in size")
    count = keys.layers - keys.ahead
    absent = next((at for at in range(count) if at not in placed.layers), None)
    if absent is not None:
        raise Unlike(f"layer {absent} has no tensors")
    beyond = [at for at in placed.layers if at >= count]
    if beyond:
        raise Unlike(f"layer {min(beyond)} is beyond the {count} of the metadata")
    layers = [describe(placed.layers[at], keys, hidden, at) for at in range(count)]
    groups, order = compact([layer.group for layer in layers])
    towers = [*placed.towers, *(part for layer in layers for part in layer.idle)]
    parts = _outside(placed.outside, keys, vocab, hidden)
    model = Model(
        **_naming(keys, name),
        hidden=hidden,
        vocab=vocab,
        tied=not output,
        groups=groups,
        order=order,
        tower_params=sum(p.params for p in towers),
        mtp_params=sum(p.params for p in placed.ahead),
        **parts,
    )
    return model, _stored(model, layers, placed, towers)


def _naming(keys: Keys, name: str) -> dict[str, Any]:
    return {
        "id": slug(name),
        "name": name,
        "model_type": MODEL_TYPES.get(keys.arch, keys.arch),
        "context_limit": keys.number("context_length") or None,
        "assumed": tuple(keys.assumed),
    }


def _outside(parts: Sequence[Part], keys: Keys, vocab: int, hidden: int) -> dict[str, Any]:
    """What stands outside the layers, as fields of a model."""
    strange = sorted({p.role for p in parts} - _KNOWN_OUTSIDE)
    if strange:
        more = f" and {len(strange) - 6} more" if len(strange) > 6 else ""
        keys.assume(
            f"not understood, counted as read by every token: {', '.join(s[:40] for s in strange[:6])}{more}"
        )
    biased = sum(p.params for p in parts if p.role == "bias" and p.name == "output") == vocab
    positions = [p for p in parts if p.role == "position_embd" and p.cols == hidden and p.copies == 1]
    own = {"token_embd", "output", "norm"} | ({"position_embd"} if positions else set())
    rest = [
        p for p in parts if p.role not in own and not (biased and p.role == "bias" and p.name == "output")
    ]
    matrices = [Matrix(role=p.role, rows=p.rows, cols=p.cols, copies=p.copies) for p in rest]
    return {
        "final_norm_params": sum(p.params for p in parts if p.role == "norm"),
        "output_bias": biased,
        "learned_positions": sum(p.rows for p in positions),
        "matrices": tuple(m for m in matrices if m.role not in _LOOKUPS),
        "lookups": tuple(m for m in matrices if m.role in _LOOKUPS),
    }


def by_count(placed: Placed, keys: Keys, name: str) -> tuple[Model, Stored]:
    """A model of the file's count, with the cache that its metadata gives."""
    parts = [
        *placed.outside,
        *placed.towers,
        *placed.ahead,
        *(p for ps in placed.layers.values() for p in ps),
    ]
    params, size = sum(p.params for p in parts), sum(p.size for p in parts)
    layers = keys.number("block_count") or 0
    kv_heads, width = _cache_shape(keys, layers)
    model = Model(
        **_naming(keys, name), params=float(params), layers=layers, kv_heads=kv_heads, head_dim=width
    )
    return model, (StoredTensor(role="all", params=params, size_bytes=size),)


def _cache_shape(keys: Keys, layers: int) -> tuple[int, int]:
    """KV heads and their width, of a layer that has some; the two halves of a latent where that is what is cached."""
    rank = keys.number("attention.kv_lora_rank")
    if rank:
        return 1, (rank + (keys.number("rope.dimension_count") or 0)) // 2
    heads = keys.number("attention.head_count") or 0
    hidden = keys.number("embedding_length") or 0
    width = keys.number("attention.key_length") or (hidden // heads if heads else 0)
    counts = [keys.at("attention.head_count_kv", at) for at in range(layers)]
    return (heads if None in counts else next((n for n in counts if n), 0)), width


def _one(parts: Iterable[Part], role: str) -> Part | None:
    return next((part for part in parts if part.role == role), None)


Where = tuple[str, int | None]


def _pool(role: str, group: int | None) -> Where:
    """Vectors of a layer group share a pool: which of them is called what is the description's affair."""
    return ("vectors" if role in VECTOR_ROLES else role, group)


def _stored(model: Model, layers: Sequence[Layer], placed: Placed, towers: Sequence[Part]) -> Stored:
    """The file's bytes tensor by tensor of the model; those of one role and group in proportion to their weights."""
    pools: defaultdict[Where, list[int]] = defaultdict(lambda: [0, 0])

    def add(where: Where, parts: Iterable[Part]) -> None:
        for part in parts:
            pools[where][0] += part.params
            pools[where][1] += part.size

    group_at = {at: index for index, places in enumerate(model.positions) for at in places}
    for at, layer in enumerate(layers):
        for part in layer.parts:
            add(_pool(part.role, group_at[at]), [part])
    for part in placed.outside:
        role = (
            "output_bias"
            if model.output_bias and part.role == "bias" and part.name == "output"
            else part.role
        )
        add(_pool(role, None), [part])
    add(("tower", None), towers)
    add(("mtp", None), placed.ahead)
    return tuple(_shared(model.tensors, pools))


def _shared(tensors: Sequence[Tensor], pools: dict[Where, list[int]]) -> Iterable[StoredTensor]:
    for tensor in tensors:
        pool = pools[_pool(tensor.role, tensor.group)]
        if pool[0] < tensor.params:
            raise Unlike(f"{tensor.role} holds fewer weights than expected")
        size = pool[1] * tensor.params // pool[0]
        pool[0] -= tensor.params
        pool[1] -= size
        yield StoredTensor(role=tensor.role, params=tensor.params, size_bytes=size)
    if any(count or size for count, size in pools.values()):
        raise Unlike("the description has other tensors than the file")
