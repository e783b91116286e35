"""Device names in benchmark files to presets: as drivers, makers and sellers spell them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from slmopt.specs.device import Device

_MAKERS: Final = frozenset({
    "nvidia", "amd", "intel", "apple", "qualcomm", "geforce", "radeon", "instinct", "google", "graphics",
    "gpu", "cpu", "processor", "with", "one", "series", "core", "cores", "corporation", "generation", "tm", "r",
    "inc", "adreno", "samsung", "mediatek", "tesla",
})  # fmt: skip
_VARIANTS: Final = frozenset({
    "ti", "super", "max", "pro", "ultra", "mobile", "laptop", "nvl", "pcie", "sxm", "d", "xt", "xtx",
    "gre", "q", "ada", "blackwell", "plus", "elite", "extreme", "se", "mini", "lite", "vgpu",
    "mig",
})  # fmt: skip
# H100 cards with HBM3 are the SXM ones; the PCIe card names itself.
_SAME: Final = {"hbm3": "sxm", "sxm2": "sxm", "sxm3": "sxm", "sxm4": "sxm", "sxm5": "sxm", "max+": "max"}
_FORMS: Final = frozenset({"sxm", "pcie", "nvl"})
# Chips that only one product has, by the name that a driver prints.
_CHIPS: Final = {"gb10": "dgx-spark", "8060s": "ryzen-ai-max-395"}


def match_device(presets: Mapping[str, Device], name: str) -> Device | None:
    """The preset that a device name means, or None where none or several do.

    Processors are never matched: their bandwidth is that of the memory that someone put in, which no name tells.
    """
    words = set(_device_words(name))
    if not words or "," in name:
        return None
    for chip, ident in _CHIPS.items():
        if chip in words:
            return presets.get(ident)
    known = [d for d in presets.values() if d.device_class not in ("cpu", "article")]
    named = [(wanted, device) for device in known if (wanted := set(_device_words(device.name)))]
    found = [(len(wanted), d) for wanted, d in named if wanted <= words and not (words - wanted) & _VARIANTS]
    if not found:
        # A driver leaves out the form and memory of a card that comes in one: "NVIDIA H200".
        found = [
            (0, d) for wanted, d in named if d.device_class == "data-centre" and _same_chip(words, wanted)
        ]
    most = max((count for count, _ in found), default=0)
    best = [device for count, device in found if count == most]
    return best[0] if len(best) == 1 else None


def _same_chip(words: set[str], wanted: set[str]) -> bool:
    optional = _sizes(wanted) | (wanted & _FORMS)
    if _sizes(words) and _sizes(words) != _sizes(wanted):
        return False
    return (
        bool(wanted - optional) and wanted - optional <= words and not (words - wanted) & (_VARIANTS | _FORMS)
    )


def _sizes(words: set[str]) -> set[str]:
    return {word for word in words if re.fullmatch(r"\d+gb", word)}


@lru_cache(maxsize=4096)
def _device_words(name: str) -> tuple[str, ...]:
    text = re.sub(r"\([^)]*\)", " ", name.lower())
    text = re.sub(r"(\d+)\s*(?:gb|gib)\b", r"\1gb", text)
    words = re.findall(r"[a-z0-9.+]+", text)
    return tuple(_SAME.get(word, word) for word in words if word not in _MAKERS)
