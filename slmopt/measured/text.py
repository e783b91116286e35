"""Bytes to text: encodings recognised, everything that is no text refused in one sentence.

The text keeps its bytes: readers of long tables work on them directly, and only reports and JSON pay for a decoded copy.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

MAX_BYTES: Final = 1 << 30
"""Largest file, and largest content of an archive [B]. A million rows of llama-bench are a third of it."""


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
_STEP: Final = 4 << 20
_BOM = codecs.BOM_UTF8


class UnreadableFile(ValueError):  # noqa: N818 - says what the file is, as users read it
    """A file that no reader can make sense of. Its message is one sentence: what is wrong, and what would be right."""


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
    """The bytes in UTF-8 without marks of their order, and what had to be assumed about their encoding."""
    utf16 = _utf16_order(content)
    if utf16:
        # A cut file may end in half a character.
        return _encoded(content.decode(utf16, "ignore")), ()
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return _encoded(content.decode("utf-32", "ignore")), ()
    _refuse_binary(name, content)
    if content.isascii():
        return content, ()
    whole = _utf8_length(content)
    if whole is not None:
        return content[:whole].replace(_BOM, b""), ()
    text = content.decode("cp1252", "replace")
    lost = text.count("\ufffd")
    warning = f"{name} is not UTF-8; it was read as Windows-1252" + (
        f", {lost} characters were lost." if lost else "."
    )
    return _encoded(text), (warning,)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "ignore").replace(_BOM, b"")


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
