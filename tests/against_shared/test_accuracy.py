"""`make accuracy`: what the committed page claims is so, and its checks can fail."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import accuracy, accuracy_page, accuracy_rows, accuracy_sizes
from tests.shared import ROOT


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return accuracy_rows.judged()


def test_no_valid_row_is_above_its_ceiling_and_every_impossible_run_is(rows):
    counts = accuracy._ceilings(rows, None).figures
    assert counts == {"valid rows above their ceiling": 0, "impossible runs not flagged": 0}
    assert rows["described"].sum() > 1200
    assert rows["evidence"].eq(accuracy_rows.INVALID).sum() == 8


def test_the_source_s_word_on_validity_reaches_no_judgement(rows):
    assert "evidence" not in {name for row in accuracy_rows._single_stream(True) for name in row.row}
    turned = rows.assign(evidence=rows["evidence"].map({"primary": accuracy_rows.INVALID}).fillna("primary"))
    counts = accuracy._ceilings(turned, None).figures
    # The verdicts stay, so that the score turns: the impossible runs are now faults.
    assert counts["valid rows above their ceiling"] == 2
    assert counts["impossible runs not flagged"] > 900


def test_an_invented_row_above_its_ceiling_is_a_fault(rows):
    fast = rows.copy()
    at = fast.index[fast["described"] & fast["verdict"].eq("typical")][0]
    fast.loc[at, ["verdict", "fraction"]] = ["above_ceiling", 1.2]
    assert accuracy._ceilings(fast, None).figures["valid rows above their ceiling"] == 1


def test_errors_are_within_what_the_page_states(rows):
    figures = accuracy._predictions(rows).figures
    for section in accuracy._beside():
        figures |= section().figures
    assert all(value <= accuracy.LIMITS[name] for name, value in figures.items()), figures
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for name, limit in accuracy.LIMITS.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        stated = [float(cell) for cell in line.strip("| ").split("|")[1:]]
        assert stated[1] == limit
        assert stated[0] <= limit


def test_every_computed_case_of_other_calculators_is_right(rows):
    found = accuracy_sizes.calculators()
    assert len(set(found["case"])) + len(accuracy_sizes.not_computed()) == 24
    wrong = found.dropna(subset="theirs")
    assert ((wrong["theirs"] / wrong["printed"] - 1).abs() > 3 * wrong["error"]).all()


def test_pictures_are_small_and_escape_names(tmp_path):
    rows = pd.DataFrame({"name": ["<b>a&b</b>"] * 5 + ["c"] * 5, "fraction": [0.1, 0.2, 0.3, 0.4, 0.5] * 2})
    accuracy_page.spread_figure("<t>", accuracy_page.spreads(rows, "name"), tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;a&amp;b" in text
    assert len(text) < 30_000
    assert accuracy_page.table(("a|b",), [("x|<i>",)]).endswith("| x\\|&lt;i&gt; |")
    for picture in (ROOT / "docs" / "figures").glob("*.svg"):
        assert picture.stat().st_size < 30_000
