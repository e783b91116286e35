"""What Batching says in every kind of case."""

import re

import pytest

from slmopt.theory.batch_points import batching_view
from slmopt.theory.evaluation import evaluate
from slmopt.words import batching as words
from tests.figures.roof_cases import CASES, SERVER
from tests.words.test_roofline_words import count, plain


def view(case):
    return batching_view(evaluate(case))


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


def test_lengths_and_numbers_in_every_case(case):
    v = view(case)
    assert count(words.answer(v)) <= 25
    assert words.answer(v).count("**") <= 6
    for title in (words.throughput_title(v), words.user_title(v), words.step_title(v)):
        assert count(title) <= 12, title
    said = [
        words.answer(v),
        words.throughput_alt(v),
        words.user_alt(v),
        words.step_alt(v),
        *words.arithmetic(v),
    ]
    said += [part for tile in words.tiles(v) for part in tile]
    assert not [text for text in said if re.search(r"\b(nan|inf|None)\b", text)]
    assert len(words.tiles(v)) == 4


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (
            "article",
            "Memory binds first: 31 sequences fit, giving at most 785 tokens/s; reading the cache leaves no crossover, so more would gain little.",
        ),
        (
            "compute-bound",
            "Arithmetic binds first: from 247 sequences on the device gives at most 28,600 tokens/s, and 4,495 fit.",
        ),
        ("nothing fits", "Nothing to batch: the weights need 42.5 GB and the device has 25.8 GB."),
        (
            "over capacity",
            "Only 15 of the 64 sequences fit, giving at most 390 tokens/s; the rest would have to wait.",
        ),
        (
            "compute-bound alone",
            "Batching gains nothing: one sequence already keeps the arithmetic busy, at most 71.4 tokens/s.",
        ),
        (
            "no memory known",
            "Reading the cache leaves no crossover: large batches approach at most 694 tokens/s, all sequences together.",
        ),
    ],
)
def test_each_kind_has_its_sentence(name, answer):
    assert plain(words.answer(view(CASES[name]))) == answer


def test_memory_may_bind_before_the_crossover():
    text = plain(words.answer(view(CASES["crossing out of reach"])))
    assert text.startswith("Memory binds first: 68 sequences fit")
    assert text.endswith("the crossover would need 247.")


def test_without_a_rate_memory_alone_speaks():
    text = plain(words.answer(view(CASES["no rate known"])))
    assert text.endswith("by memory alone; no matrix rate is known.")
    bare = SERVER.change(device={"bandwidth_gbs": 60})
    assert plain(words.answer(view(bare))).startswith("16 sequences get at most")
    assert words.tiles(view(bare))[3][1] == "–"


def test_far_from_the_limit_more_would_gain():
    v = view(SERVER.change(capacity_gb=17.0, batch=1))
    assert plain(words.answer(v)) == (
        "Memory binds first: 1 sequence fits, giving at most 124 tokens/s; "
        "reading the cache allows at most 954 at any batch."
    )


def test_the_tiles_read_as_in_the_mock():
    device, user, largest, crossover = ([plain(part) for part in tile] for tile in words.tiles(view(SERVER)))
    assert device[:2] == ["Device now (tokens/s)", "≤ 673"]
    assert user[:2] == ["A user now (tokens/s)", "≤ 42.1"]
    assert largest[:3] == ["Largest batch", "31", "≤ 785 tokens/s, ≥ 39.5 ms a step"]
    assert crossover[:3] == ["Crossover", "never", "weights alone would say 200"]


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("nothing fits", "0", "✕ at 2,200 tokens"),
        ("no memory known", "–", "memory is not known: enter it under Hardware"),
    ],
)
def test_the_largest_batch_may_be_none_or_unknown(name, value, note):
    tile = words.tiles(view(CASES[name]))[2]
    assert (plain(tile[1]), plain(tile[2])) == (value, note)


def test_a_crossover_below_one_is_the_first_sequence():
    assert words.tiles(view(CASES["compute-bound alone"]))[3][1:3] == (
        "1",
        "arithmetic decides from the first sequence on",
    )


@pytest.mark.parametrize(
    ("case", "title"),
    [
        (SERVER, "16 sequences already earn 86 % of what 31 would"),
        (SERVER.change(batch=1), "1 sequence earns 16 % of what 31 would"),
        (SERVER.change(batch=31), "31 sequences fit and earn 82 % of the large-batch limit"),
        (CASES["over capacity"], "64 sequences do not fit; 15 would give at most 390 tokens/s ✕"),
        (CASES["nothing fits"], "Nothing fits: the weights lack 16.7 GB ✕"),
        (CASES["one fits"], "1 sequence fits and earns 79 % of the large-batch limit"),
        (SERVER.change(device={"bandwidth_gbs": 60}), "16 sequences give at most 20.2 tokens/s"),
    ],
)
def test_the_main_finding(case, title):
    assert plain(words.throughput_title(view(case))) == title


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        (
            {"bandwidth_fraction": 1.0, "compute_fraction": 1.0, "fixed_ms": 0.0},
            "The 40 ms target is safe for all 31 that fit ✓",
        ),
        (
            {"bandwidth_fraction": 0.5, "compute_fraction": 0.5, "fixed_ms": 0.0},
            "The 40 ms target is safe to 12 sequences, possible to 31 ◐",
        ),
        (
            {"bandwidth_fraction": 0.1, "compute_fraction": 0.5, "fixed_ms": 0.0},
            "The 40 ms target holds to 31, but only at the ceiling ◐",
        ),
        ({"target_tpot_ms": 5.0}, "Not even one sequence meets the 5 ms target ✕"),
        ({"target_tpot_ms": 10.0}, "The 10 ms target holds to 2 at most; 16 now ✕"),
        ({"target_tpot_ms": None}, "A user sees at most 42.1 tokens/s now"),
        ({"model": "llama-3.1-405b"}, "Nothing fits; alone, a user would see at most 2.47 tokens/s"),
    ],
)
def test_the_users_finding(changes, title):
    assert plain(words.user_title(view(SERVER.change(**changes)))) == title


@pytest.mark.parametrize(
    ("case", "title"),
    [
        (SERVER, "From 7 sequences on, the cache costs more than the weights"),
        (SERVER.change(context=30_000), "The cache costs more than the weights at every batch"),
        (CASES["compute-bound alone"], "Arithmetic takes longer than memory at every batch"),
        (CASES["state"], "From 66 sequences on, the state costs more than the weights"),
        (CASES["nothing fits"], "Up to 4 sequences, the weights cost more than the cache"),
    ],
)
def test_the_step_s_finding(case, title):
    assert words.step_title(view(case)) == title


def test_the_arithmetic_substitutes_this_scenario():
    text = plain("\n".join(words.arithmetic(view(SERVER))))
    assert "16 / 23.8 ms = 673 tokens/s" in text
    assert "read once for all: 7.00 ms" in text
    assert "never" in text
    assert "= 954 tokens/s" in text
    crossing = plain("\n".join(words.arithmetic(view(CASES["crossing ahead"]))))
    assert "= 246 sequences" in crossing
