"""Reading the start of large files in small pieces: a file on disk, or its first bytes."""

from __future__ import annotations

import struct
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from slmopt.specs.base import SpecError

MIB = 2**20
PIECE = MIB
LONGEST_HEADER = 256 * MIB
"""Headers of real files stay under 30 MiB, vocabulary included."""


class NeedMore(Exception):  # noqa: N818 - the usual outcome of a first try, not a fault
    """The bytes given end inside the header, which needs at least ``needed`` from the file's start.

    ``likely`` is what will probably do: the sure part, and what is still to come at the length seen so far.
    """

    def __init__(self, needed: int, likely: int) -> None:
        super().__init__(needed)
        self.needed = needed
        self.likely = max(needed, likely)


class Source:
    """A file, or the first bytes of one. ``size`` is the file's, None where only first bytes are known."""

    def __init__(self, data: Path | bytes) -> None:
        self._file: BinaryIO | None = None
        self._data = b""
        self.size: int | None = None
        if isinstance(data, Path):
            self._file = data.open("rb")
            self.size = self._file.seek(0, 2)
        else:
            self._data = data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def known(self) -> int:
        """Bytes that can be read."""
        return len(self._data) if self.size is None else self.size

    def read(self, offset: int, length: int) -> bytes:
        """At most ``length`` bytes from ``offset`` on."""
        if self._file is None:
            return self._data[offset : offset + length]
        self._file.seek(offset)
        return self._file.read(length)


class Cursor:
    """A place in a source that only moves forward, holding one piece of it at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start = 0
        self._piece = b""
        self._at = 0
        self.pending = 0
        """Bytes that are likely to follow what is being read, for the guess of how much the header needs."""

    @property
    def position(self) -> int:
        """Bytes from the file's start."""
        return self._start + self._at

    def has(self, length: int) -> bool:
        """Whether the file may have that many bytes more: False only where its size, or what a header may be, forbids it."""
        end = self.position + length
        return end <= LONGEST_HEADER if self._source.size is None else end <= self._source.size

    def unpack(self, layout: str) -> tuple[Any, ...]:
        """The next values, laid out as the struct module describes."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def take(self, length: int) -> bytes:
        """The next ``length`` bytes."""
        end = self._at + length
        if end > len(self._piece):
            self._load(length)
            end = length
        taken = self._piece[self._at : end]
        self._at = end
        return taken

    def skip(self, length: int) -> None:
        """Passes over ``length`` bytes without reading them."""
        if self._at + length <= len(self._piece):
            self._at += length
            return
        self._check(length)
        self._start, self._piece, self._at = self.position + length, b"", 0

    def skip_strings(self, count: int, following: float = 1.0) -> None:
        """Passes over ``count`` texts, each a 64-bit length and its bytes.

        ``following`` is how much the list and what comes after it are likely to take, in units of the list itself.
        """
        length_at = struct.Struct("<Q").unpack_from
        begun, other, done = self.position, self.pending, 0
        while done < count:
            piece, at, last = self._piece, self._at, len(self._piece) - 8
            while done < count and at <= last:
                at += 8 + length_at(piece, at)[0]
                done += 1
            self._at = min(at, len(piece))
            read = self.position - begun
            self.pending = other + int(following * read / done * count - read if done else 12 * count)
            if at > len(piece):
                self.skip(at - len(piece))
            if done < count:
                self._load(8)
        self.pending = other

    def _load(self, length: int) -> None:
        """Makes the piece start here and hold at least ``length`` bytes."""
        self._check(length)
        self._start, self._at = self.position, 0
        self._piece = self._source.read(self._start, max(length, PIECE))
        if len(self._piece) < length:
            raise SpecError("The file became shorter while it was read.")

    def _check(self, length: int) -> None:
        end = self.position + length
        if end > LONGEST_HEADER:
            raise SpecError(
                f"The header reaches beyond {LONGEST_HEADER // MIB} MiB: real ones stay under 30 MiB."
            )
        if end <= self._source.known:
            return
        if self._source.size is None:
            raise NeedMore(end, end + self.pending)
        raise SpecError(
            f"The file ends at byte {self._source.size:,}, inside its header, which goes on to byte {end:,} at least: "
            "it is cut off; download it again."
        )
