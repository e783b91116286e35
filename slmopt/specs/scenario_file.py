"""A scenario as a file: JSON with the schema's version, read back as far as this version can, saying what it cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from slmopt.specs.base import SpecError, sentence
from slmopt.specs.scenario import SCHEMA_VERSION, UNITS, Scenario
from slmopt.specs.setup import resolve

KIND: Final = "slmopt scenario"
MAX_BYTES: Final = 5_000_000
"""An own model of many unlike layers is the largest thing that a scenario carries."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A scenario read from a file, and a sentence for everything in it that could not be taken over."""

    scenario: Scenario
    lost: tuple[str, ...] = ()


def to_file(scenario: Scenario) -> str:
    """The scenario as JSON; own models, devices and formats travel whole, presets by their id."""
    values = scenario.model_dump(mode="json", exclude_defaults=True, exclude={"version"})
    return json.dumps({"kind": KIND, "version": SCHEMA_VERSION, "scenario": values}, indent=2) + "\n"


def from_file(content: bytes | str) -> Restored:
    """The scenario of a file that :func:`to_file` wrote, in this version or another.

    Raises
    ------
    SpecError
        In one sentence, where the content is no scenario file at all. Single fields that this version does not know or
        cannot take are left out and named in ``lost``.
    """
    if len(content) > MAX_BYTES:
        raise SpecError(f"This file has {len(content):,} bytes; a scenario file has at most {MAX_BYTES:,}.")
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SpecError("This is no scenario file: give the JSON that Download scenario writes.") from error
    if not isinstance(read, dict) or not isinstance(read.get("scenario"), dict):
        raise SpecError(
            'This is no scenario file: a JSON object with "kind", "version" and "scenario" is expected.'
        )
    lost = []
    version = read.get("version")
    if version != SCHEMA_VERSION:
        lost.append(
            f"The file has version {_shown(version)}, this is version {SCHEMA_VERSION}: fields may have changed their meaning."
        )
    lost += [
        f"{_shown(key)} of the file is not known here."
        for key in read
        if key not in ("kind", "version", "scenario")
    ]
    return _taken(dict(read["scenario"]), lost)


def _taken(values: dict[str, Any], lost: list[str]) -> Restored:
    """Leave fields out one at a time until the rest is a scenario."""
    values.pop("version", None)
    unknown = [name for name in values if name not in Scenario.model_fields]
    lost += [f"{_shown(name)} = {_shown(values.pop(name))} is not known here." for name in unknown]
    while True:
        try:
            found = Scenario.model_validate(values)
            resolve(found)
        except ValidationError as error:
            for name in _concerned(error, values):
                lost.append(f"Left out: {_why(name, values.pop(name), error)}")
        except SpecError as error:
            name = _blamed(error, values)
            values.pop(name)
            lost.append(f"Left out: {name}. {error}")
        else:
            return Restored(found, tuple(lost))


def _concerned(error: ValidationError, values: dict[str, Any]) -> list[str]:
    """The fields that an error is about; where it is about several together, those that can hit the limit."""
    named = {str(part["loc"][0]) for part in error.errors() if part["loc"]} & values.keys()
    return (
        sorted(named)
        or [name for name in ("prefix_hit", "shared_prefix") if name in values]
        or sorted(values)
    )


def _blamed(error: SpecError, values: dict[str, Any]) -> str:
    """The field without which all others can be looked up, or at least something else is wrong with them."""
    blamed = next(iter(values))
    for name in values:
        try:
            resolve(
                Scenario.model_validate({other: value for other, value in values.items() if other != name})
            )
        except (SpecError, ValidationError) as other:
            blamed = name if str(other) != str(error) else blamed
        else:
            return name
    return blamed


def _why(name: str, value: Any, together: ValidationError) -> str:
    """What is wrong with a field; where it is right by itself, what is wrong with all fields together."""
    try:
        Scenario.model_validate({name: value})
    except ValidationError as alone:
        return sentence(alone, UNITS, Scenario)
    return f"{name}. {sentence(together, UNITS, Scenario)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
