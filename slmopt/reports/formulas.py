"""Texts from strangers' files made harmless for spreadsheets, which run what looks like a formula."""

from __future__ import annotations

from typing import Final

import pandas as pd

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


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
