"""What the Roofline says in every kind of case."""

import re

import pytest

from slmopt.theory.evaluation import evaluate
from slmopt.theory.roofline_points import roofline_view
from slmopt.words import roofline as words
from tests.figures.roof_cases import CASES, GROUPED, SERVER


def view(case):
    return roofline_view(evaluate(case))


def plain(text):
    return text.replace("**", "").replace("\u00a0", " ")


def count(text):
    return len([word for word in plain(text).split() if re.search(r"\w", word)])


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


def test_lengths_and_numbers_in_every_case(case):
    v = view(case)
    assert count(words.answer(v)) <= 25
    assert words.answer(v).count("**") <= 6
    for title in (words.roof_title(v), words.intensity_title(v)):
        assert count(title) <= 12
    said = [words.answer(v), words.roof_alt(v), words.intensity_alt(v), *words.arithmetic(v)]
    said += [part for tile in words.tiles(v) for part in tile]
    assert not [text for text in said if re.search(r"\b(nan|inf|None)\b", text)]
    assert len(words.tiles(v)) == 4


@pytest.mark.parametrize(
    ("name", "answer", "title"),
    [
        (
            "article",
            "Decode is memory-bound at every batch: reading the cache holds it below 6.68 FLOP/byte, and this device's ridge is at 200.",
            "Batching stops 30 times short of the ridge",
        ),
        (
            "compute-bound",
            "Arithmetic limits decode at 300 sequences: it does 234 FLOP/byte, right of this device's ridge at 200.",
            "Batching reaches the ridge at 247 sequences; 4,495 fit",
        ),
        (
            "nothing fits",
            "The weights do not fit this memory; if they did, decode would do 12.9 FLOP/byte, left of the ridge at 655.",
            "Batching stops 3.3 times short of the ridge",
        ),
        (
            "compute-bound alone",
            "Decode is compute-bound at every batch: one sequence does 1.00 FLOP/byte, and this device's ridge is at 0.500.",
            "One sequence already stands 2.0 times right of the ridge",
        ),
    ],
)
def test_each_kind_has_its_sentence(name, answer, title):
    v = view(CASES[name])
    assert plain(words.answer(v)) == answer
    assert plain(words.roof_title(v)) == title


def test_what_fits_may_end_before_the_ridge():
    v = view(CASES["crossing out of reach"])
    assert plain(words.answer(v)).startswith(
        "Memory decides at every batch that fits: 68 sequences fit and reach"
    )
    assert "short of the ridge at 200" in plain(words.answer(v))
    assert plain(words.roof_title(v)).startswith("68 sequences fit, ")


def test_a_crossing_ahead_is_announced():
    assert plain(words.answer(view(GROUPED.change(batch=4)))) == (
        "Decode is memory-bound until 247 sequences reach this device's ridge at 200 FLOP/byte; 4,495 fit."
    )


def test_an_unknown_rate_is_bracketed_or_asked_for():
    phone = view(CASES["no rate known"])
    assert plain(words.answer(phone)).startswith("Decode is likely memory-bound: it does 3.13 FLOP/byte")
    ridge, decode, prefill, rate = words.tiles(phone)
    assert ridge[1] == "–"
    assert "by other rates; enter yours" in ridge[2]
    assert decode[2] == "▲ likely memory, by the chip's other rates"
    assert prefill[2] == "▼ likely compute, by the chip's other rates"
    assert "by memory alone" in rate[2]
    bare = view(SERVER.change(device={"bandwidth_gbs": 60}))
    assert "until you enter this chip's matrix rate" in words.answer(bare)
    assert words.tiles(bare)[0][2] == words.ASKED


def test_the_tiles_read_as_in_the_mock():
    ridge, decode, prefill, rate = words.tiles(view(SERVER))
    assert [plain(part) for part in ridge[:3]] == ["Ridge (FLOP/byte)", "200", "400 TFLOPS / 2 TB/s"]
    assert decode[:3] == ("Decode (FLOP/byte)", "4.71", "▲ memory, 42.5× left of the ridge")
    assert prefill[:3] == ("Prefill (FLOP/byte)", "2,000", "▼ compute, 10.0× right of it")
    assert [plain(part) for part in rate[:2]] == ["Decode rate (TFLOPS)", "≤ 9.42"]
    assert plain(rate[2]).startswith("2 % of the peak; ≈ ")


@pytest.mark.parametrize(
    ("case", "title"),
    [
        (SERVER, "Above 133 cached tokens no batch reaches the ridge"),
        (CASES["state"], "No batch reaches the ridge, however short the context"),
        (CASES["compute-bound alone"], "Every batch is right of the ridge"),
        (CASES["no rate known"], "At 1,200 cached tokens no batch passes 66.9 FLOP/byte"),
        (CASES["no rate known"].change(context=0), "Without cache reads, intensity grows with the batch"),
        (
            SERVER.change(cache_k={"bits": 0.001}, peak_tflops=1.0, batch=1),
            "Every batch is right of the ridge",
        ),
    ],
)
def test_the_second_finding(case, title):
    assert words.intensity_title(view(case)) == title


def test_what_holds_a_batch_down_is_named():
    assert words.held_by(evaluate(CASES["state"]).setup.model) == "reading the state"
    hybrid = evaluate(SERVER.change(model="falcon-h1-1.5b")).setup.model
    assert words.held_by(hybrid) == "reading cache and state"


@pytest.mark.parametrize(
    ("batch", "said"), [(200.00000000001, "200"), (246.2, "247"), (0.3, "1"), (12345.6, "12,300")]
)
def test_crossings_are_whole_batches(batch, said):
    assert words.crossing_words(batch) == said


@pytest.mark.parametrize(("ratio", "said"), [(1.01, "just"), (1.6, "1.6 times"), (29.96, "30 times")])
def test_distances(ratio, said):
    assert words.times(ratio) == said


def test_rates_are_named_as_chips_are():
    assert words.rate_name("npu int8") == "NPU INT8"
    assert words.rate_name("gpu any") == "GPU"
    assert words.tflops(4e14) == 400
    assert words.tflops(None) is None


def test_the_arithmetic_substitutes_this_scenario():
    text = plain("\n".join(words.arithmetic(view(SERVER))))
    assert "400 TFLOPS / 2.00 TB/s = 200 FLOP/byte" in text
    assert "224 GFLOP / 47.6 GB = 4.71 FLOP/byte" in text
    assert "= 6.68 FLOP/byte" in text
    assert "133 tokens" in text
