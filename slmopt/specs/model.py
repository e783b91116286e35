"""The model: layer groups, and the list of tensors that follows from them.

Every count (total and active parameters, bytes of a file, bytes of a pass) is a sum over :meth:`Model.tensors`,
so that a layer, a head or a width changed in the description changes every figure that depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field, model_validator

from slmopt.specs.base import Sourced
from slmopt.specs.layers import (
    Attention,
    Count,
    Indexer,
    Latent,
    LayerGroup,
    Matrix,
    Mlp,
    Moe,
    State,
    attention_kind,
)
from slmopt.specs.tensors import layer_tensors


@dataclass(frozen=True, slots=True)
class Tensor:
    """A weight tensor, or ``copies`` of it in a layer (experts), with the positions of the layers that hold it."""

    role: str
    group: int | None
    layers: tuple[int, ...]
    rows: int
    cols: int
    copies: int = 1

    @property
    def params(self) -> int:
        """Weights over all layers and copies."""
        return self.rows * self.cols * self.copies * max(1, len(self.layers))


LOOKUP_ROLES = frozenset({"token_embd", "per_layer_token_embd", "position_embd", "token_types"})
STORED_ROLES = frozenset({"tower", "mtp"})
VECTOR_ROLES = frozenset({"norm", "vector", "bias", "output_bias"})
EXPERT_ROLES = frozenset({"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_bias_exps"})


class Model(Sourced):
    """A decoder-only language model.

    Either ``groups`` describe its layers, or ``params`` alone gives its size; then ``layers``, ``kv_heads`` and
    ``head_dim`` serve its cache and nothing else. ``order`` runs through the stack as (group, how many) pairs; without
    it the groups follow one another.
    """

    family: str = ""
    model_type: str = ""
    hf_id: str = ""
    hidden: int = Count
    vocab: int = Count
    tied: bool = False
    groups: tuple[LayerGroup, ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    final_norm_params: int = Count
    output_bias: bool = False
    learned_positions: int = Count
    matrices: tuple[Matrix, ...] = ()
    lookups: tuple[Matrix, ...] = ()
    tower_params: int = Count
    mtp_params: int = Count
    context_limit: int | None = Field(default=None, gt=0)
    published_params: int | None = Field(default=None, gt=0)
    params: float | None = Field(default=None, gt=0)
    layers: int = Count
    kv_heads: int = Count
    head_dim: int = Count
    assumed: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_description(self) -> Model:
        if bool(self.groups) == (self.params is not None):
            raise ValueError(
                "a model needs either layer groups or a parameter count (params), not both and not neither"
            )
        if self.groups and not (self.hidden and self.vocab):
            raise ValueError("a model with layer groups needs hidden and vocab sizes")
        if self.order:
            placed = [0] * len(self.groups)
            for group, run in self.order:
                if not 0 <= group < len(self.groups) or run <= 0:
                    raise ValueError(
                        f"order names group {group} {run} times; groups are 0 to {len(self.groups) - 1}"
                    )
                placed[group] += run
            if placed != [group.count for group in self.groups]:
                raise ValueError("order must place every layer of every group exactly once")
        return self

    @property
    def by_count(self) -> bool:
        """Whether only a parameter count is known."""
        return self.params is not None

    @property
    def layer_count(self) -> int:
        """Layers, of all kinds."""
        return self.layers if self.by_count else sum(group.count for group in self.groups)

    @cached_property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """For each group the places of its layers in the stack."""
        places: list[list[int]] = [[] for _ in self.groups]
        at = 0
        for group, run in self.order or [(i, g.count) for i, g in enumerate(self.groups)]:
            places[group].extend(range(at, at + run))
            at += run
        return tuple(map(tuple, places))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every weight tensor stored; empty for a model known by its count alone."""
        return () if self.by_count else tuple(_tensors(self))

    @cached_property
    def total_params(self) -> float:
        """Weights of the model, towers included, a tied head once; without the multi-token-prediction layers."""
        return self.params if self.params is not None else self.stored_params - self.mtp_params

    @cached_property
    def stored_params(self) -> float:
        """Weights in the files: the model's and those of its multi-token-prediction layers."""
        return self.params if self.params is not None else float(sum(t.params for t in self.tensors))

    @cached_property
    def active_params(self) -> float:
        """Weights that one token uses, embedding and head included.

        Left out are towers, prediction layers, the experts that the token does not take, and per-layer embeddings, of
        which it reads a row each.
        """
        if self.params is not None:
            return self.params
        active = 0.0
        for tensor in self.tensors:
            if tensor.role in STORED_ROLES or tensor.role == "per_layer_token_embd":
                continue
            share = 1.0
            if tensor.role in EXPERT_ROLES and tensor.group is not None:
                moe = self.groups[tensor.group].moe
                share = moe.active / moe.experts if moe is not None else 1.0
            active += tensor.params * share
        return active


def _tensors(model: Model) -> Iterator[Tensor]:
    yield Tensor("token_embd", None, (), model.vocab, model.hidden)
    if not model.tied:
        yield Tensor("output", None, (), model.vocab, model.hidden)
    if model.output_bias:
        yield Tensor("output_bias", None, (), 1, model.vocab)
    if model.learned_positions:
        yield Tensor("position_embd", None, (), model.learned_positions, model.hidden)
    if model.final_norm_params:
        yield Tensor("norm", None, (), 1, model.final_norm_params)
    for matrix in (*model.matrices, *model.lookups):
        yield Tensor(matrix.role, None, (), matrix.rows, matrix.cols, matrix.copies)
    if model.tower_params:
        yield Tensor("tower", None, (), 1, model.tower_params)
    if model.mtp_params:
        yield Tensor("mtp", None, (), 1, model.mtp_params)
    for index, group in enumerate(model.groups):
        layers = model.positions[index]
        for role, rows, cols, copies in layer_tensors(group, model.hidden):
            yield Tensor(role, index, layers, rows, cols, copies)


__all__ = [
    "EXPERT_ROLES",
    "LOOKUP_ROLES",
    "STORED_ROLES",
    "VECTOR_ROLES",
    "Attention",
    "Indexer",
    "Latent",
    "LayerGroup",
    "Matrix",
    "Mlp",
    "Model",
    "Moe",
    "State",
    "Tensor",
    "attention_kind",
]
