"""A model and its formats as the coefficients of a pass.

Every operator of a layer (attention, projections, feed-forward, experts, head, state) becomes one :class:`Term`; terms
that respond to a pass alike are added up, so that sixty layers of three kinds cost three evaluations.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import (
    EXPERT_ROLES,
    LOOKUP_ROLES,
    STORED_ROLES,
    VECTOR_ROLES,
    Attention,
    Model,
    Tensor,
)
from slmopt.specs.weights import tensor_bits

NO_WINDOW = float("inf")

# Recurrent states are kept in 16 bits at the least; runtimes that keep them in 32 reserve and move more.
STATE_BYTES = 2.0


@dataclass(frozen=True, slots=True)
class Term:
    """What one operator asks of a pass.

    ``weight_bytes`` are read once a pass, ``expert_bytes`` for each distinct expert; ``token_flops`` are done for every
    fed token (for every position with logits when ``head``); ``pair_flops`` for every visible (query, key) pair;
    ``score_pairs`` are scores for each such pair, which an ``unfused`` kernel writes and reads again. ``cache_bytes`` are
    read for every visible cached token and written for every new one. ``reread_bytes`` are those of
    another layer's cache, read for every visible cached token. An indexer reads ``index_bytes`` for every key and does
    ``index_pair_flops`` with each, then attends to ``top_k`` of them. ``compress`` tokens (0: none do) leave one entry of
    ``entry_bytes`` beside the window's tokens; keys, entries and ``top_k`` then count entries. In an estimate a length of
    cached tokens counts as the next multiple of ``cache_step``, where a runtime attends to so many together.

    Over several devices a pass sends ``messages``, and ``link_bytes`` for every fed token, over each one's link, and
    ``routed_bytes`` more where no token's experts are on the device that it is on. ``spread`` devices hold whole experts.
    """

    operator: str
    group: int | None = None
    head: bool = False
    weight_bytes: float = 0.0
    token_flops: float = 0.0
    experts: int = 0
    active: int = 0
    expert_bytes: float = 0.0
    spread: int = 1
    window: float = NO_WINDOW
    top_k: float = NO_WINDOW
    chunk: int = 0
    pair_flops: float = 0.0
    score_pairs: float = 0.0
    unfused: bool = False
    cache_bytes: float = 0.0
    reread_bytes: float = 0.0
    compress: int = 0
    entry_bytes: float = 0.0
    index_bytes: float = 0.0
    index_pair_flops: float = 0.0
    latent_pair_flops: float = 0.0
    latent_expand_flops: float = 0.0
    state_bytes: float = 0.0
    cache_step: int = 1
    link_bytes: float = 0.0
    routed_bytes: float = 0.0
    messages: float = 0.0

    @property
    def response(self) -> tuple[object, ...]:
        """Terms with the same response may be added coefficient by coefficient."""
        # Adding up the cheaper of two ways is exact only where the ways stand in one proportion.
        ways = (self.latent_pair_flops, self.latent_expand_flops) if self.latent_pair_flops else ()
        return (
            self.head,
            self.experts,
            self.active,
            self.spread,
            self.window,
            self.top_k,
            self.chunk,
            self.compress,
            tuple(way / self.pair_flops for way in ways),
        )

    @property
    def turns(self) -> tuple[float, ...]:
        """Cached tokens at which a limit is reached, so that reads and operations grow differently beyond."""
        chosen = self.top_k * self.compress if self.compress else self.top_k
        return self.window, chosen, float(self.chunk)


_SUMMED = tuple(f.name for f in fields(Term) if f.type == "float" and f.name not in ("window", "top_k"))


def scaled(term: Term, factor: float) -> Term:
    """The same operator for ``factor`` times as many layers."""
    return replace(term, **{name: getattr(term, name) * factor for name in _SUMMED})


def with_kernels(terms: tuple[Term, ...], *, unfused: bool) -> tuple[Term, ...]:
    """The terms under attention kernels that keep scores on chip, or that do not."""
    return tuple(replace(term, unfused=True) for term in terms) if unfused else terms


def merge(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Fewest terms with the same sums."""
    alike: dict[tuple[object, ...], list[Term]] = defaultdict(list)
    for term in terms:
        alike[term.response].append(term)
    merged = []
    for same in alike.values():
        sums = {name: sum(getattr(term, name) for term in same) for name in _SUMMED}
        merged.append(replace(same[0], operator="all", group=None, **sums))
    return tuple(merged)


@lru_cache(maxsize=512)
def pass_terms(
    model: Model, weights: WeightFormat, cache_k: CacheFormat, cache_v: CacheFormat
) -> tuple[Term, ...]:
    """The merged terms of a forward pass, for speed."""
    return merge(operator_terms(model, weights, cache_k, cache_v))


@lru_cache(maxsize=512)
def operator_terms(
    model: Model, weights: WeightFormat, cache_k: CacheFormat, cache_v: CacheFormat
) -> tuple[Term, ...]:
    """One term for each operator of each layer group."""
    bits = tensor_bits(weights, model)
    if model.by_count:
        return _count_terms(model, bits[0], cache_k, cache_v)
    terms = []
    for (operator, group), tensors in _by_operator(model, bits).items():
        if operator == "experts" and group is not None:
            terms.append(_expert_term(model, group, tensors))
            continue
        terms.append(
            Term(
                operator,
                group,
                head=operator == "head",
                weight_bytes=sum(t.params * b / 8 for t, b in tensors),
                token_flops=sum(2.0 * t.params for t, _ in tensors if t.role not in VECTOR_ROLES),
            )
        )
    for index, group_spec in enumerate(model.groups):
        if group_spec.attention is not None:
            terms.append(_attention_term(group_spec.attention, index, group_spec.count, cache_k, cache_v))
        if group_spec.state is not None:
            state = group_spec.state
            terms.append(
                Term(
                    "state",
                    index,
                    token_flops=float(group_spec.count * state.scan_flops),
                    state_bytes=group_spec.count * (state.state_elements + state.conv_elements) * STATE_BYTES,
                )
            )
    return tuple(terms)


def _count_terms(model: Model, bits: float, cache_k: CacheFormat, cache_v: CacheFormat) -> tuple[Term, ...]:
    params = model.total_params
    elements = model.layers * model.kv_heads * model.head_dim
    return (
        Term("weights", weight_bytes=params * bits / 8, token_flops=2 * params),
        Term("attention", cache_bytes=elements * (cache_k.bits + cache_v.bits) / 8),
    )


def _by_operator(
    model: Model, bits: tuple[float, ...]
) -> dict[tuple[str, int | None], list[tuple[Tensor, float]]]:
    grouped: dict[tuple[str, int | None], list[tuple[Tensor, float]]] = defaultdict(list)
    for tensor, b in zip(model.tensors, bits, strict=True):
        if tensor.role in STORED_ROLES or (tensor.role in LOOKUP_ROLES and not _is_head(tensor, model)):
            continue
        grouped[_operator(tensor, model), tensor.group].append((tensor, b))
    return grouped


def _is_head(tensor: Tensor, model: Model) -> bool:
    return tensor.role in ("output", "output_bias") or (tensor.role == "token_embd" and model.tied)


def _operator(tensor: Tensor, model: Model) -> str:
    if _is_head(tensor, model):
        return "head"
    if tensor.role in EXPERT_ROLES:
        return "experts"
    if tensor.role.startswith(("attn_", "indexer_")):
        return "projections"
    if tensor.role.startswith("ffn_"):
        return "mlp"
    if tensor.role.startswith(("ssm_", "state_", "conv_", "shortconv_")):
        return "state projections"
    return "other"


def _expert_term(model: Model, group: int, tensors: list[tuple[Tensor, float]]) -> Term:
    moe = model.groups[group].moe
    assert moe is not None
    share = moe.active / moe.experts
    return Term(
        "experts",
        group,
        experts=moe.experts,
        active=moe.active,
        expert_bytes=sum(t.params * b / 8 for t, b in tensors) / moe.experts,
        token_flops=sum(2.0 * t.params * share for t, _ in tensors if t.role != "ffn_bias_exps"),
    )


def _attention_term(a: Attention, group: int, count: int, cache_k: CacheFormat, cache_v: CacheFormat) -> Term:
    """Attention of ``count`` layers: 2·heads·(d_qk + d_v) operations a pair, and what each cached token takes."""
    owner = a if a.owns_cache else a.model_copy(update={"owns_cache": True})
    cached = count * (owner.cached_k * cache_k.bits + owner.cached_v * cache_v.bits) / 8
    term = Term(
        "attention",
        group,
        window=float(a.window) if a.window is not None else NO_WINDOW,
        chunk=a.chunk or 0,
        compress=a.compress or 0,
        pair_flops=2.0 * count * a.heads * (a.head_dim + a.value_dim),
        score_pairs=float(count * a.heads),
        cache_bytes=cached if a.owns_cache else 0.0,
        reread_bytes=0.0 if a.owns_cache else cached,
        entry_bytes=cached if a.owns_cache and a.compress else 0.0,
    )
    if a.latent is not None:
        latent = a.latent
        term = replace(
            term,
            pair_flops=2.0 * count * a.heads * (2 * latent.kv_rank + latent.rope_dim),
            latent_pair_flops=2.0 * count * a.heads * (latent.nope_dim + latent.rope_dim + latent.v_dim),
            latent_expand_flops=2.0 * count * latent.kv_rank * a.heads * (latent.nope_dim + latent.v_dim),
        )
    if a.indexer is None:
        return term
    term = replace(term, top_k=float(a.indexer.top_k))
    if a.indexer.shared:
        return term
    return replace(
        term,
        index_bytes=count * a.cached_index * cache_k.bits / 8,
        index_pair_flops=2.0 * count * a.indexer.heads * a.indexer.head_dim,
    )
