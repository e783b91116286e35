"""The one table: exactly its columns and dtypes, whatever a reader hands in, and after results are joined."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from slmopt.measured import table
from slmopt.measured.table import ReadResult, Skip
from slmopt.measured.table_columns import COLUMNS, DTYPES, NAMES


def assert_schema(rows: pd.DataFrame) -> None:
    assert tuple(rows.columns) == NAMES
    assert {name: str(rows[name].dtype) for name in NAMES} == DTYPES
    assert isinstance(rows.index, pd.RangeIndex)


def test_every_column_says_what_it_means():
    assert len(set(NAMES)) == len(NAMES)
    for column in COLUMNS:
        assert column.meaning
        assert column.dtype in {"category", "str", "float64", "datetime64[us]"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        COLUMNS[0].name = "other"  # type: ignore[misc]


def test_empty_rows_have_the_schema():
    assert_schema(table.empty_rows())
    assert len(table.empty_rows()) == 0


def test_what_is_not_named_is_missing_and_never_zero():
    rows = table.make_rows({"row": ["row 1", "row 2"], "model": "m", "tokens_per_s": [1.0, np.nan]})
    assert_schema(rows)
    assert rows["model"].tolist() == ["m", "m"]
    others = rows.drop(columns=["row", "model", "tokens_per_s"])
    assert others.isna().all(axis=None)


def test_empty_texts_are_missing_and_unused_categories_go():
    rows = table.make_rows(
        {"phase": pd.Categorical(["decode", ""], categories=["decode", "", "mixed"]), "model": ["", "m"]}
    )
    assert rows["phase"].isna().tolist() == [False, True]
    assert list(rows["phase"].cat.categories) == ["decode"]
    assert rows["model"].isna().tolist() == [True, False]


def test_a_name_that_is_no_column_is_refused():
    with pytest.raises(KeyError, match="tokens_per_second"):
        table.make_rows({"tokens_per_second": [1.0]})


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        table.make_rows({"batch": [1.0], "threads": [1.0, 2.0]})


def test_records_may_lack_what_others_have():
    rows = table.rows_from_records([{"row": "a", "batch": 1.0}, {"row": "b", "model": "m"}])
    assert_schema(rows)
    assert rows["batch"].tolist()[0] == 1
    assert np.isnan(rows["batch"].tolist()[1])


def one(form: str, source: str, model: str, skips: int = 0) -> ReadResult:
    rows = table.rows_from_records([{"row": "row 1", "model": model, "tokens_per_s": 1.0}])
    return table.result(
        form, source, rows, [Skip(f"row {2 + n}", "why") for n in range(skips)], [f"{source} warns"]
    )


def test_joined_results_keep_order_schema_and_what_was_left_out():
    joined = table.concat([one("a", "1.csv", "x", 1), one("b", "2.csv", "y"), one("a", "3.csv", "x", 2)])
    assert_schema(joined.rows)
    assert joined.format == "a + b"
    assert joined.rows["source_file"].tolist() == ["1.csv", "2.csv", "3.csv"]
    assert joined.rows["model"].tolist() == ["x", "y", "x"]
    assert joined.skipped["source_file"].tolist() == ["1.csv", "3.csv", "3.csv"]
    assert joined.warnings == ("1.csv warns", "2.csv warns", "3.csv warns")


def test_joining_nothing_gives_an_empty_table():
    assert_schema(table.concat([]).rows)
