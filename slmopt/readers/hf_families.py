"""What a family of models does that its config.json does not say: norms, biases, gates, windows.

Each entry states facts of the published architecture; every one of them is checked by parameter counts in the tests.
A ``model_type`` that is not listed is read as a Llama-style decoder and said to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Flag = bool | str
"""True, False, or the name of the field that decides."""


@dataclass(frozen=True, slots=True)
class Family:
    """Traits of a decoder. A string where a flag may stand names the field of the config that decides.

    ``window`` says which layers see a window where no ``layer_types`` say it: None none, "all" all, "late" those from
    ``max_window_layers`` on, a number n all but every n-th.
    """

    norm: Literal["rms", "layer", "layer_plain", "none"] = "rms"
    norms: int = 2
    final_norm: bool = True
    embed_norm: bool = False
    gated: bool = True
    qkv_bias: Flag = "attention_bias"
    o_bias: Flag = "attention_bias"
    mlp_bias: Flag = "mlp_bias"
    head_bias: Flag = False
    qk_norm: Literal["none", "per_head", "per_head_bias", "full"] = "none"
    qk_norm_if: str = ""
    window: str | int | None = None
    positions: int | None = None
    width_divisor: int = 1
    output_gate: bool = False
    sinks: Literal["none", "all", "window"] = "none"
    shared_gate: bool = False
    expert_bias: bool = False
    router_bias: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


LLAMA = Family()
_PLAIN = Family(norm="layer", gated=False, qkv_bias=True, o_bias=True, mlp_bias=True)
_UNTIED = {"tie_word_embeddings": False}
_TIED = {"tie_word_embeddings": True}
_FIRST_DENSE = {"first_k_dense_replace": 1}
_NO_BIAS = Family(qkv_bias=False, o_bias=False, mlp_bias=False)
_QWEN2 = Family(qkv_bias=True, o_bias=False, mlp_bias=False, window="late")
_QWEN3 = Family(qk_norm="per_head", mlp_bias=False, window="late")
_GEMMA = Family(mlp_bias=False)
_DEEPSEEK = Family(mlp_bias=False)
_QWEN3_NEXT = Family(qk_norm="per_head", mlp_bias=False, output_gate=True, shared_gate=True)

FAMILIES: dict[str, Family] = {
    # Llama-like
    "llama": LLAMA,
    "cwm": replace(_NO_BIAS, window=4),
    "emu3_text_model": LLAMA,
    "exaone": replace(_NO_BIAS, extra=_UNTIED),
    "granite": LLAMA,
    "helium": replace(LLAMA, o_bias=False),
    "hyperclovax": replace(LLAMA, norms=4),
    "internlm": replace(LLAMA, qkv_bias="bias", o_bias="bias", mlp_bias=False, extra=_UNTIED),
    "internlm2": replace(LLAMA, qkv_bias="bias", o_bias="bias", mlp_bias=False, extra=_UNTIED),
    "internlm3": replace(LLAMA, qkv_bias="qkv_bias", o_bias="bias", mlp_bias="bias"),
    "iquestcoder": LLAMA,
    "mistral": replace(_NO_BIAS, window="all"),
    "ministral": replace(_NO_BIAS, window="all"),
    "ministral3": replace(_NO_BIAS, window="all"),
    "mllama_text_model": _NO_BIAS,
    "baichuan": replace(_NO_BIAS, extra=_UNTIED),
    "xverse": replace(_NO_BIAS, extra=_UNTIED),
    "yi": LLAMA,
    "orion": replace(_NO_BIAS, norm="layer", extra=_UNTIED),
    "minicpm": replace(_NO_BIAS, extra=_TIED),
    "minicpm3": _NO_BIAS,
    "seed_oss": replace(LLAMA, o_bias="attention_out_bias"),
    "smollm3": replace(LLAMA, window="late"),
    "solar_open": replace(LLAMA, mlp_bias=False),
    "hunyuan_v1_dense": replace(LLAMA, mlp_bias=False, qk_norm="per_head"),
    "hunyuan_v1_moe": replace(LLAMA, mlp_bias=False, qk_norm="per_head"),
    "ernie4_5": replace(LLAMA, qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias"),
    "arcee": replace(LLAMA, gated=False),
    "bitnet": replace(LLAMA, mlp_bias=False),
    "apertus": replace(LLAMA, gated=False, mlp_bias=False, qk_norm="per_head"),
    "diffllama": replace(LLAMA, mlp_bias=False),
    "nanochat": Family(norm="none", gated=False, mlp_bias=False),
    "phi3": replace(_NO_BIAS, window="all"),
    "phi4_multimodal": replace(_NO_BIAS, window="all"),
    # Qwen
    "qwen": replace(_NO_BIAS, qkv_bias=True, width_divisor=2, extra=_UNTIED),
    "qwen2": _QWEN2,
    "qwen2_moe": replace(_QWEN2, qkv_bias="qkv_bias", shared_gate=True, extra={"qkv_bias": True}),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_next": _QWEN3_NEXT,
    "qwen3_5": _QWEN3_NEXT,
    "qwen3_5_moe": _QWEN3_NEXT,
    "mimo": replace(_QWEN2, qkv_bias="attention_bias", extra=_UNTIED),
    # Gemma
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, norms=4, window=2),
    "vaultgemma": replace(_GEMMA, window=2),
    "gemma3": replace(_GEMMA, norms=4, qk_norm="per_head", window=6),
    # Cohere
    "cohere": Family(norm="layer_plain", norms=1, mlp_bias=False, qk_norm="full", qk_norm_if="use_qk_norm"),
    "cohere2": Family(norm="layer_plain", norms=1, mlp_bias=False, window=4),
    "cohere2_moe": Family(norm="layer_plain", norms=1, mlp_bias=False, window=4),
    # OLMo
    "olmo": Family(norm="none", mlp_bias=False),
    "olmo2": replace(LLAMA, mlp_bias=False, qk_norm="full"),
    "olmo3": replace(LLAMA, mlp_bias=False, qk_norm="full", window=4),
    "olmoe": replace(LLAMA, mlp_bias=False, qk_norm="full"),
    "flex_olmo": replace(LLAMA, mlp_bias=False, qk_norm="full"),
    "olmo_hybrid": replace(LLAMA, mlp_bias=False, qk_norm="full"),
    # GLM
    "chatglm": replace(_NO_BIAS, qkv_bias="add_qkv_bias", extra=_UNTIED),
    "glm": replace(LLAMA, o_bias=False, mlp_bias=False),
    "glm4": replace(LLAMA, norms=4, o_bias=False, mlp_bias=False),
    "glm4_moe": replace(LLAMA, o_bias=False, mlp_bias=False, qk_norm="per_head", qk_norm_if="use_qk_norm"),
    "glm4_moe_lite": replace(_DEEPSEEK, extra=_FIRST_DENSE),
    "glm_moe_dsa": _DEEPSEEK,
    # EXAONE
    "exaone4": replace(_NO_BIAS, qk_norm="per_head", window=4),
    "exaone_moe": replace(_NO_BIAS, qk_norm="per_head", window=4),
    # older decoders with biases and plain MLPs
    "gpt2": replace(_PLAIN, positions=0),
    "gpt_bigcode": replace(_PLAIN, positions=0),
    "gpt_neo": replace(_PLAIN, qkv_bias=False, positions=0),
    "gpt_neox": replace(_PLAIN, qkv_bias="attention_bias", o_bias="attention_bias"),
    "gptj": replace(_PLAIN, norms=1, qkv_bias=False, o_bias=False, head_bias=True),
    "codegen": replace(_PLAIN, norms=1, qkv_bias=False, o_bias=False, head_bias=True),
    "openai-gpt": replace(_PLAIN, positions=0, final_norm=False),
    "opt": replace(_PLAIN, qkv_bias="enable_bias", o_bias="enable_bias", mlp_bias="enable_bias", positions=2),
    "biogpt": replace(_PLAIN, positions=2),
    "xglm": _PLAIN,
    "ctrl": replace(_PLAIN, head_bias=True),
    "bloom": replace(_PLAIN, embed_norm=True),
    "falcon": replace(_PLAIN, qkv_bias="bias", o_bias="bias", mlp_bias="bias"),
    "mpt": Family(norm="layer_plain", gated=False, qkv_bias=False, o_bias=False, mlp_bias=False),
    "persimmon": replace(_PLAIN, qk_norm="per_head_bias", qk_norm_if="qk_layernorm"),
    "phi": replace(_PLAIN, norms=1, head_bias=True, qk_norm="per_head_bias", qk_norm_if="qk_layernorm"),
    "phi-msft": replace(_PLAIN, norms=1, head_bias=True, extra=_UNTIED),
    "phi3small": Family(norm="layer", qkv_bias=True, o_bias=True, mlp_bias=True, extra=_TIED),
    "stablelm": Family(
        norm="layer",
        qkv_bias="use_qkv_bias",
        o_bias=False,
        mlp_bias=False,
        qk_norm="full",
        qk_norm_if="qk_layernorm",
    ),
    "starcoder2": Family(
        norm="layer", gated=False, qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", window="all"
    ),
    "nemotron": Family(norm="layer", gated=False),
    "jais2": Family(norm="layer", gated=False),
    # experts
    "mixtral": replace(_NO_BIAS, window="all"),
    "phimoe": Family(norm="layer", mlp_bias=False, head_bias="lm_head_bias", window="all"),
    "granitemoe": replace(LLAMA, mlp_bias=False),
    "granitemoeshared": replace(LLAMA, mlp_bias=False),
    "granitemoehybrid": replace(LLAMA, mlp_bias=False),
    "dbrx": Family(norm="layer_plain", qkv_bias=False, o_bias=False, mlp_bias=False, extra=_UNTIED),
    "deepseek": replace(_DEEPSEEK, extra=_UNTIED),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": replace(_DEEPSEEK, extra=_UNTIED),
    "kimi_linear": replace(_DEEPSEEK, extra={**_UNTIED, **_FIRST_DENSE}),
    "dots1": replace(LLAMA, mlp_bias=False, qk_norm="per_head", window="late"),
    "ernie4_5_moe": replace(
        LLAMA, qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", router_bias=True
    ),
    "minimax_m2": replace(_NO_BIAS, qk_norm="full"),
    "minimax_m3_vl": replace(_NO_BIAS, qk_norm="per_head"),
    "gpt_oss": replace(LLAMA, mlp_bias=False, window=2, sinks="all", expert_bias=True, router_bias=True),
    "llama4": replace(LLAMA, mlp_bias=False),
    "aria_text": replace(LLAMA, mlp_bias=False),
    "afmoe": replace(
        LLAMA, norms=4, mlp_bias=False, qk_norm="per_head", output_gate=True, router_bias=True, window=4
    ),
    "mellum": replace(_NO_BIAS, qk_norm="per_head"),
    "hy_v3": replace(LLAMA, mlp_bias=False, qk_norm="per_head", extra=_FIRST_DENSE),
    "flint": replace(_NO_BIAS, qk_norm="per_head", sinks="all"),
    "kolibri1": replace(_NO_BIAS, norms=4, qk_norm="per_head"),
    "granite_swa": replace(LLAMA, sinks="all"),
    "granitemoe_swa": replace(LLAMA, mlp_bias=False, sinks="all"),
    "mimo_v2_flash": replace(_NO_BIAS, sinks="window", extra={"swa_num_key_value_heads": 8}),
    "longcat_flash": _DEEPSEEK,
    "deepseek_v4": _DEEPSEEK,
    # own stacks
    "gemma3n": replace(_GEMMA, window=5),
    "gemma4": replace(_GEMMA, window=6),
    "nemotron_h": replace(LLAMA, gated=False),
    "openelm": replace(
        _NO_BIAS,
        extra={
            "normalize_qk_projections": True,
            "ffn_with_glu": True,
            "share_input_output_layers": True,
            "tie_word_embeddings": True,
        },
    ),
    "rwkv": Family(norm="layer", extra={"tie_word_embeddings": False}),
    "rwkv5": Family(norm="layer", extra={"tie_word_embeddings": False}),
    # states
    "jamba": _NO_BIAS,
    "minimax": _NO_BIAS,
    "lara_mini": replace(_NO_BIAS, qk_norm="per_head"),
    "recurrent_gemma": replace(LLAMA, o_bias=True, mlp_bias=True, width_divisor=2),
    "bamba": LLAMA,
    "falcon_h1": LLAMA,
    "lfm2": replace(_NO_BIAS, qk_norm="per_head"),
    "lfm2_moe": replace(_NO_BIAS, qk_norm="per_head"),
    "mamba": replace(LLAMA, norms=1),
    "falcon_mamba": replace(LLAMA, norms=1),
    "mamba2": replace(LLAMA, norms=1),
}

ALIASES = {
    "gpt-sw3": "gpt2",
    "phi3_v": "phi3",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "deepseek_ref": "deepseek_v4",
    "apertus1p5_text": "apertus",
    "gemma4_unified": "gemma4",
    "gemma4_unified_text": "gemma4",
    "axk1": "deepseek_v3",
    "youtu": "deepseek_v3",
    "sarvam_mla": "deepseek_v3",
    "sarvam_moe": "glm4_moe",
}
"""Model types that are another one under a new name."""


def family_of(model_type: str) -> tuple[Family, str] | None:
    """The traits and the key of a model type; vision and text variants (``_text``, ``_vl``) share their decoder's."""
    key = ALIASES.get(model_type, model_type)
    for candidate in _candidates(key):
        if candidate in FAMILIES:
            return FAMILIES[candidate], candidate
    return None


def _candidates(key: str) -> list[str]:
    stems = [key, key.removesuffix("_text"), key.removesuffix("_text").replace("_vl", "").replace("_5", "")]
    return list(dict.fromkeys([*stems, key.replace("_vl", "").removesuffix("_text")]))
