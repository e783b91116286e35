"""What devices hold of a layer and send over their links, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.layers import Attention, Indexer, Latent, LayerGroup, Mlp, Moe, State
from slmopt.specs.model import Model
from slmopt.theory.forward import Group
from slmopt.theory.parallel import micro_batches, split_operators, split_terms
from slmopt.theory.terms import Term, operator_terms, pass_terms

W16, F16 = WeightFormat(id="w", name="w", bits=16), CacheFormat(id="c", name="c", bits=16)
HIDDEN = 8
SEE = Attention(heads=12, kv_heads=6, head_dim=4)


def model_of(*groups: LayerGroup) -> Model:
    return Model(id="m", name="m", hidden=HIDDEN, vocab=50, groups=groups)


def shared_out(model: Model, parallel: str, devices: int) -> dict[tuple[str, int | None], Term]:
    terms = split_operators(model, W16, F16, F16, parallel, devices)  # type: ignore[arg-type]
    return {(t.operator, t.group): t for t in terms}


@pytest.mark.parametrize(("devices", "on_each"), [(2, 3), (3, 2), (4, 2), (5, 2), (6, 1), (7, 1), (20, 1)])
def test_key_value_heads_are_copied_where_they_do_not_go_round(devices, on_each):
    picks = Indexer(heads=2, head_dim=10, top_k=6)
    model = model_of(
        LayerGroup(count=3, attention=SEE),
        LayerGroup(count=1, attention=SEE.model_copy(update={"owns_cache": False})),
        LayerGroup(count=2, attention=SEE.model_copy(update={"indexer": picks})),
        LayerGroup(
            count=1,
            attention=Attention(
                heads=4, kv_heads=1, head_dim=4, window=5, single_kv=True, compress=3, indexer=picks
            ),
        ),
    )
    found, alone = shared_out(model, "tensor", devices), shared_out(model, "tensor", 1)
    copies = devices * on_each / 6
    key = 6 * 4 * 2 * 2
    assert found["attention", 0].cache_bytes == pytest.approx(3 * key * copies)
    assert found["attention", 1].reread_bytes == pytest.approx(key * copies)
    assert found["attention", 2].cache_bytes == pytest.approx(2 * key * copies)
    # An indexer's keys, and the one head of a compressed entry, are on every device.
    assert found["attention", 2].index_bytes == 2 * 10 * 2 * devices
    assert found["attention", 3].entry_bytes == 4 * 2 * devices
    assert found["attention", 3].cache_bytes == 4 * 2 * devices
    for at, term in found.items():
        if at[0] != "link":
            # Weights and operations are split, and count once.
            assert (term.weight_bytes, term.token_flops, term.pair_flops, term.index_pair_flops) == (
                alone[at].weight_bytes,
                alone[at].token_flops,
                alone[at].pair_flops,
                alone[at].index_pair_flops,
            )


def test_a_latent_and_a_lone_indexer_are_on_every_device():
    latent = Latent(kv_rank=16, nope_dim=5, rope_dim=3, v_dim=7)
    model = model_of(LayerGroup(count=2, attention=Attention(heads=8, kv_heads=8, head_dim=8, latent=latent)))
    assert shared_out(model, "tensor", 3)["attention", 0].cache_bytes == 3 * 2 * 19 * 2
    counted = Model(id="m", name="m", params=1e6, layers=5, kv_heads=4, head_dim=2)
    assert shared_out(counted, "tensor", 3)["attention", None].cache_bytes == 5 * 4 * 2 * 2 * 2 * 3 * 2 / 4


BLOCKS = [
    (LayerGroup(count=3, attention=SEE, mlp=Mlp(width=4)), 2),
    (LayerGroup(count=3, attention=SEE), 1),
    (LayerGroup(count=3, mlp=Mlp(width=4)), 1),
    (LayerGroup(count=3, moe=Moe(experts=4, active=2, width=4)), 1),
    (LayerGroup(count=3, state=State(kind="s", state_elements=3), moe=Moe(experts=4, active=2, width=4)), 2),
    (LayerGroup(count=3, state=State(kind="s", state_elements=3), attention=SEE, mlp=Mlp(width=4)), 2),
    (LayerGroup(count=3, norm_params=4), 1),
]


@pytest.mark.parametrize(("group", "blocks"), BLOCKS)
@pytest.mark.parametrize("devices", [2, 4, 5])
def test_each_block_of_a_layer_ends_in_an_all_reduce(group, blocks, devices):
    link = shared_out(model_of(group, group), "tensor", devices)["link", None]
    reduces = 2 * 3 * blocks
    # 2·(N − 1)/N of 8 hidden values of two bytes.
    assert link.link_bytes == pytest.approx(reduces * 2 * (devices - 1) / devices * HIDDEN * 2)
    assert (link.messages, link.routed_bytes) == (reduces, 0.0)


@pytest.mark.parametrize(
    ("active", "devices", "away"), [(1, 2, 0.5), (2, 4, 1.5), (8, 2, 1.0), (8, 4, 3.0), (3, 3, 2.0)]
)
def test_whole_experts_send_tokens_away_and_back(active, devices, away):
    routed = LayerGroup(count=3, attention=SEE, moe=Moe(experts=8, active=active, width=4))
    dense = LayerGroup(count=2, attention=SEE, mlp=Mlp(width=4))
    bare = LayerGroup(count=1, moe=Moe(experts=8, active=active, width=4))
    found = shared_out(model_of(routed, dense, bare), "expert", devices)
    link = found["link", None]
    # One all-reduce in a layer with experts, two in one without; two messages more for each with them.
    reduces = 3 * 1 + 2 * 2 + 1 * 1
    assert link.messages == reduces + 2 * (3 + 1)
    assert link.link_bytes == pytest.approx(reduces * 2 * (devices - 1) / devices * HIDDEN * 2)
    # Each device has 1/N of the tokens, and sends each to so many others on average, and takes it back.
    assert link.routed_bytes == pytest.approx(4 * 2 * away / devices * HIDDEN * 2)
    assert found["experts", 0].spread == devices
    assert shared_out(model_of(routed), "tensor", devices)["experts", 0].spread == 1


def test_a_counted_model_sends_two_messages_a_layer():
    counted = Model(id="m", name="m", params=1e6, layers=5, kv_heads=4, head_dim=2)
    link = shared_out(counted, "tensor", 4)["link", None]
    assert (link.messages, link.link_bytes, link.routed_bytes) == (10, 0.0, 0.0)


@pytest.mark.parametrize("devices", [2, 3, 7])
def test_a_pipeline_hops_between_its_stages(devices):
    model = model_of(*[LayerGroup(count=3, attention=SEE, mlp=Mlp(width=4))] * 3)
    found = shared_out(model, "pipeline", devices)
    assert found["link", None].link_bytes == (devices - 1) * HIDDEN * 2
    assert found["link", None].messages == devices - 1
    assert {at: t for at, t in found.items() if at[0] != "link"} == {
        (t.operator, t.group): t for t in operator_terms(model, W16, F16, F16)
    }


@pytest.mark.parametrize("parallel", ["tensor", "pipeline", "expert"])
def test_one_device_is_the_plain_pass(parallel):
    model = model_of(LayerGroup(count=3, attention=SEE, moe=Moe(experts=4, active=2, width=4)))
    assert split_operators(model, W16, F16, F16, parallel, 1) == operator_terms(model, W16, F16, F16)
    assert split_terms(model, W16, F16, F16, parallel, 1) == pass_terms(model, W16, F16, F16)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
def test_micro_batches_of_several_groups(stages, kind):
    for batch, new, beside in (
        (0.0, 1.0, 0.0),
        (1.0, 1.0, 0.0),
        (1.0, 3.0, 1.0),
        (2.0, 5.0, 9.0),
        (0.5, 1.0, 0.25),
    ):
        groups = [Group(batch, new, 7.0), Group(beside, 1.0)]
        parts, count, readings = micro_batches(groups, stages, kind)  # type: ignore[arg-type]
        sequences, tokens = batch + beside, batch * new + beside
        assert readings == min(stages, max(1.0, sequences))
        assert count == (min(stages, max(1.0, tokens)) if kind == "ceiling" else readings)
        assert [p.batch for p in parts] == [batch / count, beside / count]
        assert [replace(p, batch=g.batch) for p, g in zip(parts, groups, strict=True)] == groups
    many = micro_batches([Group(np.array([1.0, 3.0, 9.0]))], stages, kind)  # type: ignore[arg-type]
    assert many[1].tolist() == [min(stages, b) for b in (1, 3, 9)]
