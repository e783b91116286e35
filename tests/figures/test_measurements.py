"""The figure of Measurements and the tables behind it: true, small whatever the file, and deaf to tags."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from slmopt.figures import theme
from slmopt.figures.measured_marks import Group, Mark
from slmopt.figures.measurements import height, phone_height, shares
from slmopt.figures.named import Named
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.reports import measured_groups
from slmopt.reports import measurement_tables as tables

HEADER = "model,weights,phase,prompt_tokens,output_tokens,tokens_per_s,device,spread,params\n"


def judged(text, facts=None):
    read = read_benchmark("a.csv", (HEADER + text).encode())
    return read.rows, tables.joined(read.rows, compare(read.rows, facts))


@pytest.fixture(scope="module")
def rows():
    return judged(
        "Llama-3.1-8B,Q8_0,decode,0,128,55,NVIDIA GeForce RTX 4090,0.02,\n"
        "Llama-3.1-8B,Q4_0,decode,0,128,120,NVIDIA GeForce RTX 4090,,\n"
        "Llama-3.1-8B,Q4_0,prefill,512,0,9000,NVIDIA GeForce RTX 4090,0.01,\n"
        "Llama-3.1-8B,Q4_0,prefill,2048,0,9500,NVIDIA GeForce RTX 4090,0.01,\n"
    )[1]


def drawn(rows):
    return shares(measured_groups.groups(rows), measured_groups.heads(rows))


def test_each_row_stands_at_its_share(rows):
    figure = theme.checked(drawn(rows))
    decode, prefill = figure.data
    wanted = rows.sort_values("fraction", ascending=False)["fraction"]
    assert sorted(decode.x) == pytest.approx(sorted(100 * wanted[rows["phase"] == "decode"]))
    assert sorted(prefill.x) == pytest.approx(sorted(100 * wanted[rows["phase"] == "prefill"]))
    spread = 100 * rows["fraction"].iloc[0] * 0.02
    assert decode.error_x.array[0] == pytest.approx(spread)
    assert decode.error_x.array[1] == 0
    assert list(figure.layout.yaxis.ticktext) == ["Llama-3.1-8B Q8_0", "Llama-3.1-8B Q4_0"]
    assert [s.x0 for s in figure.layout.shapes if s.name == "ceiling"] == [100, 100]


def test_the_usual_band_is_each_row_s_own(rows):
    bands = [
        shape
        for shape in drawn(rows).to_dict()["layout"]["shapes"]
        if shape["name"].startswith("usual decode")
    ]
    decode = rows[rows["phase"] == "decode"]
    assert [band["x0"] for band in bands] == pytest.approx(list(100 * decode["p10"]))
    assert [band["x1"] for band in bands] == pytest.approx(list(100 * decode["p90"]))


def test_names_that_look_like_tags_stay_text():
    name = "<b>x</b><a href='javascript:alert(1)'>l</a>%{x}"
    _, rows = judged(f'"{name}",Q4_0,decode,0,128,50,NVIDIA GeForce RTX 4090,0.01,7123456789\n')
    text = json.dumps(drawn(rows).to_dict(), ensure_ascii=False, default=list)
    assert "<a " not in text
    assert "<b>x" not in text
    assert "&lt;b&gt;x" in text
    assert "%{hovertext}<extra></extra>" in text


def test_many_rows_become_a_few_medians():
    size = 5000
    speeds = np.linspace(20, 150, size)
    line = "Llama-3.1-8B,{},decode,0,128,{:.2f},NVIDIA GeForce RTX 4090,,\n"
    text = "".join(line.format(("Q5_0", "Q4_0", "Q8_0")[at % 3], speed) for at, speed in enumerate(speeds))
    _, rows = judged(text)
    groups = measured_groups.groups(rows)
    figure = theme.checked(shares(groups, measured_groups.heads(rows)))
    assert sum(len(trace.x) for trace in figure.data) == 3
    medians = rows.groupby("weights", observed=True)["fraction"].median()
    assert sorted(figure.data[0].x) == pytest.approx(sorted(100 * medians))
    assert all(mark.rows > 1600 for group in groups for mark in group.result.marks)
    assert len(json.dumps(figure.to_dict(), default=list)) < 20_000


def test_very_many_groups_end_in_one_of_the_rest():
    line = "m{0},Q4_0,decode,0,128,50,NVIDIA GeForce RTX 4090,,{0}123456789\n"
    _, rows = judged("".join(line.format(at) for at in range(1, 40)))
    groups = measured_groups.groups(rows)
    assert len(groups) == measured_groups.MOST_GROUPS
    assert groups[-1].name == "28 others"
    assert sum(mark.rows for group in groups for mark in group.result.marks) == 39


def test_a_row_far_above_keeps_the_axis_readable():
    marks = (
        Mark("decode", 40.0, 40.0, 40.0, (0.3, 0.7), above=1),
        Mark("decode", 0.5, 0.4, 0.6, (0.3, 0.7), "tg32"),
    )
    figure = theme.checked(shares([Named("M Q4_0", Group("M", marks, "Q4_0"))], {"decode": "Decode"}))
    end = figure.layout.xaxis.range[1]
    assert end < 400
    assert max(figure.data[0].x) < end
    texts = [note.text for note in figure.layout.annotations]
    assert any("4,000" in text and "✕" in text and "→" in text for text in texts)


def test_the_phone_s_form_names_only_what_is_there(rows):
    figure = drawn(rows).to_dict()["layout"]
    names = {note.get("name") for note in figure["annotations"]} | {s.get("name") for s in figure["shapes"]}
    for path in figure["meta"]["phone"]:
        if path.startswith(("annotations[", "shapes[")):
            assert path.split("[")[1].split("]")[0] in names
    groups = measured_groups.groups(rows)
    assert phone_height(groups, 2) <= height(groups, 2)


def test_formulas_are_texts_in_a_download_and_numbers_stay_numbers():
    table, rows = judged(
        '"=cmd|\' /C calc\'!A0",Q4_0,decode,0,128,50,"@dev",0.01,\n+1+1,Q4_0,decode,0,128,50,-dev,0.01,\n'
    )
    saved = tables.download(rows, table)
    text = saved.to_csv(index=False)
    back = pd.read_csv(io.StringIO(text))
    assert list(back["model"]) == ["'=cmd|' /C calc'!A0", "'+1+1"]
    assert list(back["device"]) == ["'@dev", "'-dev"]
    frame = tables.safe(pd.DataFrame({"number": [-1.5], "text": ["-1.5"]}))
    assert list(frame.iloc[0]) == [-1.5, "'-1.5"]


def test_what_was_downloaded_can_be_uploaded_again(rows):
    table, judged_rows = judged("Llama-3.1-8B,Q8_0,decode,0,128,55,NVIDIA GeForce RTX 4090,0.02,\n")
    again = read_benchmark("b.csv", tables.download(judged_rows, table).to_csv(index=False).encode())
    for name in ("phase", "tokens_per_s", "output_tokens", "weight_format", "device", "spread"):
        assert again.rows[name].iloc[0] == table[name].iloc[0]


def test_the_listed_rows_begin_with_those_that_ask_for_something(rows):
    shown = tables.listed(rows)
    assert list(shown["Share (%)"]) == pytest.approx(list(100 * rows.loc[shown.index, "fraction"]))
    order = [tables._ORDER.index(str(rows["verdict"][at])) for at in shown.index]
    assert order == sorted(order)


def test_points_of_the_roofline_are_medians_on_its_device():
    _, rows = judged(
        "Llama-3.1-8B,Q8_0,decode,0,128,50,NVIDIA GeForce RTX 4090,,\n"
        "Llama-3.1-8B,Q8_0,decode,0,128,54,NVIDIA GeForce RTX 4090,,\n"
        "<b>x</b>,F16,decode,0,128,54,NVIDIA GeForce RTX 4090,,7123456789\n"
        "Llama-3.1-8B,Q8_0,decode,0,128,30,NVIDIA GeForce RTX 3090,,\n"
    )
    found = tables.points(rows, "NVIDIA GeForce RTX 4090")
    assert found[0].label == "Llama-3.1-8B Q8_0, tg128"
    assert found[0].flops_per_s == pytest.approx(rows["flops_per_s"].iloc[:2].median())
    assert found[0].intensity == pytest.approx(rows["intensity"].iloc[0])
    assert "<" not in found[1].label
    assert len(found) == 2
    assert tables.points(rows, "no such device") == ()


def test_parts_judged_apart_are_one_table_again():
    table, _ = judged("a,Q4_0,decode,0,128,50,,,1123456789\nb,Q8_0,decode,0,128,50,,,2123456789\n")
    parts = [
        compare(table.loc[[1]], Facts(device="rtx-4090")).rows,
        compare(table.loc[[0]], Facts(device="rtx-3090")).rows,
    ]
    whole = tables.stacked(parts)
    assert list(whole.index) == [0, 1]
    assert list(whole["model"]) == ["a", "b"]
    assert isinstance(whole["device"].dtype, pd.CategoricalDtype)
