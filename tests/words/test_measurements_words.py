"""What Measurements says: a cause first, few words, few numbers, for any mix of rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.measured.table import make_rows
from slmopt.measured.verdicts import REASONS, VERDICTS
from slmopt.words import measured_causes as causes
from slmopt.words import measured_rows, timed_names
from slmopt.words import measurements as words
from slmopt.words.numbers import NBSP

HOSTILE = "<script>alert(1)</script> **b** $a$ [l](http://e.vil) :material/home: www.e.vil me@e.vil %{x}"


def table(**columns):
    """A joined table; what is not named is an ordinary decode row on one device."""
    given_ = {
        "source_file": "a.csv",
        "row": "row 1",
        "phase": "decode",
        "model": "M",
        "weights": "Q4_0",
        "device": "D",
        "origin": "p10 to p90 of 55 reference measurements, processors, llama.cpp-cpu",
        "tool": "llama-bench",
        "test": "tg32",
        "batch": 1.0,
        "context": 15.0,
        "measured": 50.0,
        "ceiling": 100.0,
        "fraction": 0.5,
        "p10": 0.3,
        "p50": 0.5,
        "p90": 0.7,
        "spread": 0.01,
        "pass_s": 0.02,
        "bound": "memory",
        "verdict": "typical",
        "reasons": "",
        "notes": "",
        "note": None,
        "intensity": 2.0,
        "flops_per_s": 1e11,
        **columns,
    }
    size = max((len(v) for v in given_.values() if isinstance(v, list)), default=1)
    frame = pd.DataFrame({name: v if isinstance(v, list) else [v] * size for name, v in given_.items()})
    texts = ("source_file", "phase", "model", "weights", "device", "origin", "tool", "test", "bound")
    return frame.astype(dict.fromkeys([*texts, "verdict", "reasons", "notes", "note"], "category"))


def said(rows, needs=()):
    return words.answer(rows, needs).replace(NBSP, " ")


def count_words(markdown):
    # A name of a model or file is one thing to read, and an escape is none.
    return len(markdown.replace("**", "").replace("\\", "").split())


@pytest.mark.parametrize(
    ("rows", "needs", "sentence"),
    [
        (
            table(
                fraction=[0.38, 1.0], pass_s=[0.003, 0.06], model=["135M", "1B"], weights=["Q4_K_M", "F16"]
            ),
            (),
            "Small models lose decode to software, not memory: 135M Q4\\_K\\_M reaches **38 %** of its ceiling, 1B F16 **100 %**.",
        ),
        (
            table(fraction=[0.2, 0.25, 0.5], verdict=["far_below", "below_typical", "typical"]),
            (),
            "Software holds decode back, not memory: the median row reaches **25 %** of its ceiling where **50 %** is usual.",
        ),
        (
            table(fraction=[0.2], verdict="far_below", reasons="offload|kernels"),
            (),
            "Layers in main memory hold decode back: the row reaches **20 %** of its ceiling where **50 %** is usual.",
        ),
        (
            table(fraction=[0.95, 0.9], verdict="near_ceiling"),
            (),
            "Memory decides here, so no kernel work will help: the median row reaches **92 %** of its decode ceiling.",
        ),
        (
            table(
                fraction=[1.5, 0.5],
                verdict=["above_ceiling", "typical"],
                reasons=["fast_kernels|wrong_input", ""],
            ),
            (),
            "Kernels faster than the stated matrix rate are likely: **1** of **2 rows** passes the ceiling, the farthest at **150 %**.",
        ),
        (
            table(spread=[0.5, 0.2, 0.01]),
            (),
            "A busy machine blurs these rows: **2** of **3** spread by more than 5 %, so repeat them before believing any.",
        ),
        (
            table(fraction=[0.2, 0.6, 0.6], verdict=["below_typical", "typical", "typical"]),
            (),
            "Software holds M Q4\\_0, tg32 back: it reaches **20 %** of its ceiling where **50 %** is usual; the median row reaches **60 %**.",
        ),
        (
            table(),
            (),
            "Nothing unusual holds decode back: the row reaches **50 %** of its ceiling, and **50 %** is usual for such devices.",
        ),
        (
            table(phase="prefill", bound="compute", fraction=0.2),
            (),
            "Software likely holds prefill back, within what is usual: the row reaches **20 %** of its ceiling, others **50 %**.",
        ),
        (
            table(fraction=[np.nan] * 2, verdict="unknown", reasons="need_device"),
            ("device", "weights"),
            "The device and the weight format are not known, so **2 rows** have no ceiling yet: name them below.",
        ),
        (
            table(fraction=[np.nan], verdict="unknown", reasons="no_length"),
            (),
            "No ceiling can be drawn for **1 row**: prompt lengths are not stated.",
        ),
        (
            table().head(0),
            (),
            "Nothing here can be held against a ceiling: no row states a speed of decode or prefill.",
        ),
    ],
)
def test_the_finding(rows, needs, sentence):
    assert said(rows, needs) == sentence


@given(data=st.data())
def test_any_mix_has_a_short_answer_with_few_numbers(data):
    size = data.draw(st.integers(1, 12))

    def some(values):
        return data.draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    fractions = data.draw(
        st.lists(st.one_of(st.just(np.nan), st.floats(0.001, 400)), min_size=size, max_size=size)
    )
    rows = table(
        fraction=fractions,
        verdict=["unknown" if np.isnan(f) else v for f, v in zip(fractions, some(VERDICTS), strict=True)],
        reasons=["|".join(sorted({a, b})) for a, b in zip(some(REASONS), some(REASONS), strict=True)],
        phase=some(["decode", "prefill", "serving", "mixed"]),
        model=some(["Llama-3.2-1B", "SmolLM2-135M", "Qwen2.5-7B"]),
        weights=some(["F16", "Q4_K_M"]),
        device=some(["NVIDIA GeForce RTX 4090", "AMD EPYC"]),
        bound=some(["memory", "compute", None]),
        spread=some([np.nan, 0.01, 0.3]),
        pass_s=some([0.001, 0.02, 0.3]),
        p50=some([0.2, 0.6]),
    )
    needs = data.draw(st.sampled_from([(), ("device",), ("device", "model", "weights", "batch")]))
    answer = words.answer(rows, needs)
    assert count_words(answer) <= 25, answer
    assert len(re.findall(r"\*\*.+?\*\*", answer)) <= 3
    assert answer.endswith(".")
    everything = words.said(rows, 2, needs)
    assert len(everything.tiles) == 4
    assert "nan" not in f"{everything.line} {everything.title} {everything.explanation}".lower()
    if everything.title:
        assert len(everything.title.replace("**", "").split()) <= 18


def test_tiles_say_the_median_what_is_usual_and_the_exceptions():
    rows = table(
        fraction=[0.71, 0.3, 1.6, 0.9],
        p50=[0.6, 0.6, 0.6, 0.6],
        verdict=["typical", "below_typical", "above_ceiling", "near_ceiling"],
        reasons=["", "threads|kernels", "cache_resident|wrong_input", "memory_reached"],
        spread=[0.01, 0.07, 0.02, np.nan],
    )
    tiles = {label: (value, note) for label, value, note, _ in words.tiles(rows)}
    assert tiles["Decode rows, median (%)"] == ("80", "of the ceiling; usual is 60 on processors")
    assert tiles["Below typical"] == ("1 row", "M Q4_0: software first")
    assert tiles["Above the ceiling ✕"] == ("1 row", "likely weights that stay in cache")
    assert tiles[f"Spread above 5{NBSP}%"] == ("1 row", f"M Q4_0, tg32: ±{NBSP}7{NBSP}%")


def test_rows_above_the_ceiling_are_explained_likeliest_first():
    rows = table(
        fraction=[1.4],
        verdict="above_ceiling",
        reasons="fast_kernels|wrong_input|skipped_work",
        bound="compute",
    )
    text = causes.explanation(rows).replace(NBSP, " ")
    assert text == (
        "**Why 1 row passes 100 %:** likely faster kernels than the rate; else another bandwidth, rate or file or skipped "
        "work. Where you know the device's rate, choose it in the panel and enter the rate under Hardware: the ceiling follows."
    )
    assert causes.explanation(table()) == ""


def test_every_reason_of_a_row_without_ceiling_or_above_it_has_words():
    for reason in REASONS[REASONS.index("no_length") : REASONS.index("memory_reached")]:
        assert reason in causes.REASON_SHORT or reason == "experts_shape"
    for reason in REASONS[REASONS.index("fast_kernels") : REASONS.index("short_pass")]:
        assert reason in causes.ABOVE


def test_names_of_strangers_take_no_effect_in_markdown():
    rows = table(
        model=HOSTILE,
        source_file=HOSTILE,
        fraction=[0.2, 0.6, 0.6],
        verdict=["below_typical", "typical", "typical"],
    )
    line = measured_rows.arithmetic(next(rows.itertuples(index=False)))[0]
    for text in (words.answer(rows), line, causes.asked_label("model", [HOSTILE])):
        bare = re.sub(r"\\.", "", text.replace("**", ""))
        assert not set(bare) & set("<>[]*`$_")
        assert "://" not in text.replace("\\", "")
        assert ":material/" not in text.replace("\\", "")
        assert "me@e" not in text


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"phase": "decode", "output_tokens": 32.0, "depth_tokens": 0.0, "batch": 1.0}, "tg32"),
        ({"phase": "prefill", "prompt_tokens": 4096.0}, "pp4096"),
        ({"phase": "decode", "output_tokens": 16.0, "depth_tokens": 1024.0, "batch": 8.0}, "tg16, depth 1,024, batch 8"),
        ({"phase": "serving", "prompt_tokens": 512.0, "output_tokens": 128.0, "concurrency": 64.0}, "512 in, 128 out, 64 at once"),
        ({"phase": "decode"}, "decode"),
        ({"phase": "mixed"}, "mixed"),
    ],
)  # fmt: skip
def test_a_row_is_called_by_what_it_timed(columns, name):
    assert list(timed_names.test_names(make_rows(columns))) == [name]


def test_the_arithmetic_ends_at_the_numbers_of_the_row():
    row = next(
        table(measured=50.0, ceiling=100.0, fraction=0.5, intensity=2.0, flops_per_s=1e11).itertuples(
            index=False
        )
    )
    text = "\n".join(measured_rows.arithmetic(row)).replace(NBSP, " ")
    # 1e11 FLOP/s at 50 tokens/s are 2 GFLOP a token; at 2 FLOP a byte 1 GB; 100 tokens/s of it 100 GB/s.
    assert "1.00 GB moved and 2.00 GFLOP done" in text
    assert "100 GB/s / 1.00 GB a token = ≤ 100 tokens/s, so memory decides" in text
    assert "measured 50.0 / 100 tokens/s = 50 %" in text
