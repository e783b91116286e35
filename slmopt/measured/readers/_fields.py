"""A sheet's columns by field, in SI units, and the facts among them that do not depend on the phase."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from slmopt.measured.distinct import alike
from slmopt.measured.readers._cells import (
    Floats,
    cache_format,
    format_in_name,
    ggml_format,
    model_name,
    parse_test,
    weight_in_text,
)
from slmopt.measured.readers._columns import (
    Columns,
    Texts,
    choose,
    every,
    first_of,
    map_text,
    same_text,
    stated,
)
from slmopt.measured.readers._guess import Choice
from slmopt.measured.table_columns import NAMES

PHASES: Final = {
    "decode": "decode", "tg": "decode", "generation": "decode", "gen": "decode", "generate": "decode", "tg128": "decode",
    "prefill": "prefill", "pp": "prefill", "prompt": "prefill", "prompt processing": "prefill", "context": "prefill",
    "serving": "serving", "serve": "serving", "mixed": "mixed", "pg": "mixed",
}  # fmt: skip
_FLASH: Final = {
    "1": "on",
    "true": "on",
    "on": "on",
    "yes": "on",
    "0": "off",
    "false": "off",
    "off": "off",
    "no": "off",
    "-1": "auto",
    "auto": "auto",
}
_TEXTS: Final = (
    "tool", "tool_version", "model", "model_file", "model_type", "weight_format", "cache_k", "cache_v", "device", "backend", "flash_attention",
    "statistic", "clock", "note",
)  # fmt: skip
_PLAIN_NUMBERS: Final = (
    "params", "weight_bytes", "device_count", "threads", "gpu_layers", "chunk_tokens", "batch", "concurrency", "prompt_tokens",
    "output_tokens", "depth_tokens", "cached_tokens", "repeats", "spread", "requests", "failures", "acceptance", "draft_tokens",
    "tokens_per_pass", "tensor_parallel", "pipeline_parallel", "cpu_moe_layers",
)  # fmt: skip
_COUNT_IN_NAME: Final = re.compile(r"\s*[*×x]\s*(\d{1,3})$|^(\d{1,3})\s*[*×x]\s*(?=[A-Za-z])")


def positive(values: Floats) -> Floats:
    """The values above 0, others missing."""
    if alike(values):
        return every(float(values[0]) if len(values) and values[0] > 0 else np.nan, len(values))
    with np.errstate(invalid="ignore"):
        some = values > 0
    return values if some.all() else np.where(some, values, np.nan)


class Fields:
    """The sheet's columns by field and statistic, in SI units, with constants where the sheet has none."""

    def __init__(
        self, columns: Columns, choices: Sequence[Choice], constants: Mapping[str, str | float]
    ) -> None:
        self.columns = columns
        self.size = len(columns)
        self.by_field = {(choice.field, choice.statistic): choice for choice in choices}
        self.constants = constants
        self._scaled: dict[tuple[str, str], Floats] = {}
        self._positive: dict[tuple[str, ...], Floats] = {}

    def has(self, field: str) -> bool:
        return any(name == field for name, _ in self.by_field) or field in self.constants

    def rename(self, old: str, new: str) -> None:
        """Take what the sheet has of one field for another."""
        for field, statistic in [key for key in self.by_field if key[0] == old]:
            self.by_field[new, statistic] = self.by_field.pop((field, statistic))
        self._scaled.clear()
        self._positive.clear()

    def number(self, field: str, *statistics: str) -> Floats:
        """The first of the statistics that the sheet has; '' and 'mean' where none is asked for."""
        for statistic in statistics or ("", "mean"):
            choice = self.by_field.get((field, statistic))
            if choice is not None:
                if choice.scale == 1.0:
                    return self.columns.number(choice.column)
                key = field, statistic
                if key not in self._scaled:
                    self._scaled[key] = self.columns.number(choice.column) * choice.scale
                return self._scaled[key]
        constant = self.constants.get(field)
        return every(float(constant) if isinstance(constant, int | float) else np.nan, self.size)

    def positive(self, field: str, *statistics: str) -> Floats:
        """The same where it is above 0, missing elsewhere."""
        key = (field, *statistics)
        if key not in self._positive:
            self._positive[key] = positive(self.number(field, *statistics))
        return self._positive[key]

    def deviation(self, field: str) -> Floats:
        """The standard deviation from a column of its own, or from behind a '±' in the cells."""
        own = self.number(field, "sd")
        choice = self.by_field.get((field, "")) or self.by_field.get((field, "mean"))
        behind = self.columns.number(f"{choice.column} ±") if choice else every(np.nan, self.size)
        return first_of(own, behind)

    def text(self, field: str) -> Texts:
        """The column of texts, or the constant."""
        for statistic in ("", "mean"):
            choice = self.by_field.get((field, statistic))
            if choice is not None:
                return self.columns.text(choice.column)
        constant = self.constants.get(field)
        empty = self.columns.text("")
        return (
            same_text(str(constant), self.size)
            if isinstance(constant, str) and constant and self.size
            else empty
        )


def facts_of(fields: Fields) -> dict[str, object]:
    """Columns that do not depend on the phase."""
    facts: dict[str, object] = {"row": fields.columns.labels}
    for name in _PLAIN_NUMBERS:
        facts[name] = fields.number(name)
    for name in _TEXTS:
        facts[name] = fields.text(name)
    if fields.has("test"):
        tests = fields.text("test")
        parsed = [parse_test(str(value)) or (np.nan, np.nan, np.nan) for value in tests.categories]
        table = np.array([*parsed, (np.nan, np.nan, np.nan)])[tests.codes]
        for at, name in enumerate(("prompt_tokens", "output_tokens", "depth_tokens")):
            facts[name] = np.where(np.isfinite(table[:, at]), table[:, at], np.asarray(facts[name]))
    if fields.has("cache"):
        facts["cache_k"] = facts["cache_v"] = map_text(fields.text("cache"), cache_format)
    facts["flash_attention"] = map_text(
        fields.text("flash_attention"), lambda value: _FLASH.get(value.strip().lower(), "")
    )
    model = fields.text("model")
    facts["model"] = map_text(model, _bare_model)
    if not fields.has("model_file"):
        facts["model_file"] = map_text(model, lambda value: value if value.lower().endswith(".gguf") else "")
    written = map_text(fields.text("weight_format"), lambda value: ggml_format(value) or value)
    named = map_text(model, format_in_name)
    if fields.has("cache"):
        inside = map_text(fields.text("cache"), weight_in_text)
        written = choose(stated(written), written, inside)
    facts["weight_format"] = choose(stated(written), written, named)
    other = map_text(fields.text("phase"), lambda value: "" if value.strip().lower() in PHASES else value)
    facts["note"] = choose(stated(fields.text("note")), fields.text("note"), other)
    device = fields.text("device")
    counts = np.array([*[_count_in(str(value)) for value in device.categories], np.nan])[device.codes]
    facts["device"] = map_text(device, lambda value: _COUNT_IN_NAME.sub("", value).strip())
    given = fields.number("device_count")
    facts["device_count"] = first_of(given, counts)
    if fields.has("both_tokens"):
        facts["prompt_tokens"] = facts["output_tokens"] = fields.number("both_tokens")
    requests = fields.number("requests")
    for name in ("prompt_tokens", "output_tokens"):
        if not fields.has(name) and fields.has(f"total_{name}"):
            with np.errstate(divide="ignore", invalid="ignore"):
                facts[name] = np.where(requests > 0, fields.number(f"total_{name}") / requests, np.nan)
    if fields.has("timestamp"):
        choice = next(choice for (field, _), choice in fields.by_field.items() if field == "timestamp")
        facts["timestamp"] = fields.columns.times.get(choice.column)
    return {name: values for name, values in facts.items() if name in NAMES}


def _bare_model(value: str) -> str:
    """A file's name without its folder and part number; a hub's 'owner/name' stays as written."""
    is_path = value.startswith(("/", ".", "~")) or value.lower().endswith(".gguf") or "\\" in value
    return model_name(value) if is_path or "/" not in value else value


def _count_in(device: str) -> float:
    """The number of devices in a name such as '3090 24GB * 2' or '8xH100'; NaN where it has none."""
    found = _COUNT_IN_NAME.search(device)
    return float(found[1] or found[2]) if found else np.nan
