"""The documents that are written from the package: ``python -m slmopt.reports.documents`` puts them into docs/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from slmopt.reports import formats_document, method_document

DOCUMENTS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"method.md": method_document.document, "formats.md": formats_document.document}
)
"""By the file's name in docs/."""


def write(folder: Path) -> None:
    """Write all of them."""
    for name, document in DOCUMENTS.items():
        (folder / name).write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    write(Path("docs"))
