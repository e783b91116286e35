"""Bytes to text: archives opened in memory, encodings recognised, everything that is no text refused in one sentence.

Nothing is ever written to disk. Sizes and ratios of archives are bounded, so that a small upload cannot fill the memory.
The text keeps its bytes: readers of long tables work on them directly, and only reports and JSON pay for a decoded copy.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

MAX_BYTES: Final = 1 << 30
"""Largest file, and largest content of an archive [B]. A million rows of llama-bench are a third of it."""

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

# What people upload by mistake, by its first bytes: the sentence says what it is and what would be right.
_MAGIC: Final[tuple[tuple[bytes, str], ...]] = (
    (b"GGUF", "is a GGUF model file; a benchmark's output is needed (to describe a model, use `inspect`)"),
    (b"\x89PNG", "is a picture; the numbers are needed as text (CSV, JSON, or the table pasted)"),
    (b"\xff\xd8\xff", "is a picture; the numbers are needed as text (CSV, JSON, or the table pasted)"),
    (b"GIF8", "is a picture; the numbers are needed as text (CSV, JSON, or the table pasted)"),
    (b"%PDF", "is a PDF; the numbers are needed as text (CSV, JSON, or the table pasted)"),
    (b"\xd0\xcf\x11\xe0", "is an Excel file of the old kind (.xls); save it as .xlsx or CSV"),
    (b"SQLite format 3", "is a SQLite database; export its table as CSV (sqlite3 -header -csv)"),
    (b"\x7fELF", "is a program; a benchmark's output is needed"),
    (b"MZ", "is a program; a benchmark's output is needed"),
    (b"BZh", "is packed with bzip2; unpack it, or use gzip or zip"),
    (b"\xfd7zXZ", "is packed with xz; unpack it, or use gzip or zip"),
    (b"7z\xbc\xaf", "is packed with 7-Zip; unpack it, or use gzip or zip"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it, or use gzip or zip"),
    (b"Rar!", "is packed with RAR; unpack it, or use gzip or zip"),
)

# Tags that begin a page or a table saved as one, which spreadsheets and sites give out under the name .xls.
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|table|div|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BOM = codecs.BOM_UTF8


class UnreadableFile(ValueError):  # noqa: N818 - says what the file is, as users read it
    """A file that no reader can make sense of. Its message is one sentence: what is wrong, and what would be right."""


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


@dataclass(frozen=True)
class Document:
    """A text file: ``data`` is valid UTF-8 without byte-order marks; line ends are as they were, except CR alone."""

    name: str
    data: bytes
    warnings: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The whole text, with line feeds only."""
        return self.data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def head(self) -> str:
        """About the first 64 kB of the text, cut at a line's end where there is one."""
        start = self.data[: 1 << 16]
        if len(start) < len(self.data):
            start = start[: start.rfind(b"\n") + 1] or start
        return start.decode("utf-8", "ignore").replace("\r\n", "\n").replace("\r", "\n")


any_number = np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
"""For what computes with a file's numbers, which may be any: what then is no number is told as missing or unknown."""


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


def decode(name: str, content: bytes) -> Document:
    """The text that the bytes are, or ``UnreadableFile`` with what they are instead."""
    if len(content) > MAX_BYTES:
        raise UnreadableFile(
            f"{name} is larger than {MAX_BYTES / 2**30:.0f} GiB; split it or leave columns out."
        )
    if not content[:_STEP].strip(b"\x00\t\n\r ") and not content.strip(b"\x00\t\n\r "):
        raise UnreadableFile(f"{name} is empty; the benchmark may have failed before it wrote anything.")
    for magic, sentence in _MAGIC:
        if content.startswith(magic):
            raise UnreadableFile(f"{name} {sentence}.")
    data, warnings = _utf8(name, content)
    if not data.isascii():
        data = data.replace(_BOM, b"")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if not data[:_STEP].strip() and not data.strip():
        raise UnreadableFile(f"{name} is empty; the benchmark may have failed before it wrote anything.")
    if _HTML.match(data[:2048]):
        raise UnreadableFile(
            f"{name} is an HTML page, whatever its name says; save the table as CSV or .xlsx."
        )
    return Document(name, data, warnings)


def _utf8(name: str, content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The bytes in UTF-8, and what had to be assumed about their encoding."""
    utf16 = _utf16_order(content)
    if utf16:
        # A cut file may end in half a character.
        return content.decode(utf16, "ignore").encode("utf-8", "ignore"), ()
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return content.decode("utf-32", "ignore").encode("utf-8", "ignore"), ()
    _refuse_binary(name, content)
    whole = len(content) if content.isascii() else _utf8_length(content)
    if whole is not None:
        return content[:whole], ()
    text = content.decode("cp1252", "replace")
    lost = text.count("\ufffd")
    warning = f"{name} is not UTF-8; it was read as Windows-1252" + (
        f", {lost} characters were lost." if lost else "."
    )
    return text.encode("utf-8"), (warning,)


def _utf16_order(content: bytes) -> str:
    """The UTF-16 codec that fits, by its mark or, where that is missing, by where the zero bytes of Latin text stand."""
    if content.startswith(codecs.BOM_UTF16_LE) and not content.startswith(codecs.BOM_UTF32_LE):
        return "utf-16"
    if content.startswith(codecs.BOM_UTF16_BE):
        return "utf-16"
    sample = content[:4096]
    even, odd = sample[0::2], sample[1::2]
    if len(sample) >= 8 and odd.count(0) > 0.6 * len(odd) and not even.count(0):
        return "utf-16-le"
    if len(sample) >= 8 and even.count(0) > 0.6 * len(even) and not odd.count(0):
        return "utf-16-be"
    return ""


def _utf8_length(content: bytes) -> int | None:
    """How many leading bytes are whole UTF-8 characters; None where the bytes are not UTF-8.

    Decoded piece by piece, so that no second copy of a long file arises. Half a character at the very end is a file cut
    off, unless it is the only one beyond ASCII: then it is a letter of another encoding.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(content)
    try:
        for start in range(0, len(content), _STEP):
            decoder.decode(view[start : start + _STEP])
    except UnicodeDecodeError:
        return None
    whole = len(content) - len(decoder.getstate()[0])
    return None if whole < len(content) and content[:whole].isascii() else whole


def _refuse_binary(name: str, content: bytes) -> None:
    sample = content[: 1 << 16]
    controls = len(_CONTROL.findall(sample))
    if b"\x00" in sample or controls > len(sample) // 50:
        raise UnreadableFile(
            f"{name} is binary; a text that a benchmark wrote is needed (CSV, JSON, a log, a table)."
        )
