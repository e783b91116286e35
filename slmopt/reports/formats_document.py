"""docs/formats.md, written from the readers themselves. `make docs` writes the file."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from slmopt.measured.readers.registry import MODULES
from slmopt.measured.table_columns import COLUMNS

_HEAD: Final = """# Benchmark formats

Written by `make docs` from the readers in [`slmopt/measured/readers`](../slmopt/measured/readers): change those, not this.

A file is recognised by what it holds, never by its name. Text may be in any common encoding; gzip, zip, Excel and Parquet
are opened. Rows that cannot be read are listed with the reason, never dropped in silence.

## Tools"""

_TAIL: Final = """Any other CSV, TSV, Excel or Parquet table with a header is read as a plain table: the page Measurements shows which
column it takes for what, and lets that be changed before use.

## The one table

Whatever the tool, a row becomes these columns; what a file does not say stays empty."""


def document() -> str:
    """The whole file."""
    tools = ["| What is read | Names of its layouts | Reader |", "|---|---|---|"]
    tools += [_tool(module) for module in MODULES]
    columns = ["| Column | Unit | Meaning |", "|---|---|---|"]
    columns += [f"| `{one.name}` | {one.unit} | {_cell(one.meaning)} |" for one in COLUMNS]
    return "\n\n".join([_HEAD, "\n".join(tools), _TAIL, "\n".join(columns)]) + "\n"


def _tool(module: ModuleType) -> str:
    what = (module.__doc__ or "").strip().splitlines()[0].rstrip(".")
    names = ", ".join(dict.fromkeys(f"`{reader.name}`" for reader in module.READERS))
    file = module.__name__.rpartition(".")[2]
    return f"| {_cell(what)} | {names} | [{file}](../slmopt/measured/readers/{file}.py) |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("``", "`").split())
