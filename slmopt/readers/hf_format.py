"""The weight format that a config.json names: its quantisation, else the type its weights were saved in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from slmopt.readers.safe_json import load_object

FORMATS = frozenset(
    {
        "f32",
        "f16",
        "bf16",
        "fp8",
        "fp8-block",
        "mxfp8",
        "mxfp4",
        "nvfp4",
        "int8-channel",
        "int8-g128",
        "int4-g128",
        "int4-g128-zero",
        "int4-g32",
        "gptq-3-g128",
        "gptq-4-g32",
        "gptq-4-g64",
        "gptq-4-g128",
        "gptq-8-g128",
        "awq-4-g64",
        "awq-4-g128",
        "nf4",
        "nf4-double",
        "hqq-4-g64",
        "mlx-2-g64",
        "mlx-3-g64",
        "mlx-4-g32",
        "mlx-4-g64",
        "mlx-6-g64",
        "mlx-8-g64",
        "bitnet-i2-s",
    }
)
"""Identifiers of weight formats that can be told from a config."""

SAVED = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "half": "f16"}
ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PB_WO": "fp8-block",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "MXFP8": "mxfp8",
    "MXFP4": "mxfp4",
    "W4A16_AWQ": "awq-4-g128",
    "W4A8_AWQ": "awq-4-g128",
    "W8A8_SQ_PER_CHANNEL": "int8-channel",
    "INT4_AWQ": "awq-4-g128",
}


def read_config_format(data: Mapping[str, Any] | bytes | str) -> str | None:
    """Identifier of the weight format, or None where the config does not tell.

    Where layers differ it is the format of most of them.

    Raises
    ------
    SpecError
        If the data is not a readable config.
    """
    config = load_object(data)
    quantised, found = quantised_format(config)
    if quantised:
        return found
    for part in _parts(config):
        for key in ("torch_dtype", "dtype"):
            saved = part.get(key)
            if isinstance(saved, str):
                return SAVED.get(saved.removeprefix("torch."))
    return None


def quantised_format(config: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Whether a config says that its weights are quantised, and the format's identifier where that is understood."""
    for part in _parts(config):
        for key in ("quantization_config", "quantization", "compression_config"):
            if _is_map(part.get(key)):
                found = _quantised(part[key], mlx=key == "quantization")
                return True, found if found in FORMATS else None
    return False, None


def _parts(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The config, and the language model's inside it."""
    inner = ("text_config", "language_config", "llm_config")
    return [config, *(config[key] for key in inner if _is_map(config.get(key)))]


def _quantised(q: Mapping[str, Any], mlx: bool) -> str | None:
    method = _word(q.get("quant_method")).lower()
    algorithm = _word(q.get("moe_quant_algo")) or _word(q.get("quant_algo"))
    if algorithm.upper() == "MIXED_PRECISION" or (not algorithm and _is_map(q.get("quantized_layers"))):
        algorithm = _most_common(q.get("quantized_layers"))
    if algorithm.upper() in ALGORITHMS:
        return ALGORITHMS[algorithm.upper()]
    if method in {"fp8", "fbgemm_fp8", "finegrained_fp8"}:
        return "fp8-block" if q.get("weight_block_size") else "fp8"
    if method in {"mxfp4", "mxfp8"}:
        return method
    if method in {"gptq", "awq", "gptq_marlin", "awq_marlin", "auto-round", "autoround", "hqq"}:
        return _grouped(q, "awq" if "awq" in method else "hqq" if method == "hqq" else "gptq")
    if method in {"bitsandbytes", "bnb"} or q.get("load_in_4bit") or q.get("load_in_8bit"):
        if q.get("load_in_8bit") or q.get("_load_in_8bit"):
            return "int8-channel"
        return "nf4-double" if q.get("bnb_4bit_use_double_quant") is True else "nf4"
    if method == "bitnet":
        return "bitnet-i2-s"
    if _is_map(q.get("config_groups")):
        return _compressed(q["config_groups"])
    return _grouped(q, "mlx") if mlx else None


def _grouped(q: Mapping[str, Any], family: str) -> str | None:
    bits, group = q.get("bits"), q.get("group_size", 128 if family != "mlx" else 64)
    if bits is None and family == "awq":
        bits = q.get("w_bit")
    if bits == 8 and group == -1:
        return "int8-channel"
    return f"{family}-{bits}-g{group}" if isinstance(bits, int) and isinstance(group, int) else None


def _compressed(groups: Mapping[str, Any]) -> str | None:
    """The group that covers most layers; where that is not said, the narrowest."""
    weights = [g["weights"] for g in groups.values() if _is_map(g) and _is_map(g.get("weights"))]
    weights.sort(key=lambda w: w.get("num_bits") if isinstance(w.get("num_bits"), int) else 99)
    if not weights:
        return None
    w = weights[0]
    bits, group, kind = w.get("num_bits"), w.get("group_size"), w.get("type")
    if kind == "float" and bits == 8:
        return "mxfp8" if group == 32 else "fp8-block" if w.get("strategy") == "block" else "fp8"
    if kind == "float" and bits == 4:
        return "mxfp4" if group == 32 else "nvfp4"
    if kind == "int" and bits == 8:
        return f"int8-g{group}" if isinstance(group, int) and group > 0 else "int8-channel"
    if kind == "int" and bits == 4 and isinstance(group, int):
        return f"int4-g{group}" + ("" if w.get("symmetric", True) else "-zero")
    return None


def _most_common(layers: object) -> str:
    if not isinstance(layers, Mapping):
        return ""
    names = Counter(_word(layer.get("quant_algo")) for layer in layers.values() if isinstance(layer, Mapping))
    return names.most_common(1)[0][0] if names else ""


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
