"""The metadata of a GGUF as typed values: one number, one for each layer, and which layers see a window."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from slmopt.readers.gguf_header import GgufHeader, metadata_text
from slmopt.readers.gguf_parts import MOST_LAYERS
from slmopt.specs.base import SpecError

LARGEST = 2**31 - 1

# Periods of window layers that a file need not state, since llama.cpp fixes them for the architecture
# (load_arch_hparams in src/models/*.cpp, 2026): every n-th layer sees all, the last of each period; 0: none does.
PERIODS = {
    "afmoe": 4,
    "cohere2": 4,
    "exaone-moe": 4,
    "exaone4": 4,
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "llama4": 4,
    "olmo2": 4,
    "phi3": 0,
    "plamo3": 8,
    "smallthinker": 4,
}
FULL_FIRST = frozenset({"smallthinker"})
"""Architectures whose full layer is the first of its period."""
WINDOWS = {"gemma2": 4096, "llama4": 8192}
"""Windows of architectures whose files may leave them out."""
OWN_CACHES = {"gemma3n": 20}
"""Layers from the start that have a cache of their own, where a file need not say it."""

# What a Hugging Face config calls the architectures whose tensors take other blocks than the usual (recipes.py).
MODEL_TYPES = {
    "falcon": "falcon",
    "gpt2": "gpt2",
    "starcoder": "gpt_bigcode",
    "gptneox": "gpt_neox",
    "mpt": "mpt",
    "bloom": "bloom",
    "phi2": "phi",
    "phi3": "phi3",
    "chatglm": "chatglm",
    "dbrx": "dbrx",
    "qwen": "qwen",
    "qwen3moe": "qwen3_moe",
    "qwen2moe": "qwen2_moe",
    "deepseek2": "deepseek_v3",
    "gpt-oss": "gpt_oss",
    "gemma3": "gemma3_text",
    "olmo2": "olmo2",
}

Kind = Literal["full", "window", "chunk"]


@dataclass(slots=True)
class Keys:
    """The metadata of one architecture; what had to be assumed collects in ``assumed``."""

    header: GgufHeader
    arch: str
    assumed: list[str] = field(default_factory=list)

    def assume(self, phrase: str) -> None:
        """Notes an assumption once."""
        if phrase not in self.assumed:
            self.assumed.append(phrase)

    def number(self, key: str, *, least: int = 0, most: int = LARGEST) -> int | None:
        """A whole number, of a list by layer the first entry; None where the file has none."""
        return self.at(key, 0, least=least, most=most)

    def needed(self, key: str, *, least: int = 1, most: int = LARGEST) -> int:
        """A whole number that must be there."""
        value = self.number(key, least=least, most=most)
        if value is None:
            near = get_close_matches(f"{self.arch}.{key}", self.header.metadata, n=1, cutoff=0.8)
            hint = f" (the file has {near[0]!r})" if near else ""
            raise SpecError(f"{self.arch}.{key} is missing{hint}: a language model's GGUF gives it.")
        return value

    def at(self, key: str, layer: int, *, least: int = 0, most: int = LARGEST) -> int | None:
        """A layer's whole number: the file gives one for all or one for each. None where it has none."""
        name = f"{self.arch}.{key}"
        value = self.header.metadata.get(name)
        if isinstance(value, list):
            if not value:
                return None
            if layer >= len(value):
                raise SpecError(f"{name} has {len(value):,} entries: layer {layer:,} has none.")
            value = value[layer]
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise SpecError(
                f"{name} = {_shown(value)}: it should be a whole number from {least} to {most:,}."
            )
        return value

    @property
    def layers(self) -> int:
        """Layers, those that predict further tokens included."""
        return self.needed("block_count", most=MOST_LAYERS)

    @property
    def ahead(self) -> int:
        """Layers at the end that predict further tokens."""
        return self.number("nextn_predict_layers", most=self.layers - 1) or 0

    def owns_cache(self, layer: int) -> bool:
        """Whether the layer writes a cache of its own; the last ones of some models read an earlier layer's."""
        shared = self.number("attention.shared_kv_layers")
        if shared is not None:
            return layer < self.layers - self.ahead - shared
        return layer < OWN_CACHES.get(self.arch, MOST_LAYERS)

    def sight(self, layer: int) -> tuple[Kind, int]:
        """What a layer sees: ("full", 0), or a window or chunk of so many tokens."""
        size = self.at("attention.sliding_window", layer)
        if self.arch == "llama4":
            # A window of 0 switches chunks off; the key is usually absent, and the chunk has one size.
            return ("full", 0) if size == 0 or self._sees_all(layer) else ("chunk", WINDOWS["llama4"])
        size = WINDOWS.get(self.arch, 0) if size is None else size
        context = self.number("context_length") or LARGEST
        if not size or size >= context or self._sees_all(layer):
            return "full", 0
        return "window", size

    def _sees_all(self, layer: int) -> bool:
        pattern = self.header.metadata.get(f"{self.arch}.attention.sliding_window_pattern")
        if isinstance(pattern, list) and pattern:
            return not pattern[layer % len(pattern)]
        given = self.number("attention.sliding_window_pattern")
        period = PERIODS.get(self.arch) if given is None else given
        if period is None:
            self.assume(
                f"{self.arch}.attention.sliding_window is not used: which layers see a window is not said, so all see everything"
            )
            return True
        if given is None:
            which = f"every {period}th layer sees all" if period else "every layer sees a window"
            self.assume(f"{which} (fixed for {self.arch}; not in the file)")
        if not period:
            return False
        return layer % period == (0 if self.arch in FULL_FIRST else period - 1)


def keys_of(header: GgufHeader) -> Keys:
    """The metadata under the file's architecture.

    Raises
    ------
    SpecError
        If the file names no architecture.
    """
    arch = metadata_text(header, "general.architecture")
    if not arch:
        raise SpecError("general.architecture is missing: a language model's GGUF names its architecture.")
    return Keys(header, arch)


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:39] + "…"
