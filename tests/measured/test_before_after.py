"""Two sets of rows side by side: matched by what they measured, ratios against their spread, and the rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slmopt.figures import before_after as figures
from slmopt.figures import theme
from slmopt.figures.named import Named
from slmopt.measured.before_after import Quality, before_after, outcome, side, sides
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.reports.measurement_tables import joined
from slmopt.words import before_after as words
from slmopt.words.timed_names import named

HEAD = "model,weights,phase,prompt_tokens,output_tokens,depth_tokens,batch,tokens_per_s,spread,device,label\n"
CARD = "NVIDIA GeForce RTX 4090"


def rows(*lines: str):
    content = HEAD + "\n".join(f"Llama-3.1-8B,{line}" for line in lines) + "\n"
    read = read_benchmark("a.csv", content.encode())
    return named(joined(read.rows, compare(read.rows, Facts())))


def line(
    speed, *, weights="Q4_0", phase="decode", prompt=0, output=128, depth=0, batch=1, spread="0.01", label=""
):
    return f"{weights},{phase},{prompt},{output},{depth},{batch},{speed},{spread},{CARD},{label}"


def test_ratios_of_matched_rows_against_their_spread():
    before = rows(
        line(100),
        line(100, depth=4096),
        line(100, batch=8),
        line(100, phase="prefill", prompt=512, output=0, spread=""),
        line(7, batch=2),
    )
    after = rows(
        line(110),
        line(101, depth=4096),
        line(90, batch=8),
        line(200, phase="prefill", prompt=512, output=0),
        line(7, batch=4),
    )
    found = before_after(before, after)
    assert found.rows["ratio"].tolist() == pytest.approx([1.1, 1.01, 0.9, 2.0])
    assert found.rows["spread"].tolist()[:3] == pytest.approx([math.hypot(0.01, 0.01)] * 3)
    assert found.rows["beyond"].tolist()[:3] == [1, 0, -1]
    assert np.isnan(found.rows["beyond"].iloc[3])
    assert found.counts == (1, 1, 1, 1)
    assert found.alone == (1, 1)
    assert found.typical == pytest.approx((1.1 * 1.01 * 0.9 * 2.0) ** 0.25)


def test_repeats_are_one_row_with_the_spread_between_them():
    before = rows(*(line(speed, spread="") for speed in (95, 100, 105)))
    after = rows(*(line(speed, spread="") for speed in (108, 110, 112)))
    (found,) = before_after(before, after).rows.itertuples()
    assert (found.before, found.after) == (100, 110)
    assert found.spread == pytest.approx(math.hypot(5 / 100, 2 / 110))
    assert found.beyond == 0


def test_what_was_changed_is_not_asked_of_a_match():
    found = before_after(rows(line(100)), rows(line(150, weights="Q8_0")))
    assert found.changed == ("weights",)
    assert found.rows["ratio"].tolist() == [1.5]
    assert "Matched without the weights" in words.notes(found)[0]
    nothing = before_after(rows(line(100)), rows(line(1, batch=64)))
    assert len(nothing.rows) == 0
    assert "nothing can be compared" in words.answer(nothing)
    assert math.isnan(nothing.typical)


def test_a_label_parts_one_file():
    table = rows(line(100, label="old"), line(120, label="new"))
    assert sides(table)["note"] == ("old", "new")
    found = before_after(table[side(table, "note", "old")], table[side(table, "note", "new")])
    assert found.rows["ratio"].tolist() == [1.2]
    assert "device" not in sides(table)


@pytest.mark.parametrize(
    ("after", "quality", "expected", "why"),
    [
        (120, Quality(0.70, 0.74, 0.01), "keep", "both improve"),
        (120, Quality(0.70, 0.705, 0.01), "undo", "quality did not improve beyond chance"),
        (120, Quality(0.70, 0.60), "undo", "quality fell from 0.700 to 0.600"),
        (120, None, "undecided", "enter the quality evaluation"),
        (100.5, Quality(0.70, 0.74), "undecided", "no row became faster"),
        (80, None, "undo", "became slower"),
    ],
)
def test_a_change_is_kept_only_if_both_improve(after, quality, expected, why):
    found = before_after(rows(line(100)), rows(line(after)))
    assert outcome(found, quality) == expected
    assert why in words.verdict(found, quality)


def test_the_figure_draws_the_largest_changes_first():
    found = before_after(
        rows(*(line(100, depth=d) for d in range(40))), rows(*(line(100 + d, depth=d) for d in range(40)))
    )
    figure = theme.checked(figures.ratios([Named("", found)]))
    assert len(figure.data[0].x) == figures.MOST_ROWS
    assert figure.data[0].x[0] == pytest.approx(1.39)
    assert figure.layout.yaxis.ticktext[0].endswith("tg128, depth 39")
    assert words.title(found) == "After runs at **1.00** to **1.39×** the speed of before"


@pytest.mark.parametrize("name", ["label", "variant", "config", "branch"])
def test_a_column_that_labels_rows_parts_one_file(name):
    text = f"{name},model,weights,phase,tokens_per_s,device\n"
    text += "".join(
        f"{label},Llama-3.1-8B,Q4_0,decode,{speed},rtx-4090\n"
        for label, speed in (("base", 100), ("new", 120))
    )
    read = read_benchmark("one.csv", text.encode())
    rows = named(joined(read.rows, compare(read.rows)))
    assert sides(rows)["note"] == ("base", "new")
    found = before_after(*(rows[side(rows, "note", label)] for label in ("base", "new")))
    assert found.typical == pytest.approx(1.2)
