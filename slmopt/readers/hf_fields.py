"""Typed reading of one config: several names for a thing, then the library's default, noted where it was needed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slmopt.specs.base import SpecError

LARGEST = 2**31 - 1
MOST_LAYERS = 4096


@cache
def library_defaults() -> dict[str, dict[str, Any]]:
    """What transformers assumes for each ``model_type`` where its config.json is silent (source: the file's own)."""
    path = Path(__file__).with_name("hf_defaults.json")
    tables: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["defaults"]
    return tables


class Fields:
    """The fields of one config, read by type; what had to be assumed collects in ``assumed``.

    A field that is present but null is an answer ("none"), not a gap: only an absent field takes a default.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        model_type: str,
        assumed: list[str],
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.data = data
        self.model_type = model_type
        self.assumed = assumed
        self.asked: set[str] = set()
        self.defaults: Mapping[str, Any] = {**extra, **library_defaults().get(model_type, {})}

    def assume(self, phrase: str) -> None:
        """Notes an assumption once."""
        if phrase not in self.assumed:
            self.assumed.append(phrase)

    def present(self, *names: str) -> bool:
        """Whether the file itself gives one of the names a value."""
        return any(self.data.get(name) is not None for name in names)

    def raw(self, *names: str, silent: bool = False) -> tuple[str, Any]:
        """The first of ``names`` with a value in the file, else in the library's defaults; ("name", None) if none."""
        self.asked.update(names)
        for name in names:
            if self.data.get(name) is not None:
                return name, self.data[name]
        if any(name in self.data for name in names):
            return names[0], None
        for name in names:
            value = self.defaults.get(name)
            if value is not None:
                if value and not silent and not isinstance(value, list | dict):
                    shown = str(value).lower() if isinstance(value, bool) else value
                    self.assume(f"{name} = {shown} (the default of {self.model_type}; not in the file)")
                return name, value
        return names[0], None

    def maybe(self, *names: str, least: int = 1, most: int = LARGEST, silent: bool = False) -> int | None:
        """A whole number, or None where neither the file nor the library gives one."""
        name, value = self.raw(*names, silent=silent)
        return None if value is None else whole(name, value, least, most)

    def whole(self, *names: str, least: int = 1, most: int = LARGEST) -> int:
        """A whole number that must be there."""
        value = self.maybe(*names, least=least, most=most)
        if value is None:
            raise SpecError(
                f"{names[0]} is missing: a config.json of a language model gives it as a whole number."
            )
        return value

    def flag(self, *names: str) -> bool:
        """True or false; absent and unknown to the library means false."""
        name, value = self.raw(*names)
        if value is None or isinstance(value, bool):
            return bool(value)
        if value in (0, 1):
            return bool(value)
        raise SpecError(f"{name} = {show(value)}: it should be true or false.")

    def items(self, *names: str) -> list[Any] | None:
        """A list, or None; the library's own list defaults are left alone, since they fit its default layer count."""
        self.asked.update(names)
        for name in names:
            value = self.data.get(name)
            if value is None:
                continue
            if not isinstance(value, list):
                raise SpecError(f"{name} = {show(value)}: it should be a list.")
            if len(value) > MOST_LAYERS:
                raise SpecError(
                    f"{name} has {len(value):,} entries: at most {MOST_LAYERS:,} layers are read."
                )
            return value
        return None

    def per_layer(self, layers: int, *names: str) -> list[int] | None:
        """A whole number for each layer, where the file gives a list of them."""
        for name in names:
            value = self.data.get(name)
            if isinstance(value, list):
                if len(value) != layers:
                    raise SpecError(
                        f"{name} has {len(value)} entries for {layers} layers: it should have one for each."
                    )
                return [whole(f"{name}[{i}]", item, 0) for i, item in enumerate(value)]
        return None

    def text(self, *names: str) -> str:
        """A word, or nothing."""
        name, value = self.raw(*names, silent=True)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise SpecError(f"{name} = {show(value)}: it should be text.")
        return value

    def leftovers(self) -> list[str]:
        """Fields of the file that may carry weights (whole numbers above 1, lists, objects, true) and nobody asked for."""
        found = []
        for name, value in self.data.items():
            sized = (
                value is True or isinstance(value, list | Mapping) or (isinstance(value, int) and value > 1)
            )
            if sized and name not in self.asked and not _IDLE.search(name):
                found.append(name[:40])
        return found


_IDLE = re.compile(
    "token|rope|rotary|theta|scaling|quant|dtype|transformers|architectures|auto_map|label|cache|dropout|initializer|"
    "return_dict|torch|output_|pretraining|norm_topk|n_group|topk_group|topk_method|routed_|loss|chunk_size|max_length|beams|"
    "sequences|use_bfloat16|is_decoder|_name_or_path|task_specific|pruned|do_sample|early|cross_attention|vision|audio"
)
"""Fields that say nothing about weights."""


def whole(name: str, value: Any, least: int = 1, most: int = LARGEST) -> int:
    """``value`` as a whole number in range, or a sentence that says what would be right."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SpecError(f"{name} = {show(value)}: it should be a whole number from {least} to {most:,}.")
    return value


def show(value: object) -> str:
    """A value as an error shows it: short, however long it is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return (
            f"a number of {len(str(abs(value)))} digits"
            if value.bit_length() < 10_000
            else "a number of thousands of digits"
        )
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
