"""Which memory holds which tensor: every layer dealt out one by one, over devices, stages, and card and host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np
import pytest

from slmopt import SpecError
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.specs.weights import stored_bytes, tensor_bits
from slmopt.theory.evaluation import evaluate
from slmopt.theory.forward import Group, forward
from slmopt.theory.holders import Holder, holders, only, stage_sizes
from slmopt.theory.offload import costs_at, host_terms, part_operators, placed, placed_of

HEADS = {"heads": 4, "kv_heads": 2, "head_dim": 16}
STACK = {
    "hidden": 64, "vocab": 300, "output_bias": True, "learned_positions": 40, "final_norm_params": 64,
    "lookups": [{"role": "per_layer_token_embd", "rows": 10, "cols": 6}],
    "matrices": [{"role": "hidden_proj", "rows": 12, "cols": 14}],
    "tower_params": 7000, "mtp_params": 9000,
    "groups": [
        {"count": 3, "attention": HEADS, "mlp": {"width": 128}, "norm_params": 128},
        {"count": 4, "attention": {**HEADS, "window": 32}, "moe": {"experts": 6, "active": 2, "width": 32, "bias": True}},
        {"count": 2, "state": {"kind": "mamba2", "state_elements": 90}, "moe": {"experts": 5, "active": 1, "width": 16, "shared_width": 8}},
    ],
    "order": [[0, 1], [1, 2], [2, 1], [0, 2], [1, 2], [2, 1]],
}  # fmt: skip
# The group of each of the nine layers.
ORDER = (0, 1, 1, 2, 0, 0, 1, 1, 2)
CARD = {"bandwidth_gbs": 1000, "peak_tflops": 100, "capacity_gb": 4}
HOST = {"bandwidth_gbs": 80, "peak_tflops": 2, "capacity_gb": 9}
COUNTED = {"params": 1.1e9, "layers": 11, "kv_heads": 4, "head_dim": 64}
DRAFTS = {"draft_tokens": 3, "acceptance": 0.5, "draft_model": {"params": 3e8, "layers": 2, "kv_heads": 1, "head_dim": 64}}  # fmt: skip


def asked(**more: object) -> Setup:
    values = {"model": STACK, "device": CARD, "weights": {"bits": 8}, "context": 100, "engine": "exact"}
    return resolve(scenario({**values, **more}))


def tied(is_tied: bool) -> dict[str, object]:
    return {**STACK, "tied": is_tied}


def each_layer(setup: Setup) -> Iterator[tuple[str, int | None, float]]:
    """(role, place in the stack or None, bytes) of every tensor of every layer."""
    model = setup.model
    for tensor, bits in zip(model.tensors, tensor_bits(setup.weights, model), strict=True):
        places = [at for at, group in enumerate(ORDER) if group == tensor.group] or [None]
        for place in places:
            yield tensor.role, place, tensor.rows * tensor.cols * tensor.copies / 8 * bits


def is_expert(role: str) -> bool:
    return role.startswith("ffn_") and role.endswith("_exps")


LOOKED_UP = {"token_embd", "per_layer_token_embd", "position_embd"}


def test_the_small_stack_holds_what_its_tensors_do():
    setup = asked()
    assert sum(size for *_, size in each_layer(setup)) == pytest.approx(stored_bytes(setup.weights, setup.model))  # fmt: skip


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("stages", [2, 3, 4, 9])
def test_a_pipelines_stages_hold_their_layers_and_the_ends_what_stands_outside(stages, is_tied):
    setup = asked(model=tied(is_tied), devices=stages, parallel="pipeline", **DRAFTS)
    sizes = stage_sizes(9, stages)
    assert sum(sizes) == 9
    expected = []
    start = 0
    for at, size in enumerate(sizes):
        first, last, held = at == 0, at == stages - 1, 0.0
        for role, place, many in each_layer(setup):
            if place is not None:
                here = start <= place < start + size
            elif role == "token_embd":
                here = first or (last and is_tied)
            else:
                here = first if role in LOOKED_UP or role == "tower" else last
            held += many * here
        counts = tuple(ORDER[start : start + size].count(group) for group in range(3))
        draft = 3e8 if last else 0.0
        expected.append((held + draft, draft, counts, last))
        start += size
    found = holders(setup)
    assert {(h.cache.counts, h.cache.beside is not None) for h in found} == {(c, d) for *_, c, d in expected}
    for holder in found:
        same = [e for e in expected if e[2:] == (holder.cache.counts, holder.cache.beside is not None)]
        assert (holder.weight_bytes, holder.draft_bytes) in [pytest.approx(e[:2], rel=1e-12) for e in same]
        assert holder.place == "stage"
    assert len(found) == len({(round(e[0]), *e[2:]) for e in expected}), "alike ones once"


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [
        # As vLLM deals them out: what is left over goes to the stages before the last, from there backwards.
        (8, 4, (2, 2, 2, 2)), (9, 4, (2, 2, 3, 2)), (10, 4, (2, 3, 3, 2)), (11, 4, (3, 3, 3, 2)), (62, 4, (15, 16, 16, 15)),
        (3, 2, (2, 1)), (5, 1, (5,)), (2, 3, (1, 1, 0)),
    ],
)  # fmt: skip
def test_stages_are_as_even_as_can_be(layers, stages, sizes):
    assert stage_sizes(layers, stages) == sizes


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_stages_of_a_counted_model_share_its_bytes_by_layers(stages):
    setup = asked(model=COUNTED, devices=stages, parallel="pipeline")
    sizes = stage_sizes(11, stages)
    found = {holder.cache.counts: holder for holder in holders(setup)}
    assert found.keys() == {(size,) for size in sizes}
    for (size,), holder in found.items():
        assert holder.weight_bytes == pytest.approx(1e8 * size)
        assert sum(kept.layers for kept in holder.cache.kept) == size


@pytest.mark.parametrize("devices", [2, 3, 4, 5])
def test_whole_experts_are_dealt_out_and_all_else_is_split(devices):
    setup = asked(devices=devices, parallel="expert", **DRAFTS)
    fullest = [0.0] * devices
    for role, place, many in each_layer(setup):
        if not is_expert(role):
            fullest = [held + many / devices for held in fullest]
            continue
        assert place is not None
        experts = STACK["groups"][ORDER[place]]["moe"]["experts"]
        for expert in range(experts):
            fullest[expert % devices] += many / experts
    (found,) = holders(setup)
    assert found.weight_bytes == pytest.approx(max(fullest) + 3e8 / devices, rel=1e-12)
    assert found.draft_bytes == 3e8 / devices
    (split,) = holders(asked(devices=devices, parallel="tensor", **DRAFTS))
    whole = sum(size for *_, size in each_layer(setup))
    assert split.weight_bytes == pytest.approx((whole + 3e8) / devices, rel=1e-12)


def test_one_device_holds_everything_and_is_the_only_one():
    setup = asked(**DRAFTS)
    (found,) = holders(setup)
    whole = sum(size for *_, size in each_layer(setup))
    assert (found.weight_bytes, found.draft_bytes) == (pytest.approx(whole + 3e8, rel=1e-12), 3e8)
    assert only(setup, "This works") == found
    for more in ({"devices": 2}, {"gpu_layers": 3, "host": HOST}):
        with pytest.raises(SpecError, match=r"^This works with one device"):
            only(asked(**more), "This works")


def test_what_a_memory_may_fill_and_keeps_aside():
    holder = Holder("device", 100.0, 0.5, 10.0, 3.0, None, holders(asked())[0].cache)
    assert (holder.usable, holder.reserve(), holder.reserve(most=True)) == (50.0, 3.0, 3.0)
    assert holder.draft_bytes == 0
    kept = Holder("device", None, 0.5, 10.0, 3.0, (1.0, 7.0), holder.cache)
    assert (kept.usable, kept.reserve(), kept.reserve(most=True)) == (None, 4.0, 10.0)


def slots_on_card(gpu_layers: int | None) -> tuple[set[int], bool]:
    """The layers on the card, and whether the head is: the last slots of the layers and then the head."""
    slots: list[int | str] = [*range(9), "head"]
    there = slots if gpu_layers is None else slots[len(slots) - min(gpu_layers, len(slots)) :]
    return {slot for slot in there if isinstance(slot, int)}, "head" in there


GRID = [(n, m) for n in (None, 0, 1, 2, 5, 9, 10, 99) for m in (None, 0, 1, 4, 9)]


@pytest.mark.parametrize(("gpu_layers", "cpu_moe"), GRID)
def test_card_and_host_hold_their_slots(gpu_layers, cpu_moe):
    here, head = slots_on_card(gpu_layers)
    model = Model.model_validate({"id": "m", "name": "m", **STACK})
    where = placed(model, gpu_layers, cpu_moe)
    with_experts = {place for place in here if place >= (cpu_moe or 0)}
    for group in range(3):
        layers = {place for place in range(9) if ORDER[place] == group}
        assert where.layers[group] == len(layers & here)
        assert where.experts[group] == len(layers & with_experts)
        assert where.rest[group] == len(layers - here)
        assert where.counts[group] == len(layers)
        assert where.share(group) == len(layers & here) / len(layers)
        assert where.share(group, experts=True) == len(layers & with_experts) / len(layers)
    assert (where.head, where.share(None)) == (head, float(head))


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize(("gpu_layers", "cpu_moe"), [(0, None), (1, None), (4, 2), (9, 7), (10, 3)])
def test_bytes_lie_with_their_slots(gpu_layers, cpu_moe, is_tied):
    setup = asked(model=tied(is_tied), gpu_layers=gpu_layers, cpu_moe_layers=cpu_moe, host=HOST, **DRAFTS)
    here, head = slots_on_card(gpu_layers)
    card = host = 0.0
    for role, place, many in each_layer(setup):
        if role in LOOKED_UP:
            # Looked up on the host; a table that is the head as well lies beside it, too.
            host += many
            card += many * (role == "token_embd" and is_tied and head)
        elif place is None:
            card, host = (card + many, host) if head else (card, host + many)
        elif place in here and not (is_expert(role) and place < (cpu_moe or 0)):
            card += many
        else:
            host += many
    first, second = holders(setup)
    assert (first.place, second.place) == ("card", "host")
    assert (first.weight_bytes, first.draft_bytes) == (pytest.approx(card + 3e8, rel=1e-12), 3e8)
    assert (second.weight_bytes, second.draft_bytes) == (pytest.approx(host, rel=1e-12), 0.0)
    assert (second.usable, second.reserve(), second.cache.beside) == (9e9, 0.0, None)
    counts = [sum(ORDER[place] == group for place in here) for group in range(3)]
    assert list(first.cache.counts) == counts
    assert list(second.cache.counts) == [3 - counts[0], 4 - counts[1], 2 - counts[2]]
    told = evaluate(setup.scenario).capacity
    assert told.weight_bytes + told.draft_bytes == pytest.approx(
        {"card": card + 3e8, "host": host}[told.place], rel=1e-12
    )


@pytest.mark.parametrize("layers", [None, 0, 4, 11, 12])
def test_a_counted_model_lies_on_both_by_its_layers(layers):
    model = Model.model_validate({"id": "m", "name": "m", **COUNTED})
    where = placed(model, layers, None)
    here = 11 if layers is None else min(layers, 11)
    assert (where.layers, where.experts, where.counts, where.rest) == ((here,), (here,), (11,), (11 - here,))
    assert where.head is (here == 11)


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
def test_the_cost_of_each_placement_is_that_of_its_operators(kind, is_tied):
    setup = asked(model=tied(is_tied), gpu_layers=4, cpu_moe_layers=2, host=HOST)
    wheres = [placed(setup.model, n, m) for n, m in GRID]
    group = Group(3.0, 2.0, 70.0)
    both = costs_at(setup, wheres, group, kind)
    whole = None
    for at, where in enumerate(wheres):
        costs = []
        for card, together in zip((True, False), both, strict=True):
            parts = part_operators(setup.model, setup.weights, *setup.cache, where, card=card)
            cost = forward(parts, [group], kind)
            one = [cost.weight_bytes, cost.cache_bytes, cost.matmul_flops, cost.attention_flops]
            told = [
                together.weight_bytes, together.cache_bytes, together.matmul_flops, together.attention_flops,
            ]  # fmt: skip
            assert [float(np.asarray(side)[at]) for side in told] == pytest.approx(one, rel=1e-12, abs=1e-9)
            costs.append(np.array(one, dtype=float))
        # Nothing is lost or done twice, wherever it lies.
        whole = sum(costs) if whole is None else whole
        assert sum(costs) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize(("gpu_layers", "cpu_moe"), [(0, None), (1, None), (4, 2), (9, 7), (None, 4)])
def test_a_crowd_reads_every_weight_where_it_lies(gpu_layers, cpu_moe, is_tied):
    setup = asked(model=tied(is_tied), gpu_layers=gpu_layers, cpu_moe_layers=cpu_moe, host=HOST)
    here, head = slots_on_card(gpu_layers)
    read = [0.0, 0.0]
    for role, place, many in each_layer(setup):
        if role in {"tower", "mtp"} or (role in LOOKED_UP and not (role == "token_embd" and is_tied)):
            continue
        kept = is_expert(role) and place is not None and place < (cpu_moe or 0)
        there = head if place is None else place in here and not kept
        read[not there] += many
    for card, expected in ((True, read[0]), (False, read[1])):
        terms = part_operators(setup.model, setup.weights, *setup.cache, placed_of(setup), card=card)
        # So many tokens meet every expert.
        cost = forward(terms, [Group(1e6, 1.0, 10.0)], "estimate")
        assert float(cost.weight_bytes) == pytest.approx(expected, rel=1e-12)


def test_nothing_is_on_the_host_where_all_is_on_the_card():
    setup = asked(gpu_layers=99, host=HOST)
    assert host_terms(setup) == ()
    assert placed_of(setup).rest == (0, 0, 0)
    assert astuple(placed(setup.model, None, None)) == astuple(placed_of(setup))


def test_the_library_has_a_model_with_towers_and_a_pipeline_of_it_holds_them_once():
    setup = resolve(
        scenario({"model": "gemma-3-27b", "weights": "bf16", "devices": 2, "parallel": "pipeline"})
    )
    assert library().models["gemma-3-27b"].tower_params
    table = 2.0 * setup.model.vocab * setup.model.hidden * setup.model.tied
    held = [holder.weight_bytes for holder in holders(setup)]
    assert sum(held) == pytest.approx(stored_bytes(setup.weights, setup.model) + table, rel=1e-12)
