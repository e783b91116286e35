"""Texts from strangers' files made harmless for spreadsheets, which run what looks like a formula."""

from __future__ import annotations

import re
from typing import Final

import pandas as pd

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What begins a formula; the wide forms do so in East Asian settings."""

_BREAKS: Final = re.compile(r"[\r\n\v\f\x85\u2028\u2029]+")


def guarded(text: str) -> str:
    """The text on one line, with an apostrophe before it where a spreadsheet would take it for a formula.

    Writers leave a carriage return bare, after which a spreadsheet begins a row.
    """
    line = _BREAKS.sub(" ", text)
    return f"'{line}" if line.lstrip(" ").startswith(_FORMULA) else line


def safe(table: pd.DataFrame) -> pd.DataFrame:
    """The table with every text guarded, the columns' names too; numbers stay as they are."""
    changed = {}
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            if not pd.api.types.is_numeric_dtype(column.cat.categories.dtype):
                texts = [_plain(value) for value in column.cat.categories]
                # Two names may become one; then they are no categories any more.
                alike = len(set(texts)) < len(texts)
                changed[name] = (
                    column.astype("str").map(_plain, na_action="ignore")
                    if alike
                    else column.cat.rename_categories(texts)
                )
        elif pd.api.types.is_string_dtype(column.dtype) or column.dtype == object:
            changed[name] = column.map(_plain, na_action="ignore")
    return table.assign(**changed).rename(columns=_plain)


def _plain(value: object) -> object:
    return guarded(value) if isinstance(value, str) else value
