"""YAML reports, read as the JSON tree that they stand for, so that the readers of JSON take them too.

A report is data: what YAML has beyond that is refused. Aliases (with which a page of text stands for billions of values),
tags that name Python objects, keys that are no text. Numbers and words are those of YAML 1.2, since older rules turn a date
into an object, ``on`` into true and ``1:30`` into 90.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from slmopt.measured.readers._json import Decoded, Json, unrolled
from slmopt.measured.text import UnreadableFile

MAX_BYTES: Final = 16 << 20
"""Longer texts are refused [B]: YAML is read at some megabytes a second, and the same tools write JSON."""

_MAX_DEPTH: Final = 60
"""Reports nest about ten deep."""

_KEY: Final = re.compile(r"(?:- )*(?:[\w.-]{1,80}|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'):(?: |$)")
_MARKS: Final = ("---", "...", "%YAML")


def looks_like_yaml(head: str) -> bool:
    """Whether a text may be a YAML mapping: it begins with a key, and nearly every line is a key, an entry or deeper text."""
    lines = [line for line in head.split("\n")[:400] if line.strip() and not line.lstrip().startswith("#")]
    lines = [line for line in lines if not line.startswith(_MARKS)]
    if not lines or not _KEY.match(lines[0]):
        return False
    outer = [line for line in lines if not line.startswith(" ")]
    return len(outer) < len(lines) and all(line.startswith("- ") or _KEY.match(line) for line in outer)


def decode_yaml(name: str, text: str) -> Decoded:
    """The documents of a YAML text as JSON values.

    Raises
    ------
    UnreadableFile
        Not YAML, larger than ``MAX_BYTES``, nested absurdly deep, or with aliases or tags of objects.
    """
    if len(text) > MAX_BYTES:
        raise UnreadableFile(
            f"{name} is YAML of more than {MAX_BYTES >> 20} MiB; the same tool writes JSON, which is read at any length."
        )
    try:
        _refuse_more_than_data(name, text)
        values = list(yaml.load_all(text, Loader=_Plain))
    except yaml.MarkedYAMLError as error:
        where = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        what = (error.problem or error.context or "it breaks off").split("\n")[0]
        raise UnreadableFile(f"{name} looks like YAML but is broken{where}: {_short(what)}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name} looks like YAML but cannot be read: {_short(str(error))}.") from error
    decoded = Decoded()
    for order, value in enumerate(values, 1):
        decoded.items += unrolled(value, f"document {order}" if len(values) > 1 else "")
    return decoded


def keys_of(decoded: Decoded) -> str:
    """The first document's keys, for a sentence; empty where it is no mapping."""
    first: Json = decoded.items[0][1] if decoded.items else None
    return ", ".join(_short(str(key)) for key in list(first)[:6]) if isinstance(first, Mapping) else ""


def _short(text: str) -> str:
    return " ".join(text.split())[:120]


def _refuse_more_than_data(name: str, text: str) -> None:
    """Events are parsed one after another, so this is linear whatever the text stands for."""
    depth = 0
    for event in _events(text):
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableFile(
                f"{name} repeats parts by YAML aliases (*{_short(str(event.anchor))}), which may stand for any amount of data; "
                "write them out, or give the tool's JSON."
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise UnreadableFile(f"{name} nests YAML values {depth} deep, as no benchmark file does.")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _events(text: str) -> Iterator[yaml.Event]:
    return iter(yaml.parse(text, Loader=_BASE))


class _Plain(_BASE):  # type: ignore[misc]
    """The safe loader with YAML 1.2's numbers, booleans and null, and texts for everything else."""

    yaml_implicit_resolvers: Final[dict[str, Any]] = {}

    def whole(self, node: yaml.ScalarNode) -> int:
        return int(self.construct_scalar(node))


_FIRST: Final = list("-+.0123456789")
for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+$", _FIRST),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        _FIRST,
    ),
):
    _Plain.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)
_Plain.add_constructor("tag:yaml.org,2002:int", _Plain.whole)
