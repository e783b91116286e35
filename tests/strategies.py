"""Hypothesis strategies: small models of every layer kind, passes over them, devices, whole scenarios."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from slmopt.specs.device import RATES
from slmopt.specs.model import (
    Attention,
    Indexer,
    Latent,
    LayerGroup,
    Matrix,
    Mlp,
    Model,
    Moe,
    State,
)
from slmopt.specs.scenario import Scenario, scenario
from tests.theory.oracle import Bits, Shape

few = settings(max_examples=40)
"""For properties that evaluate whole scenarios several times an example."""

small = st.integers(1, 6)
some = st.integers(0, 5)


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    """Full, window or chunk attention, with every optional part."""
    kv_heads = draw(st.integers(1, 3))
    return Attention(
        heads=kv_heads * draw(st.integers(1, 3)),
        kv_heads=kv_heads,
        head_dim=draw(small),
        v_head_dim=(value_dim := draw(st.none() | small)),
        value_is_key=value_dim is None and draw(st.booleans()),
        bias_qkv=draw(st.booleans()),
        bias_o=draw(st.booleans()),
        qk_norm=draw(st.sampled_from(["none", "per_head", "full"])),
        output_gate=draw(st.booleans()),
        sinks=draw(st.booleans()),
        owns_cache=draw(st.booleans()),
        **draw(st.sampled_from([{}, {"window": draw(small)}, {"chunk": draw(small)}])),
    )


@st.composite
def latent_attentions(draw: st.DrawFn) -> Attention:
    """Multi-head latent attention, with an indexer or without."""
    heads = draw(st.integers(1, 3))
    return Attention(
        heads=heads,
        kv_heads=heads,
        head_dim=draw(small),
        latent=Latent(
            kv_rank=draw(small),
            q_rank=draw(st.none() | small),
            nope_dim=draw(small),
            rope_dim=draw(some),
            v_dim=draw(small),
        ),
        indexer=draw(
            st.none() | st.builds(Indexer, heads=st.integers(1, 2), head_dim=small, top_k=st.integers(1, 9))
        ),
    )


mlps = st.builds(Mlp, width=small, gated=st.booleans(), bias=st.booleans())


@st.composite
def moes(draw: st.DrawFn) -> Moe:
    experts = draw(st.integers(1, 6))
    return Moe(
        experts=experts,
        active=draw(st.integers(1, experts)),
        width=draw(small),
        gated=draw(st.booleans()),
        bias=draw(st.booleans()),
        shared_width=draw(some),
        shared_gate=draw(st.booleans()),
        router_bias=draw(st.booleans()),
        latent=draw(st.none() | small),
    )


matrices = st.builds(Matrix, role=st.just("ssm_in"), rows=small, cols=small, copies=st.integers(1, 2))
states = st.builds(
    State,
    kind=st.sampled_from(["mamba2", "gated_delta"]),
    matrices=st.lists(matrices, max_size=2).map(tuple),
    vector_params=some,
    state_elements=some,
    conv_elements=some,
    scan_flops=some,
)


@st.composite
def layer_groups(draw: st.DrawFn) -> LayerGroup:
    """A group with attention, a state or both, and a dense or a routed feed-forward block or neither."""
    mixer = draw(st.sampled_from(["attention", "latent", "state", "both", "none"]))
    feed = draw(st.sampled_from(["dense", "experts", "none"]))
    attention = {"latent": latent_attentions(), "attention": attentions(), "both": attentions()}.get(mixer)
    return LayerGroup(
        count=draw(st.integers(1, 3)),
        attention=None if attention is None else draw(attention),
        state=draw(states) if mixer in ("state", "both") else None,
        mlp=draw(mlps) if feed == "dense" else None,
        moe=draw(moes()) if feed == "experts" else None,
        norm_params=draw(some),
        vector_params=draw(some),
        matrices=draw(st.lists(matrices, max_size=1).map(tuple)),
    )


@st.composite
def layered_models(draw: st.DrawFn) -> Model:
    return Model(
        id="small",
        name="small",
        hidden=draw(st.integers(1, 8)),
        vocab=draw(st.integers(1, 12)),
        tied=draw(st.booleans()),
        groups=tuple(draw(st.lists(layer_groups(), min_size=1, max_size=3))),
        final_norm_params=draw(some),
        output_bias=draw(st.booleans()),
        learned_positions=draw(some),
        matrices=tuple(draw(st.lists(matrices, max_size=1))),
        lookups=tuple(
            draw(
                st.lists(
                    st.builds(Matrix, role=st.just("per_layer_token_embd"), rows=small, cols=small),
                    max_size=1,
                )
            )
        ),
        tower_params=draw(some),
        mtp_params=draw(some),
    )


indexers = st.builds(
    Indexer, heads=st.integers(1, 2), head_dim=small, top_k=st.integers(1, 9), shared=st.booleans()
)


@st.composite
def sparse_attentions(draw: st.DrawFn) -> Attention:
    """Layers that attend to picked tokens or to compressed entries, or that take the picks of another layer."""
    way = draw(st.sampled_from(["plain", "latent", "compressed"]))
    if way == "latent":
        made = draw(latent_attentions())
        return made.model_copy(update={"indexer": draw(indexers)})
    made = draw(attentions())
    if way == "plain":
        return made.model_copy(update={"window": None, "chunk": None, "indexer": draw(indexers)})
    groups = draw(st.sampled_from([1, made.heads]))
    window = draw(small)
    parts = {
        "window": window,
        "chunk": None,
        "compress": draw(st.integers(1, 7)),
        "indexer": draw(st.none() | indexers),
        "kv_heads": 1,
        "v_head_dim": None,
        "single_kv": draw(st.booleans()),
        "q_rank": draw(st.none() | small),
        "o_rank": draw(st.none() | small),
        "o_groups": groups,
        "output_gate": False,
    }
    return made.model_copy(update=parts)


@st.composite
def sparse_models(draw: st.DrawFn) -> Model:
    """Models some of whose layers pick what they attend to."""
    groups = st.builds(
        LayerGroup, count=st.integers(1, 3), attention=sparse_attentions(), mlp=st.none() | mlps
    )
    base = draw(layered_models())
    more = draw(st.lists(groups, min_size=1, max_size=2))
    return base.model_copy(update={"groups": (*base.groups, *more)})


count_models = st.builds(
    Model,
    id=st.just("counted"),
    name=st.just("counted"),
    params=st.integers(1, 10**6).map(float),
    layers=some,
    kv_heads=some,
    head_dim=some,
)
models = st.one_of(layered_models(), layered_models(), count_models)


@st.composite
def shapes(draw: st.DrawFn, least: int = 0) -> Shape:
    """A group of a pass; ``least`` sequences at least."""
    new, past = draw(st.integers(1, 5)), draw(st.integers(0, 14))
    return Shape(
        batch=draw(st.integers(least, 3)),
        new=new,
        past=past,
        logits=draw(st.integers(0, new)),
        shared=draw(st.integers(0, past)),
    )


@st.composite
def passes(draw: st.DrawFn) -> list[Shape]:
    """One to three groups, of which the first has a sequence at least."""
    return [draw(shapes(1)), *draw(st.lists(shapes(), max_size=2))]


quarter_bits = st.integers(2, 128).map(lambda n: Fraction(n, 4))
bits = st.builds(Bits, weights=quarter_bits, k=quarter_bits, v=quarter_bits)


@st.composite
def real_models(draw: st.DrawFn) -> dict[str, Any]:
    """A description of a realistic size, whose times lie where times do: by count, or dense, windowed or routed."""
    if draw(st.booleans()):
        count = {"params": draw(st.floats(1e8, 1e12)), "layers": draw(st.integers(1, 100))}
        return {**count, "kv_heads": draw(st.integers(1, 64)), "head_dim": draw(st.sampled_from([64, 128]))}
    kv_heads, head_dim = draw(st.sampled_from([(1, 64), (8, 64), (8, 128), (32, 128)]))
    attention = {"heads": kv_heads * draw(st.integers(1, 8)), "kv_heads": kv_heads, "head_dim": head_dim}
    hidden = draw(st.sampled_from([512, 1024, 4096]))
    feed: dict[str, Any] = {"mlp": {"width": 3 * hidden}}
    if draw(st.booleans()):
        feed = {"moe": {"experts": 64, "active": draw(st.integers(1, 8)), "width": hidden}}
    groups = [{"count": draw(st.integers(1, 40)), "attention": attention, **feed}]
    limited = draw(st.sampled_from([None, "window", "chunk"]))
    if limited is not None:
        local = {**attention, limited: draw(st.integers(16, 8192))}
        groups.append({"count": draw(st.integers(1, 40)), "attention": local, **feed})
    return {"hidden": hidden, "vocab": 32000, "tied": draw(st.booleans()), "groups": groups}


@st.composite
def devices(draw: st.DrawFn) -> dict[str, Any]:
    """A device with a rate for every operand: one for all types, or FP16, FP32 and some others."""
    others = draw(st.lists(st.sampled_from(RATES), max_size=3))
    kinds = {*draw(st.sampled_from([("any",), ("fp16", "fp32")])), *others}
    return {
        "bandwidth_gbs": draw(st.floats(10, 10_000)),
        "capacity_gb": draw(st.floats(1, 1000)),
        "peak_tflops": {kind: draw(st.floats(0.1, 5000)) for kind in sorted(kinds)},
    }


fractions = st.floats(0.01, 1.0)

serving = st.just({}) | st.fixed_dictionaries(
    {
        "prefill_chunk_tokens": st.none() | st.integers(1, 4096),
        "batching": st.sampled_from(["continuous", "static"]),
        "output_spread": st.none() | st.floats(0, 1),
        "residency": st.sampled_from(["resident", "cold"]),
        "storage_gbs": st.none() | st.floats(0.1, 20),
        "attention_kernels": st.sampled_from(["fused", "unfused"]),
        "draft_heads_gb": st.none() | st.floats(0, 5),
    }
)


@st.composite
def scenarios(draw: st.DrawFn, ways: bool = False) -> Scenario:
    """A whole scenario with everything described inline, so that no preset decides a test.

    ``ways``: half of them serve in another way than the usual one (chunks, fixed groups, cold, not fused, heads).
    """
    prompt = draw(st.integers(1, 20_000))
    output = draw(st.integers(1, 300))
    context = draw(st.none() | st.integers(0, 100_000))
    depth = prompt + output if context is None else context
    return scenario(
        {
            "model": draw(real_models()),
            "device": draw(devices()),
            "weights": {"bits": draw(st.floats(1, 32))},
            "cache_k": {"bits": draw(st.floats(2, 32))},
            "cache_v": draw(st.none() | st.just({"bits": 4.5})),
            "engine": draw(st.sampled_from(["exact", "llama.cpp", "vllm", "sglang"])),
            "compute": draw(st.none() | st.sampled_from(RATES)),
            "prompt": prompt,
            "output": output,
            "context": context,
            "batch": draw(st.integers(1, 512)),
            "prefix_hit": draw(st.integers(0, prompt - 1)),
            "shared_prefix": draw(st.integers(0, depth)),
            "allocation": draw(st.sampled_from(["paged", "reserved"])),
            "acceptance": draw(st.none() | st.floats(0, 1)),
            "draft_tokens": draw(st.integers(0, 16)),
            "draft_cost": draw(st.none() | st.floats(0, 2)),
            **(draw(serving) if ways else {}),
            "bandwidth_fraction": draw(fractions),
            "compute_fraction": draw(fractions),
            "attention_tflops": draw(st.none() | st.floats(0.01, 10_000)),
            "fixed_ms": draw(st.floats(0, 20)),
        }
    )
