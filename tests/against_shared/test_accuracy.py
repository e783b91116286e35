"""`make accuracy`: what the committed page claims is so, and its checks can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import (
    accuracy,
    accuracy_fits,
    accuracy_page,
    accuracy_references,
    accuracy_rows,
    accuracy_sizes,
)
from slmopt.measured.calibration import chosen
from tests.shared import ROOT


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return accuracy_rows.judged()


def test_no_valid_row_is_above_its_ceiling_and_every_impossible_run_is(rows):
    counts = accuracy._ceilings(rows, None).figures
    assert counts == {"valid rows above their ceiling": 0, "impossible runs not flagged": 0}
    assert rows["described"].sum() > 1200
    assert rows["evidence"].eq(accuracy_references.INVALID).sum() == 8


def test_the_source_s_word_on_validity_reaches_no_judgement(rows):
    assert "evidence" not in {name for row in accuracy_references.single_stream(True) for name in row.row}
    turned = rows.assign(
        evidence=rows["evidence"].map({"primary": accuracy_references.INVALID}).fillna("primary")
    )
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
        if section is not accuracy_fits.section:
            figures |= section().figures
    assert all(value <= accuracy.LIMITS[name] for name, value in figures.items()), figures
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for name, limit in accuracy.LIMITS.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        stated = [float(cell) for cell in line.strip("| ").split("|")[1:]]
        assert stated[1] == limit
        assert stated[0] <= limit


def test_a_fit_foretells_what_it_has_not_seen_better_than_a_constant_share():
    name, points = next(accuracy_fits.machines())
    own = (name, points.take(np.arange(0, len(points), 2)))
    errors = accuracy_fits.left_out([own])
    assert set(errors["out"]) == {accuracy_fits.ROW, accuracy_fits.MODEL}
    assert (errors.groupby("out").size() == len(own[1])).all()
    median = errors.groupby("out")[["ours", "constant"]].median()
    assert (median["ours"] < 0.7 * median["constant"]).all()
    assert (median["ours"] < 0.3).all()


def test_points_left_out_reach_no_fit(monkeypatch):
    _, points = next(accuracy_fits.machines())
    seen = []
    monkeypatch.setattr(accuracy_fits, "chosen", lambda kept: seen.append(kept) or chosen(kept))
    folds = [np.array([0, 3]), np.array([1, 2])]
    few = points.take(np.arange(8))
    list(accuracy_fits._errors("m", "a row", few, folds))
    for kept, fold in zip(seen, folds, strict=True):
        assert len(kept) == 6
        assert not set(kept.label) & set(few.label[fold])


def test_measured_cases_stay_below_their_ceiling():
    found = accuracy_sizes.measured_cases().set_index("case")
    assert list(found.index) == ["RC08", "RC09", "RC10"]
    assert (found.loc[["RC08", "RC09"], "measured"] < found.loc[["RC08", "RC09"], "ceiling"]).all()
    assert found.loc["RC10", "measured"] > found.loc["RC10", "ceiling"]
    assert found.loc["RC10", "typical"] > found.loc["RC10", "ceiling"]


def test_every_computed_case_of_other_calculators_is_right(rows):
    found = accuracy_sizes.calculators()
    assert (
        len(set(found["case"])) + len(accuracy_sizes.not_computed()) + len(accuracy_sizes.measured_cases())
        == 24
    )
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
