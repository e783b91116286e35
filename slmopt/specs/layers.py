"""What a layer is made of: attention, a state, a dense block or experts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from slmopt.specs.base import Spec

Count = Field(default=0, ge=0)


class Latent(Spec):
    """Multi-head latent attention: what is cached is a latent of ``kv_rank`` and a shared rope key of ``rope_dim``."""

    kv_rank: int = Field(gt=0)
    q_rank: int | None = Field(default=None, gt=0)
    nope_dim: int = Field(gt=0)
    rope_dim: int = Field(ge=0)
    v_dim: int = Field(gt=0)


class Indexer(Spec):
    """Sparse attention: an indexer reads every key of its own small cache and picks ``top_k`` tokens to attend to.

    A ``shared`` one takes the picks of an earlier layer: it has neither weights nor a cache.
    """

    heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    top_k: int = Field(gt=0)
    shared: bool = False


class Attention(Spec):
    """One layer's attention. ``window`` counts the visible tokens, the token's own included; None sees all.

    ``value_is_key``: keys and values come from one projection, and both are cached (Gemma 4). ``single_kv``: one vector
    is cached and serves as key and as value (DeepSeek V4). ``compress``: beside the tokens of its window the layer
    keeps one entry for every so many tokens. ``q_rank`` and ``o_rank`` factor the query and output projections, the
    latter in ``o_groups`` groups of heads.
    """

    heads: int = Field(gt=0)
    kv_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    v_head_dim: int | None = Field(default=None, gt=0)
    window: int | None = Field(default=None, gt=0)
    chunk: int | None = Field(default=None, gt=0)
    latent: Latent | None = None
    indexer: Indexer | None = None
    bias_qkv: bool = False
    bias_o: bool = False
    qk_norm: Literal["none", "per_head", "full"] = "none"
    output_gate: bool = False
    sinks: bool = False
    value_is_key: bool = False
    single_kv: bool = False
    owns_cache: bool = True
    compress: int | None = Field(default=None, gt=0)
    q_rank: int | None = Field(default=None, gt=0)
    o_rank: int | None = Field(default=None, gt=0)
    o_groups: int = Field(default=1, gt=0)

    @model_validator(mode="after")
    def _heads_divide(self) -> Attention:
        if self.latent is None and self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} KV heads: give a divisor of heads"
            )
        return self

    @property
    def value_dim(self) -> int:
        """Width of a value head."""
        return self.head_dim if self.v_head_dim is None else self.v_head_dim

    @property
    def cached_k(self) -> int:
        """Elements cached a token for keys (latent and rope part for MLA)."""
        if not self.owns_cache:
            return 0
        if self.latent is not None:
            return self.latent.kv_rank + self.latent.rope_dim
        return self.kv_heads * self.head_dim

    @property
    def cached_v(self) -> int:
        """Elements cached a token for values; none of their own where one vector serves both (MLA, ``single_kv``)."""
        if not self.owns_cache or self.latent is not None or self.single_kv:
            return 0
        return self.kv_heads * self.value_dim

    @property
    def cached_index(self) -> int:
        """Elements cached for the indexer's keys, one key a token (a compressed entry where the layer compresses)."""
        return (
            self.indexer.head_dim
            if self.indexer is not None and self.owns_cache and not self.indexer.shared
            else 0
        )


class Mlp(Spec):
    """A dense feed-forward block: three matrices when gated, two when plain."""

    width: int = Field(gt=0)
    gated: bool = True
    bias: bool = False


class Moe(Spec):
    """Routed experts, with shared ones beside them. ``latent`` is the width experts work in, where it is not hidden."""

    experts: int = Field(gt=0)
    active: int = Field(gt=0)
    width: int = Field(gt=0)
    gated: bool = True
    bias: bool = False
    shared_width: int = Field(default=0, ge=0)
    shared_gate: bool = False
    router_bias: bool = False
    latent: int | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _enough(self) -> Moe:
        if self.active > self.experts:
            raise ValueError(
                f"{self.active} active of {self.experts} experts: active must not exceed experts"
            )
        return self


class Matrix(Spec):
    """A weight matrix outside the usual ones: ``rows`` outputs by ``cols`` inputs, used for every token."""

    role: str
    rows: int = Field(gt=0)
    cols: int = Field(gt=0)
    copies: int = Field(default=1, gt=0)


class State(Spec):
    """A state per sequence that does not grow: state-space, linear attention, short convolution.

    ``state_bits`` is the precision that the model's own config asks for its state elements (``mamba_ssm_dtype``); None
    leaves it to the runtime.
    """

    kind: str
    matrices: tuple[Matrix, ...] = ()
    vector_params: int = Count
    state_elements: int = Count
    state_bits: int | None = Field(default=None, ge=1, le=64)
    conv_elements: int = Count
    scan_flops: int = Count


class LayerGroup(Spec):
    """``count`` layers of one description. ``norm_params`` is all one layer's norm weights and biases together."""

    count: int = Field(gt=0, le=100_000)
    attention: Attention | None = None
    state: State | None = None
    mlp: Mlp | None = None
    moe: Moe | None = None
    norm_params: int = Count
    matrices: tuple[Matrix, ...] = ()
    vector_params: int = Count

    @property
    def kind(self) -> str:
        """What the layer is called where layers are told apart by kind."""
        parts = []
        if self.attention is not None:
            parts.append(attention_kind(self.attention))
        if self.state is not None:
            parts.append(self.state.kind)
        if self.moe is not None:
            parts.append("experts")
        elif self.mlp is not None and not parts:
            parts.append("mlp")
        return " + ".join(parts) or "other"


def attention_kind(attention: Attention) -> str:
    """The field's word for how a layer attends."""
    if attention.indexer is not None:
        return "sparse"
    if attention.latent is not None:
        return "latent"
    if attention.window is not None:
        return "window"
    return "chunked" if attention.chunk is not None else "full"
