"""Preset files of one's own: a JSON list of model and device records, as those under ``presets/``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slmopt.readers.files import read_model_file
from slmopt.readers.safe_json import MAX_BYTES, load_object, refuse_absurd
from slmopt.specs.base import SpecError
from slmopt.specs.device import Device
from slmopt.specs.model import Model
from slmopt.specs.setup import inline

MOST_RECORDS: Final = 500


@dataclass(frozen=True, slots=True)
class Presets:
    """The records of a preset file."""

    models: tuple[Model, ...]
    devices: tuple[Device, ...]


def is_preset_file(data: bytes) -> bool:
    """Whether the file is a JSON list, as no description of a single model is."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def read_presets(data: bytes) -> Presets:
    """The models and devices that the file lists, each checked.

    Raises
    ------
    SpecError
        In one sentence that names the record, if the file or one of its records is wrong.
    """
    records = _records(data)
    models, devices = [], []
    for at, record in enumerate(records):
        try:
            found = _record(record)
        except SpecError as error:
            named = record.get("name") if isinstance(record, Mapping) else None
            label = f"{str(named)[:60]!r}" if isinstance(named, str) else f"number {at + 1}"
            raise SpecError(f"Preset {label}: {error}") from error
        if isinstance(found, Model):
            models.append(found)
        else:
            devices.append(found)
    return Presets(tuple(models), tuple(devices))


def preset_json(model: Model) -> str:
    """The model as a preset file of one record, which :func:`read_presets` takes back unchanged."""
    record = model.model_dump(mode="json", exclude_defaults=True)
    return json.dumps([record], indent=1, ensure_ascii=False) + "\n"


def _records(data: bytes) -> list[Any]:
    if len(data) > MAX_BYTES:
        raise SpecError(f"The file has {len(data):,} bytes: a preset file is under {MAX_BYTES:,}.")
    try:
        records = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SpecError(
            f"The file is not UTF-8 text (byte {error.start}): a preset file is plain JSON."
        ) from None
    except RecursionError:
        raise SpecError("The JSON is nested too deeply: a preset file is nearly flat.") from None
    except json.JSONDecodeError as error:
        raise SpecError(
            f"Not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except ValueError:
        raise SpecError("The JSON holds a number of thousands of digits: a preset file has none.") from None
    load_object({"records": records}, noun="a preset file")
    if not isinstance(records, list) or not records:
        raise SpecError("The list is empty: a preset file lists models or devices.")
    if len(records) > MOST_RECORDS:
        raise SpecError(f"The file lists {len(records):,} records: at most {MOST_RECORDS:,} are read.")
    return records


def _record(record: object) -> Model | Device:
    if not isinstance(record, Mapping):
        raise SpecError("it should be an object with named values.")
    if {"groups", "params"} & set(record):
        return read_model_file(json.dumps(record).encode()).model
    if "bandwidth_gbs" not in record:
        raise SpecError(
            "a model has groups or params, a device bandwidth_gbs: the record has none of the three."
        )
    refuse_absurd(dict(record))
    try:
        device = inline("device", dict(record))
    except SpecError as error:
        raise SpecError(str(error).removeprefix("device: ")) from error
    assert isinstance(device, Device)
    return device
