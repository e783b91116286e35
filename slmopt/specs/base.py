"""What every spec has in common: frozen, strict about unknown fields, and errors in one clear sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo


class Spec(BaseModel):
    """A frozen, hashable description; unknown fields are errors, so that a misspelt one never passes silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields replaced, unchecked; what was computed from the old fields does not come along."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


class SpecError(ValueError):
    """Bad input in one sentence that says what is wrong and what would be right."""


class Sourced(Spec):
    """A record that says where it is from.

    ``confidence`` is ``seen`` (read in the source), ``derived`` (computed from seen facts) or ``memory`` (remembered,
    not confirmed: marked so wherever it is shown).
    """

    id: str
    name: str
    source: str = ""
    confidence: str = "seen"
    note: str = ""

    @property
    def unconfirmed(self) -> bool:
        """Whether a reader must be told that nobody has confirmed the record."""
        return self.confidence == "memory"


def sentence(
    error: ValidationError, units: Mapping[str, str] | None = None, spec: type[BaseModel] | None = None
) -> str:
    """The most telling problem of a pydantic error as one sentence: field, value, what would be right, unit.

    ``spec`` is the class that was validated; with it, the sentence knows the whole allowed range and similar names.
    """
    first = _most_telling(error)
    path = _path(first["loc"])
    names = [part for part in path if isinstance(part, str)]
    field = _written(path)
    if first["type"] == "missing":
        return f"{field} is missing."
    if first["type"] == "extra_forbidden":
        own = str(first["loc"][-1])
        above = names[:-1] if path[-1:] == [own] else names
        near = get_close_matches(own, _known(spec, above), n=1, cutoff=0.6)
        return f"{_written([*path[: len(path) - (path[-1:] == [own])], own])} is not a known field.{f' Did you mean {near[0]}?' if near else ''}"
    right = _right(first, _field(spec, names))
    if not field:
        return f"{right}."
    value = first["input"]
    if first["type"] == "value_error" and isinstance(value, dict | list | tuple | BaseModel):
        return f"{field}: {right}."
    unit = (units or {}).get(names[-1], "")
    unit = "" if unit == names[-1] else unit
    plain = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    behind, at_end = (f" {unit}", "") if plain and unit else ("", f", in {unit}" if unit else "")
    return f"{field} = {_shown(value)}{behind}: {right}{at_end}."


Part = int | str
_PLAIN = re.compile(r"[A-Za-z0-9_.\- ]{1,60}")


def _most_telling(error: ValidationError) -> Any:
    """A misspelt field says more than the one it left out; of a union, the branch meant says more than "not a text"."""
    found = error.errors()
    described = [e for e in found if not (e["type"] == "string_type" and e["loc"][-1:] == ("str",))] or found
    return next((e for e in described if e["type"] == "extra_forbidden"), described[0])


def _path(parts: Iterable[Part]) -> list[Part]:
    """The place without the names that pydantic gives to the branches of a union, its validators and a dict's keys."""
    return [p for p in parts if isinstance(p, int) or not (p == "str" or "[" in p or p[:1].isupper())]


def _written(path: Iterable[Part]) -> str:
    """The place as it would be written; a name from a stranger's file that is no plain word is quoted and short."""
    words = (f"[{p}]" if isinstance(p, int) else f".{p if _PLAIN.fullmatch(p) else _shown(p)}" for p in path)
    return "".join(words).lstrip(".")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


_NUMBERS = {
    "finite_number": "a finite number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
}
_OTHERS = {
    "string_type": "it should be text",
    "tuple_type": "it should be a list",
    "dict_type": "it should be an object with named values",
    "model_type": "it should be an object with named values",
}


def _right(first: Any, field: FieldInfo | None) -> str:
    """What would be right, without the closing stop."""
    kind = first["type"]
    if kind == "model_type" and len(_path(first["loc"])) < 2:
        return "it should be a preset's id or a whole description"
    if kind in _OTHERS:
        return _OTHERS[kind]
    if kind == "too_short":
        return f"give at least {first['ctx']['min_length']}"
    bounds = {**(first.get("ctx") or {}), **dict(_bounds(field))}
    if kind in _NUMBERS:
        return f"it should be {' '.join(filter(None, (_NUMBERS[kind], _range(bounds))))}"
    if kind in {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}:
        return f"it should be {_range(bounds)}"
    message: str = first["msg"].removeprefix("Value error, ").rstrip(".")
    return message.replace("Input should be", "it should be").replace("Input", "it")


_LIMITS = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}


def _range(bounds: Mapping[str, Any]) -> str:
    """The allowed values in words; empty where there is no bound."""
    if "ge" in bounds and "le" in bounds:
        return f"between {_bound(bounds['ge'])} and {_bound(bounds['le'])}"
    return " and ".join(
        f"{words} {_bound(bounds[name])}" for name, words in _LIMITS.items() if name in bounds
    )


def _bound(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _bounds(holder: Any) -> Iterator[tuple[str, Any]]:
    """The bounds of a field, wherever its annotation carries them."""
    marks: Iterable[Any] = getattr(holder, "metadata", None) or getattr(holder, "__metadata__", None) or ()
    for mark in marks:
        if isinstance(mark, FieldInfo):
            yield from _bounds(mark)
        yield from ((name, getattr(mark, name)) for name in _LIMITS if getattr(mark, name, None) is not None)
    for inner in get_args(getattr(holder, "annotation", None) or holder):
        yield from _bounds(inner)


def _field(spec: type[BaseModel] | None, names: list[str]) -> FieldInfo | None:
    """The field at that place of a spec; None where it is not known."""
    at: list[type[BaseModel]] = [] if spec is None else [spec]
    found: FieldInfo | None = None
    for name in names:
        found = next((kind.model_fields[name] for kind in at if name in kind.model_fields), None)
        at = [] if found is None else list(_specs(found.annotation))
    return found


def _known(spec: type[BaseModel] | None, names: list[str]) -> list[str]:
    """Names of the fields that may stand at that place."""
    field = _field(spec, names)
    at = field.annotation if field is not None else None if names else spec
    return [name for kind in _specs(at) for name in kind.model_fields]


def _specs(annotation: Any) -> Iterator[type[BaseModel]]:
    """The specs that an annotation names, alone or inside a union, a tuple or a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _specs(inner)
