"""The presets: read once, validated once, found by id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError, model_validator

from slmopt.specs.base import Sourced, Spec, SpecError, sentence
from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.scenario import UNITS, Scenario

Record = TypeVar("Record", bound=Sourced)

_LONGEST_TOLD = 120


class Band(Spec):
    """A quantity as its 10th, 50th and 90th percentile among reference measurements."""

    p10: float = Field(gt=0, le=1)
    p50: float = Field(gt=0, le=1)
    p90: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> Band:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError("a band needs p10 <= p50 <= p90")
        return self


class Efficiency(Sourced):
    """What devices of a class reach: fractions of bandwidth and of the matrix rate, and the fixed time of a pass."""

    bandwidth_fraction: Band
    compute_fraction: Band
    fixed_ms: float = Field(default=0.0, ge=0)
    rows: int = Field(default=0, ge=0)


class Case(Sourced):
    """A ready scenario with the question it answers."""

    question: str
    scenario: Scenario


@dataclass(frozen=True)
class Library:
    """All presets, by id."""

    models: Mapping[str, Model]
    devices: Mapping[str, Device]
    weights: Mapping[str, WeightFormat]
    caches: Mapping[str, CacheFormat]
    efficiencies: Mapping[str, Efficiency]
    cases: Mapping[str, Case]


def preset_root() -> Traversable:
    """Where the preset files are: inside the package once installed, beside it in a checkout."""
    installed = files("slmopt") / "presets"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[2] / "presets"


@lru_cache(maxsize=1)
def library() -> Library:
    """The presets that ship. Raises :class:`SpecError` where a file is wrong, naming file and record."""
    root = preset_root()
    return Library(
        models=_read(root / "models", Model),
        devices=_read(root / "devices", Device),
        weights=_read(root / "weights.json", WeightFormat),
        caches=_read(root / "caches.json", CacheFormat),
        efficiencies=_read(root / "efficiency.json", Efficiency),
        cases=_read(root / "cases.json", Case),
    )


def find(kind: str, records: Mapping[str, Record], wanted: str | Record) -> Record:
    """The record of that id (letter case and spaces do not matter), or the one given; else :class:`SpecError`."""
    if not isinstance(wanted, str):
        return wanted
    if wanted in records:
        return records[wanted]
    key = _plain(wanted)
    for ident, record in records.items():
        if key in (_plain(ident), _plain(record.name)):
            return record
    asked = repr(wanted if len(wanted) <= _LONGEST_TOLD else f"{wanted[:_LONGEST_TOLD]}…")
    raise SpecError(f"{kind} = {asked} is not known.{_nearest(key, records)}")


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _nearest(key: str, records: Mapping[str, Any]) -> str:
    plain = {_plain(ident): ident for ident in records}
    close = [plain[c] for c in get_close_matches(key, plain, n=3, cutoff=0.5)]
    close = close or [ident for p, ident in plain.items() if key and key in p][:3]
    return f" Did you mean {', '.join(close)}?" if close else ""


def _read(where: Traversable, kind: type[Record]) -> dict[str, Record]:
    sources: Iterable[Traversable] = (
        [where]
        if where.is_file()
        else sorted((f for f in where.iterdir() if f.name.endswith(".json")), key=str)
    )
    records: dict[str, Record] = {}
    for file in sources:
        for entry in _entries(file):
            try:
                record = kind.model_validate(entry)
            except ValidationError as error:
                raise SpecError(
                    f"{file.name}, {entry.get('id', 'record without id')}: {sentence(error, UNITS, kind)}"
                ) from error
            if record.id in records:
                raise SpecError(f"{file.name}: the id {record.id!r} stands twice; ids must be unique")
            records[record.id] = record
    return records


def _entries(file: Traversable) -> list[dict[str, Any]]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise SpecError(f"{file.name} is no JSON: {error}.") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecError(f"{file.name}: it should be a list of records.")
    return entries
