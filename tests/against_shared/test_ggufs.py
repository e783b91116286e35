"""Every config of the reference data, written as the header of a GGUF and read back: the same model."""

import json

import pytest

from slmopt.readers import read_config, read_model_file
from slmopt.specs.library import library
from slmopt.specs.weights import stored_bytes
from slmopt.theory.memory import cache_bytes
from slmopt.theory.terms import Term, operator_terms
from tests.readers.as_gguf import header
from tests.shared import SHARED

FACTS = SHARED / "facts"
INDEX = json.loads((FACTS / "configs" / "INDEX.json").read_text(encoding="utf-8"))
ROWS = list(enumerate(INDEX))
# RWKV has tensors of its own; a reward model's score is a head that a GGUF does not tell from any other matrix.
OTHERS = ("rwkv", "Skywork-Reward")
# Attention that neither the format nor this reader's names have so far.
UNKNOWN = ("DeepSeek-V4",)
SUMS = (
    "weight_bytes",
    "expert_bytes",
    "token_flops",
    "pair_flops",
    "cache_bytes",
    "index_bytes",
    "index_pair_flops",
    "latent_pair_flops",
    "latent_expand_flops",
    "state_bytes",
)
CASES = [pytest.param(n, row, id=row["name"]) for n, row in ROWS if not row["name"].startswith(OTHERS)]


def sums(terms: tuple[Term, ...]) -> dict[str, float]:
    return {name: sum(getattr(term, name) for term in terms) for name in SUMS}


@pytest.mark.parametrize(("number", "row"), CASES)
def test_a_gguf_of_it_gives_the_same_model(number, row):
    config = read_config((FACTS / row["file"]).read_bytes())
    arch = "llama4" if config.model_type.startswith("llama4") else "any"
    # Every other one with fused projections, which read alike.
    found = read_model_file(header(config, arch, fused=bool(number % 2)))
    model, f16, f32 = found.model, library().caches["f16"], library().weights["f32"]
    assert model.total_params == config.total_params
    assert model.stored_params == config.stored_params
    assert stored_bytes(found.weights, model) == found.size_bytes == 4 * config.stored_params
    if row["name"].startswith(UNKNOWN):
        assert any("attention that is not understood" in phrase for phrase in model.assumed)
        return
    assert model.active_params == config.active_params
    assert model.layer_count == config.layer_count
    for tokens in (1.0, 1000.0, 1e6):
        assert cache_bytes(model, f16, f16, tokens) == cache_bytes(config, f16, f16, tokens)
    assert sums(operator_terms(model, found.weights, f16, f16)) == pytest.approx(
        sums(operator_terms(config, f32, f16, f16)), rel=1e-12
    )
