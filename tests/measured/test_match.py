"""Names in files to presets: what is meant, and nothing where several could be."""

from __future__ import annotations

import math

import pytest

from slmopt.measured.match import looks_like_experts, match_cache, match_model, match_weights
from slmopt.measured.match_device import match_device
from slmopt.specs.library import library


@pytest.mark.parametrize(
    ("names", "params", "ident"),
    [
        ("llama 1B Q4_K - Medium", 1235814400, "llama-3.2-1b"),
        ("llama 1B Q4_K - Medium", 1235814432, "llama-3.2-1b"),
        ("llama 256M Q8_0", 134515008, "smollm2-135m"),
        ("llama 13B Q4_0", 13.02e9, "llama-2-13b"),
        ("llama 7B mostly Q4_0", 6.74e9, "llama-2-7b"),
        ("llama 8B Q4_K - Medium", 8.03e9, "llama-3.1-8b"),
        ("qwen3moe 30B.A3B Q4_K", 30532122624, "qwen3-30b-a3b"),
        ("gemma3 4B Q4_K - Medium", 3880099328, "gemma-3-4b"),
        ("qwen2 1B Q8_0", 1235814400, None),
        ("llama ?B Q8_0", 1e9 + 7, None),
        # A file with its prediction layer's own embedding and head, as published; one with split tensors.
        ("GLM-4.5-Air-UD-Q4_K_XL", 110.469e9, "glm-4.5-air"),
        ("DeepSeek-R1", 672.05e9, "deepseek-r1"),
        ("DeepSeek-R1", 700.5e9, None),
        ("no-such-name", 672.05e9, None),
    ],
)
def test_models_by_count(names: str, params: float, ident: str | None):
    found = match_model(library().models, [names], params)
    assert (found.id if found else None) == ident


@pytest.mark.parametrize(
    ("name", "ident"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M", "llama-3.1-8b"),
        ("llama3.2:1b", "llama-3.2-1b"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        ("DeepSeek-R1-Distill-Llama-8B", None),
        ("gpt2-large", None),
        ("Qwen2.5-Coder-7B", None),
        ("some-model", None),
        ("", None),
    ],
)
def test_models_by_name(name: str, ident: str | None):
    found = match_model(library().models, [name], math.nan)
    assert (found.id if found else None) == ident


@pytest.mark.parametrize(
    ("name", "ident"),
    [
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-mobile"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("h100_sxm", "h100-sxm-80gb"),
        ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
        ("NVIDIA GB10", "dgx-spark"),
        ("Apple M2 Max", "apple-m2-max"),
        # Two graphics units, two memory sizes, or memory that someone put in: asked, not guessed.
        ("Apple M4 Max", None),
        ("NVIDIA GeForce RTX 3060", None),
        ("AMD Ryzen 9 7950X 16-Core Processor", None),
        ("AMD EPYC", None),
        ("NVIDIA H100", None),
        ("NVIDIA GeForce RTX 5090 D", None),
        ("NVIDIA L40S, NVIDIA L4", None),
        ("", None),
    ],
)
def test_devices(name: str, ident: str | None):
    found = match_device(library().devices, name)
    assert (found.id if found else None) == ident


@pytest.mark.parametrize(
    ("name", "gguf", "ident", "bits", "least"),
    [
        ("Q4_K_M", True, "q4_k_m", None, False),
        ("F16", True, "gguf-f16", None, False),
        ("fp16", False, "f16", 16, False),
        ("MXFP4", True, "mxfp4_moe", None, False),
        ("mxfp4", False, "mxfp4", 4.25, False),
        ("Q4_K", True, "Q4_K", 4.5, True),
        ("AWQ", False, "AWQ", 4, True),
        ("W8A8", False, "W8A8", 8, True),
    ],
)
def test_weights(name: str, gguf: bool, ident: str, bits: float | None, least: bool):
    found = match_weights(library(), name, gguf=gguf)
    assert found is not None
    assert (found[0].id, found[0].bits, found[1]) == (ident, bits, least)


def test_what_is_no_format():
    assert match_weights(library(), "UD-Q4_K_XL", gguf=True) is None
    assert match_weights(library(), "") is None
    assert match_cache(library().caches, "nonsense") is None
    cache = match_cache(library().caches, "FP16")
    assert cache is not None
    assert cache.id == "f16"


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        ("8x7B", True),
        ("qwen3moe 30B.A3B", True),
        ("granite-1b-a400m", True),
        ("dots.llm1.inst-UD-Q4_K_XL", True),
        ("dots1 142B Q4_K", True),
        ("Llama-4-Scout-17B-16E-Instruct", True),
        ("Kimi-K2-Instruct", True),
        ("llama 8B", False),
        ("llama-3.1-405b", False),
        ("minicpm-4", False),
    ],
)
def test_names_of_mixtures(name: str, yes: bool):
    assert looks_like_experts(name) is yes
