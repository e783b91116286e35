"""Weight and cache formats: bits from block layouts, sources, and families complete."""

import json

import pytest

from slmopt.specs.blocks import BLOCKS, block_bits
from slmopt.specs.formats import KERNELS, CacheFormat, WeightFormat
from slmopt.specs.library import preset_root
from slmopt.specs.mixes import MIXES


def _load(name, kind):
    entries = json.loads((preset_root() / name).read_text(encoding="utf-8"))
    records = {entry["id"]: kind.model_validate(entry) for entry in entries}
    assert len(records) == len(entries), "ids are unique"
    return records


WEIGHTS = _load("weights.json", WeightFormat)
CACHES = _load("caches.json", CacheFormat)


@pytest.mark.parametrize("record", [*WEIGHTS.values(), *CACHES.values()], ids=lambda r: r.id)
def test_every_record_has_a_source(record):
    assert record.source
    assert record.confidence in {"seen", "derived", "memory"}
    assert record.id == record.id.lower()


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_are_plausible(weights):
    assert weights.multiplied_as in KERNELS
    if weights.recipe is None:
        assert 1 <= weights.bits <= 32
    else:
        assert weights.recipe in MIXES


def test_families():
    assert len({weights.family for weights in WEIGHTS.values()}) >= 15 - 1
    assert len(WEIGHTS) >= 40
    assert set(MIXES) - {"f32"} <= {weights.recipe for weights in WEIGHTS.values()}


@pytest.mark.parametrize(
    ("ident", "bits"),
    [
        ("mxfp4", 4.25),
        ("nvfp4", 4.5),
        ("gptq-4-g128", 4.15625),
        ("awq-4-g128", 4.15625),
        ("int4-g128", 4.125),
        ("int4-g128-zero", 4.25),
        ("int8-g128", 8.125),
        ("nf4", 4.5),
        ("nf4-double", 4.126953125),
        ("mlx-4-g64", 4.5),
        ("fp8-block", 8.001953125),
        ("4.5-bit", 4.5),
    ],
)
def test_bits_include_scales_and_zeros(ident, bits):
    assert WEIGHTS[ident].bits == bits


def test_what_stays_at_16_bit():
    for ident in ("gptq-4-g128", "awq-4-g128", "nf4", "fp8", "nvfp4", "int4-g128"):
        assert {"token_embd", "output", "norm"} <= set(WEIGHTS[ident].kept)
    assert "token_embd" not in WEIGHTS["mlx-4-g64"].kept, "MLX quantises the embedding too"
    assert WEIGHTS["4.5-bit"].kept == (), "the article counts every weight alike"


@pytest.mark.parametrize(
    ("ident", "block"), [(k, k.upper()) for k in ("f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")]
)
def test_llama_cpp_caches_have_their_blocks_bits(ident, block):
    assert CACHES[ident].bits == block_bits(block)


def test_caches():
    assert {"f32", "f16", "bf16", "fp8", "int8", "int4", "nvfp4"} <= set(CACHES)
    assert CACHES["int8"].bits == 8 + 16 / 128
    assert CACHES["fp8-ds-mla"].bits * 576 / 8 == pytest.approx(656)


def test_block_table():
    assert (block_bits("Q4_K"), block_bits("Q6_K"), block_bits("IQ1_S")) == (4.5, 6.5625, 1.5625)
    assert all(1 <= 8 * size / weights <= 32 for weights, size in BLOCKS.values())
