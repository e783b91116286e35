"""The file that a measurement writes: a line of settings, then one a request, each complete before the next begins.

JSON lines, so that a run that is stopped loses nothing and another may go on where it ended. The product reads them back
(:mod:`slmopt.measured.readers.own_load`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

from slmopt.specs.base import SpecError

HEAD: Final = "slmopt_measure"
ROW: Final = "slmopt_request"
VERSION: Final = 1

SAME: Final = ("model", "api", "url", "seed", "prompt_tokens", "output_tokens", "prompts_file")
"""Settings that must be equal for a run to go on with a file."""


@dataclass
class LoadFile:
    """An open file of rows. ``done`` are (level, number) of the requests that it held when it was opened, ``spans`` from when to
    when on the run's clock those of a level were under way [s].
    """

    path: Path
    file: IO[str]
    done: frozenset[tuple[str, int]] = frozenset()
    spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def start(cls, path: Path, settings: Mapping[str, Any]) -> LoadFile:
        """A new file with its line of settings; :class:`SpecError` where there is one already or none can be written."""
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise SpecError(f"{path.name} exists: --resume goes on with it; or give another name.") from None
        except OSError as error:
            raise SpecError(f"{path} cannot be written ({error.strerror}): give another path.") from None
        found = cls(path, file)
        found.write({HEAD: VERSION, **settings})
        return found

    @classmethod
    def resume(cls, path: Path, settings: Mapping[str, Any]) -> LoadFile:
        """A file that an earlier run left, to be gone on with; a broken last line is dropped.

        Raises :class:`SpecError` where it is no such file, or was written with other settings.
        """
        if not path.exists():
            return cls.start(path, settings)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SpecError(f"{path} cannot be read ({error.strerror}): give another path.") from None
        whole = content[: content.rfind(b"\n") + 1]
        values = [_loaded(line) for line in whole.splitlines()]
        head = values[0] if values else None
        if head is None or HEAD not in head:
            raise SpecError(f"{path.name} was not written by slmopt measure: give another name.")
        for name in SAME:
            if head.get(name) != settings.get(name):
                raise SpecError(
                    f"{path.name} was measured with {name} = {head.get(name)!r}, now it is {settings.get(name)!r}: give the same, or another file."
                )
        timed = [
            value
            for value in values
            if value is not None
            and ROW in value
            and value.get("kind") == "timed"
            and isinstance(value.get("request"), int)
        ]
        done = frozenset((str(value.get("level", "")), int(value["request"])) for value in timed)
        if len(whole) < len(content):
            with path.open("r+b") as file:
                file.truncate(len(whole))
        return cls(path, path.open("a", encoding="utf-8"), done, _spans(timed))

    def write(self, record: Mapping[str, Any]) -> None:
        """Add a line; it is on its way to the disk when this returns. A closed file takes none: the run was stopped."""
        plain = {
            name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in record.items()
        }
        with self._lock:
            if self.file.closed:
                return
            self.file.write(json.dumps(plain, ensure_ascii=False) + "\n")
            self.file.flush()

    def close(self) -> None:
        """Close the file; requests that are still under way leave no row."""
        with self._lock:
            self.file.close()


def _spans(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """When each level's first request was sent and its last one ended."""
    spans: dict[str, tuple[float, float]] = {}
    for row in rows:
        at, took = row.get("at_s"), row.get("e2e_s")
        if not isinstance(at, int | float):
            continue
        end = at + (took if isinstance(took, int | float) else 0.0)
        first, last = spans.get(str(row.get("level", "")), (at, end))
        spans[str(row.get("level", ""))] = min(first, at), max(last, end)
    return spans


def _loaded(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The requests in a file, in the order in which they ended."""
    lines = path.read_bytes().splitlines()
    return [value for value in map(_loaded, lines) if value is not None and ROW in value]
