"""Archives opened in memory, within a budget: nothing is written to disk, and a small upload cannot fill the memory."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

from slmopt.measured.text import MAX_BYTES, UnreadableFile

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")

MAX_RATIO: Final = 300
"""Most that a member may unpack to, over its packed size; real benchmark tables reach some 50."""

RATIO_FREE_BYTES: Final = 16 << 20
"""Below this unpacked size the ratio does not matter [B]."""

TOTAL_FREE_BYTES: Final = 64 << 20
"""Below this, what an upload unpacks to in all, archives inside it included, may be any multiple of its size [B]."""

MAX_MEMBERS: Final = 2000
MAX_NESTING: Final = 2
_STEP: Final = 4 << 20

_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_PARQUET = b"PAR1"


class Budget:
    """What one upload may still unpack to, over all the archives inside it [B]; ``packed`` is its own size."""

    def __init__(self, packed: int) -> None:
        self.left = min(MAX_BYTES, max(TOTAL_FREE_BYTES, MAX_RATIO * packed))

    def take(self, name: str, size: int) -> None:
        """Count bytes that came out; raises :class:`UnreadableFile` where they are more than is left."""
        if size > self.left:
            raise UnreadableFile(
                f"{name} unpacks to more than the {self.left / 2**20:,.0f} MiB that are left for its upload; "
                "upload it unpacked, or in parts."
            )
        self.left -= size


def cause(error: Exception, longest: int = 80) -> str:
    """What a library says was wrong, on one line and of bearable length: some repeat the bytes that they choked on."""
    said = " ".join(str(error).split())
    return said if len(said) <= longest else said[: longest - 1] + "…"


def is_zip(content: bytes) -> bool:
    """Whether the bytes begin a ZIP archive (an .xlsx is one, too)."""
    return content.startswith(_ZIP)


def is_parquet(content: bytes) -> bool:
    """Whether the bytes are a Parquet file."""
    return content.startswith(_PARQUET)


def is_gzip(content: bytes) -> bool:
    """Whether the bytes are compressed with gzip."""
    return content.startswith(_GZIP)


def gunzip(name: str, content: bytes, budget: Budget | None = None) -> bytes:
    """What a gzip file holds (all its members), within the budget; of a file cut off, what comes before the cut."""
    budget = Budget(len(content)) if budget is None else budget
    parts: list[bytes] = []
    size = 0
    rest = content
    while rest.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            try:
                part = unpacker.decompress(rest, _STEP)
            except zlib.error as error:
                raise UnreadableFile(
                    f"{name} is a damaged gzip file ({cause(error)}); pack it again, or upload it unpacked."
                ) from error
            size += len(part)
            _check_ratio(name, size, len(content))
            budget.take(name, len(part))
            parts.append(part)
            rest = unpacker.unconsumed_tail
            if not part and not rest:
                break
        rest = unpacker.unused_data.lstrip(b"\x00")
    return b"".join(parts)


def unzip(
    name: str, content: bytes, budget: Budget | None = None
) -> Iterator[tuple[str, bytes | UnreadableFile]]:
    """Each file of a ZIP archive with its name, in the archive's order; one that cannot be had comes as its reason.

    Names are labels only, never paths: nothing is extracted. Folders, hidden files and macOS's resource forks are passed over.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = [member for member in archive.infolist() if not _passed_over(member)]
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise UnreadableFile(
            f"{name} is a damaged zip archive ({cause(error)}); pack it again or upload its files."
        ) from error
    if len(members) > MAX_MEMBERS:
        raise UnreadableFile(
            f"{name} holds {len(members)} files, more than {MAX_MEMBERS}; upload it in parts."
        )
    if not members:
        raise UnreadableFile(f"{name} is a zip archive without a file in it.")
    budget = Budget(len(content)) if budget is None else budget
    with archive:
        for member in members:
            label = f"{name}/{_UNPRINTABLE.sub('?', member.filename)}"
            try:
                part = _member(archive, member, label, budget)
            except UnreadableFile as error:
                yield label, error
            else:
                yield label, part


def _passed_over(member: zipfile.ZipInfo) -> bool:
    parts = re.split(r"[\\/]", member.filename)
    hidden = any(part.startswith((".", "__MACOSX")) and part not in {".", ".."} for part in parts)
    return member.is_dir() or hidden


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, label: str, budget: Budget) -> bytes:
    """One file of an archive; the sizes that the archive states are not trusted, only what comes out is counted."""
    _check_ratio(label, member.file_size, max(member.compress_size, 1))
    try:
        with archive.open(member) as stream:
            part = stream.read(budget.left + 1)
    except RuntimeError as error:  # encrypted
        raise UnreadableFile(f"{label} is locked with a password; upload it unlocked.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableFile(f"{label} is damaged inside its archive ({cause(error)}).") from error
    _check_ratio(label, len(part), max(member.compress_size, 1))
    budget.take(label, len(part))
    return part


def _check_ratio(name: str, size: int, packed: int) -> None:
    if size > MAX_BYTES:
        raise UnreadableFile(
            f"{name} unpacks to more than {MAX_BYTES / 2**20:,.0f} MiB; split it or leave columns out."
        )
    if size > RATIO_FREE_BYTES and size > MAX_RATIO * packed:
        raise UnreadableFile(
            f"{name} unpacks to {size / packed:,.0f} times its size, as no benchmark file does; upload it unpacked."
        )
