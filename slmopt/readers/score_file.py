"""The user's own evaluation of weight formats, from a CSV: format, score, and the share of valid replies."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from slmopt.specs.base import SpecError
from slmopt.specs.library import find, library

_LARGEST = 1_000_000
_WANTED = (
    "a header of format, score and (optional) valid, then a line for each format, such as: q4_k_m,71.5,0.99"
)


@dataclass(frozen=True, slots=True)
class FormatScore:
    """What an evaluation gave for a preset format; ``valid`` is the share of replies in the right format, 0 to 1."""

    format_id: str
    score: float
    valid: float | None = None


def read_scores(content: bytes) -> list[FormatScore]:
    """The scores of a file, in its order. Raises SpecError, which names the line, where it cannot be read."""
    if len(content) > _LARGEST:
        raise SpecError(f"A file of scores has at most {_LARGEST:,} bytes; this one has {len(content):,}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError("The file of scores is not text in UTF-8.") from error
    if "\0" in text:
        raise SpecError("The file of scores is not a text file.")
    try:
        found = list(_rows(text))
    except csv.Error as error:
        raise SpecError(f"The file of scores is no CSV ({error}): it should have {_WANTED}.") from error
    if not found:
        raise SpecError(f"The file of scores has no score: it should have {_WANTED}.")
    return found


def _rows(text: str) -> Iterator[FormatScore]:
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=mark)
    names = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
    if not {"format", "score"} <= names.keys():
        raise SpecError(f"The file of scores lacks a column format or score: it should have {_WANTED}.")
    for line in reader:
        named = (line[names["format"]] or "").strip()
        if not named:
            continue
        where = f"line {reader.line_num} of the file of scores"
        record = find("weights", library().weights, named)
        valid = (line[names["valid"]] or "").strip() if "valid" in names else ""
        share = _number(valid, "valid", where) if valid else None
        if share is not None and not 0 <= share <= 1:
            raise SpecError(f"valid = {share:g} in {where}: it should be a share from 0 to 1.")
        yield FormatScore(record.id, _number(line[names["score"]] or "", "score", where), share)


def _number(text: str, name: str, where: str) -> float:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SpecError(f"{name} = {text.strip()[:40]!r} in {where}: it should be a number.")
    return value
