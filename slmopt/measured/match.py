"""Names in benchmark files to presets: only where one preset is meant, and nothing where several could be.

A parameter count says more than a name: llama-bench calls a model of 135 million weights "llama 256M", and one of
another maker with its architecture "llama 7B" as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from slmopt.specs.blocks import BLOCKS, block_bits
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.library import Library
from slmopt.specs.model import Model

EXACT: Final = 2e-4
"""Relative room for a count given in full: a file stores its rope factors beside the weights, some 32 numbers."""

NEAR: Final = 0.02
"""Relative room for the count of a model known by its name: files split or merge tensors, and vocabularies are padded."""

FEWEST_FIGURES: Final = 3
"""A count of fewer figures ("7B") is a label: it tells no models apart."""

_NOTHING: Final = frozenset({
    "instruct", "chat", "it", "base", "hf", "gguf", "ggml", "awq", "gptq", "mlx", "exl2", "exl3", "fp8",
    "fp4", "fp16", "bf16", "f16", "f32", "int4", "int8", "w4a16", "w8a8", "w8a16", "nvfp4", "mxfp4",
    "mxfp4_moe", "bnb", "nf4", "dynamic", "quantized", "quant", "imatrix", "i1", "ud", "thinking",
    "preview", "abliterated", "uncensored", "4bit", "8bit", "2bit", "3bit", "6bit", "qat", "mostly",
    "meta", "the", "model", "models", "text", "only", "latest", "release",
})  # fmt: skip
"""Words of a model's name that leave its shape as it is."""

_EXPERTS: Final = re.compile(
    r"(?:^|[^a-z0-9])(?:\d+x\d+(?:\.\d+)?b|a\d+(?:\.\d+)?[bm]|moe)(?:$|[^a-z0-9])|moe\b", re.IGNORECASE
)
# Families of experts whose names do not say so.
_EXPERT_FAMILIES: Final = re.compile(
    r"(?:^|[^a-z0-9])(?:\d+e|dots[._-]?(?:llm)?1|llama[._-]?4|gpt[._-]?oss|kimi[._-]?k\d|minimax[._-]?m\d|mixtral|dbrx|grok"
    r"|deepseek[._-]?v[234])(?:$|[^a-z0-9])",
    re.IGNORECASE,
)
_FORMAT_WORD: Final = re.compile(r"(?:i?q|tq)\d(?:_[a-z0-9]+)*$")


def looks_like_experts(*names: str) -> bool:
    """Whether a name says that its model is a mixture of experts ("8x7B", "A3B", "qwen3moe", "dots1")."""
    return any(rule.search(name) is not None for name in names for rule in (_EXPERTS, _EXPERT_FAMILIES))


def match_model(presets: Mapping[str, Model], names: Iterable[str], params: float = math.nan) -> Model | None:
    """The preset that a row's names and parameter count mean, or None.

    With a count, presets of that count and an architecture that the names allow are candidates; one shape among them
    is enough. Without one, the longest id that the name begins with or contains, if nothing in the rest of the name
    changes a shape.
    """
    texts = [name for name in names if name]
    if _figures(params) >= FEWEST_FIGURES:
        return _by_count(presets, texts, params)
    return _by_name(presets, texts)


def agrees(model: Model, params: float) -> bool:
    """Whether a stated parameter count is this model's, towers and prediction layers counted or not."""
    figures = _figures(params)
    if not figures:
        return False
    room = max(EXACT, 0.6 * 10.0 ** (math.floor(math.log10(params)) + 1 - figures) / params)
    return any(abs(params - count) <= room * count for count in stated_counts(model))


def near(model: Model, params: float) -> bool:
    """Whether a count is this model's but for a few tensors that a file keeps in another way."""
    return any(abs(params / count - 1) < NEAR for count in stated_counts(model))


def counts(model: Model) -> tuple[float, ...]:
    """Parameter counts that a file of the model may state."""
    total = model.total_params
    if model.by_count:
        return (total,)
    without_tower = total - model.tower_params
    return total, without_tower, without_tower - model.mtp_params


def stated_counts(model: Model) -> tuple[float, ...]:
    """``counts``, and the published one, which may hold prediction layers with embeddings of their own."""
    published = model.published_params
    return counts(model) if published is None else (*counts(model), float(published))


def _figures(params: float) -> int:
    """Significant figures in which a count is stated; 0 for none."""
    if not (math.isfinite(params) and params > 0):
        return 0
    return len(f"{params:.12e}".split("e")[0].replace(".", "").rstrip("0"))


def _by_count(presets: Mapping[str, Model], texts: list[str], params: float) -> Model | None:
    found = [
        m for m in presets.values() if not m.by_count and agrees(m, params) and _architecture_fits(m, texts)
    ]
    if len({_shape(model) for model in found}) == 1:
        # The same layers with a few more words in the vocabulary: the name's own, or the nearest count.
        return max(found, key=lambda model: (_overlap(model, texts), -abs(model.total_params - params)))
    if found:
        return _by_name({model.id: model for model in found}, texts)
    named = _by_name(presets, texts)
    return named if named is not None and not named.by_count and near(named, params) else None


_LLAMA: Final = frozenset({"llama", "mistral", "mixtral", "minicpm", "smollm3", "granite"})


def _architecture_fits(model: Model, texts: list[str]) -> bool:
    """Whether llama.cpp's architecture name, the first word of a model type, can be this model's."""
    kind = _plain(model.model_type.removesuffix("_text"))
    if not kind:
        return True
    for text in texts:
        first = _plain(text.split(" ")[0])
        if " " not in text or not first:
            continue
        if first == "llama":
            return model.model_type in _LLAMA
        return kind.startswith(first) or first.startswith(kind) or not _is_architecture(first)
    return True


def _is_architecture(word: str) -> bool:
    return word.startswith(
        ("qwen", "gemma", "phi", "glm", "gptoss", "falcon", "deepseek", "olmo", "granite", "lfm", "starcoder")
    )


def _shape(model: Model) -> tuple[object, ...]:
    """What decides bytes and operations; vocabularies of one size class differ by a handful of words."""
    return model.hidden, model.vocab // 1000, model.tied, model.groups


def _overlap(model: Model, texts: list[str]) -> int:
    words = set(_words(model.id))
    return max((len(words & set(_words(text))) for text in texts), default=0)


def _by_name(presets: Mapping[str, Model], texts: list[str]) -> Model | None:
    best: dict[int, set[str]] = {}
    for text in texts:
        words = _words(text)
        for ident, model in presets.items():
            for name in {ident, model.hf_id.rpartition("/")[2]} - {""}:
                wanted = _words(name)
                if _contains(words, wanted):
                    best.setdefault(len("".join(wanted)), set()).add(ident)
    if not best:
        return None
    idents = best[max(best)]
    return presets[idents.pop()] if len({_shape(presets[i]) for i in idents}) == 1 else None


# Presets' names are split for every kind of row, which takes 10 ms for all of them.
@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """A name's words: of a path the last part; "qwen2.5" is "qwen" and "2.5", "7b.q4_0" is "7b" and "q4_0"."""
    last = re.split(r"[\\/]", text.lower())[-1]
    apart = re.sub(r"(?<!\d)\.|\.(?!\d)", " ", last.replace(":", "-"))
    found = re.findall(r"[a-z0-9.]+(?:_[a-z0-9]+)*", apart)
    return tuple(part for word in found for part in _apart(word))


def _apart(word: str) -> list[str]:
    split = re.fullmatch(r"([a-z]{3,})(\d[\d.]*)", word)
    return [split[1], split[2]] if split else [word]


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` stands in ``words`` in order, and no other word changes the model's shape."""
    rest = list(wanted)
    for word in words:
        if rest and word == rest[0]:
            rest.pop(0)
        elif not _says_nothing(word):
            return False
    return not rest


def _says_nothing(word: str) -> bool:
    return (
        word in _NOTHING
        or bool(_FORMAT_WORD.match(word))
        or bool(re.fullmatch(r"\d{4,8}|v\d(?:\.\d)?|g\d+|\d+g", word))
    )


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


_LEAST: Final = {
    "awq": 4.0, "gptq": 4.0, "int4": 4.0, "w4a16": 4.0, "4bit": 4.0, "fp4": 4.0, "w4a8": 4.0, "int8": 8.0, "w8a8": 8.0,
    "w8a16": 8.0, "8bit": 8.0, "3bit": 3.0, "2bit": 2.0, "6bit": 6.0, "5bit": 5.0,
}  # fmt: skip


def match_weights(presets: Library, name: str, *, gguf: bool = False) -> tuple[WeightFormat, bool] | None:
    """The weight format that a name means, and whether it is the least that the name allows; None for no known name.

    "AWQ" alone says four bits and not how many scales: four is then a bound. ``gguf`` names are llama.cpp's file types.
    """
    key = name.strip().lower().replace("-", "_")
    key = {"fp16": "f16", "fp32": "f32"}.get(key, key)
    if gguf:
        special = {"f16": "gguf-f16", "bf16": "gguf-bf16", "mxfp4": "mxfp4_moe"}.get(key, "")
        if special in presets.weights:
            return presets.weights[special], False
    for ident, weights in presets.weights.items():
        if _plain(key) == _plain(ident):
            return weights, False
    if key.upper() in BLOCKS:
        # "Q4_K" without a size: most of its tensors have that block, and none a smaller one.
        return WeightFormat.model_validate({"id": name, "name": name, "bits": block_bits(key.upper())}), True
    bits = _LEAST.get(_plain(key))
    if bits is None:
        return None
    return WeightFormat.model_validate({"id": name, "name": name, "bits": bits}), True


def match_cache(presets: Mapping[str, CacheFormat], name: str) -> CacheFormat | None:
    """The cache format of that name, or None."""
    key = _plain(name)
    alias = {
        "fp16": "f16",
        "fp32": "f32",
        "fp8e4m3": "fp8",
        "fp8e5m2": "fp8",
        "bfloat16": "bf16",
        "float16": "f16",
    }
    wanted = alias.get(key, key)
    return next((cache for ident, cache in presets.items() if _plain(ident) == wanted), None)
