"""A weight format keeps its size letter, however it is written."""

import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.readers._cells import ggml_format


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Q4_K_M", "Q4_K_M"),
        ("q5_k_s", "Q5_K_S"),
        ("Q3_K_L", "Q3_K_L"),
        ("llama 8B Q4_K - Medium", "Q4_K_M"),
        ("qwen2 1B Q5_K - Small", "Q5_K_S"),
        ("Q4_K_M - Medium", "Q4_K_M"),
        ("Q6_K", "Q6_K"),
        ("llama 7B Q4_0", "Q4_0"),
        ("IQ4_XS - 4.25 bpw", "IQ4_XS"),
        ("llama 1B F16", "F16"),
        ("llama 1B", ""),
    ],
)
def test_format_of_a_model_type(written, meant):
    assert ggml_format(written) == meant


def test_a_plain_table_keeps_the_format_that_it_names():
    table = b"model,weights,output_tokens,prompt_tokens,tokens_per_s\nLlama-3.2-1B,Q4_K_M,128,0,50\n"
    rows = read_benchmark("own.csv", table).rows
    assert rows["weight_format"].tolist() == ["Q4_K_M"]
