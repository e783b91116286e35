"""Quality is a gate; the checklist fills itself; the search agrees with the pass."""

import numpy as np
import pandas as pd
import pytest

from slmopt.advice.checklist import checklist
from slmopt.advice.observed import Observed, Seen
from slmopt.advice.quality import Scores, best_format, formats_compared
from slmopt.advice.search import Wanted, meeting, pareto, search
from slmopt.figures import theme
from slmopt.reports import advice_tables, search_tables
from slmopt.reports.pictures.quality import speed_against_quality
from slmopt.reports.pictures.search import front
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import checklist as checklist_words
from slmopt.words import quality as words
from slmopt.words import search as search_words

CHAT = scenario(
    {"model": "llama-3.1-8b", "device": "rtx-4090", "target_ttft_ms": 500.0, "target_tpot_ms": 12.0}
)


def test_no_format_is_best_without_an_evaluation():
    rows = formats_compared(CHAT, Scores({}))
    assert best_format(rows) is None
    assert "No format is best yet" in words.verdict(rows, None, Scores({}))
    assert speed_against_quality(rows, Scores({})) is None
    assert [row.bits for row in rows] == sorted((row.bits for row in rows), reverse=True)
    speeds = [row.tpot_s for row in rows]
    assert speeds == sorted(speeds, reverse=True), "fewer bits stream faster here"


def test_the_fastest_that_passes_is_best_and_a_faster_failure_is_not():
    scores = Scores({"q8_0": 0.80, "q4_k_m": 0.78, "q2_k": 0.41}, floor=0.75)
    rows = formats_compared(CHAT, scores)
    best = best_format(rows)
    assert best is not None
    assert best.id == "q4_k_m"
    said = words.verdict(rows, best, scores)
    assert said.startswith("**Q4\\_K\\_M** is the fastest that passes")
    assert "Q3" in said, "a faster format that nobody evaluated is named"
    picture = speed_against_quality(rows, scores)
    assert picture is not None
    theme.checked(picture.figure)


def test_valid_replies_are_part_of_the_gate():
    scores = Scores({"q4_k_m": 0.8}, floor=0.7, validity={}, validity_floor=0.95)
    assert scores.passes("q4_k_m") is None
    assert Scores({"q4_k_m": 0.8}, 0.7, {"q4_k_m": 0.9}, 0.95).passes("q4_k_m") is False
    assert Scores({"q4_k_m": 0.8}, 0.7, {"q4_k_m": 0.99}, 0.95).passes("q4_k_m") is True
    assert Scores({"q4_k_m": 0.6}, 0.7).passes("q4_k_m") is False
    assert Scores({"q4_k_m": 0.6}).passes("q4_k_m") is None


def test_the_table_holds_the_scores_beside_the_speeds():
    table = advice_tables.formats(formats_compared(CHAT, Scores({"q8_0": 0.5}, validity={"q8_0": 1.0})))
    row = table[table["format"] == "Q8_0"].iloc[0]
    assert row[advice_tables.SCORE] == 0.5
    assert row[advice_tables.VALID] == 1.0
    assert table[advice_tables.SCORE].notna().sum() == 1


def state(items, ident):
    return next(item.state for item in items if item.id == ident)


def test_the_checklist_fills_itself():
    plain = checklist(CHAT)
    assert state(plain, "targets") == "done"
    assert state(plain, "measure") == "open"
    assert state(plain, "quality") == "open"
    assert state(plain, "quantise") == "done"
    assert state(plain, "pressure") == "done"
    assert state(plain, "tokenizer") == "done"
    seen = Observed((Seen("decode", 3, 0.3, 0.65, slow=True),))
    told = checklist(CHAT, seen, Scores({"q4_k_m": 0.8}))
    assert state(told, "measure") == "done"
    assert state(told, "software") == "open"
    assert state(told, "quality") == "done"
    for item in (*plain, *told):
        assert checklist_words.text(item).endswith(".")
        assert checklist_words.line(item)[0] in "✓✕○"


@pytest.mark.parametrize(
    ("values", "ident", "expected", "words_in"),
    [
        (
            {"draft_model": "llama-3.2-1b", "draft_tokens": 4, "acceptance": 0.6},
            "tokenizer",
            "ask",
            "128,256",
        ),
        (
            {"draft_model": "smollm2-135m", "draft_tokens": 4, "acceptance": 0.6},
            "tokenizer",
            "open",
            "49,152",
        ),
        ({"batch": 70}, "pressure", "open", "leave room"),
        ({"device": "snapdragon-8-elite"}, "throttling", "ask", "seconds"),
        ({"weights": "f16"}, "quality", "done", "16 bits"),
        ({"weights": "f16"}, "quantise", "open", "quantise"),
        ({"prefix_hit": 1000, "shared_prefix": 1000}, "prefix", "done", "1,000 of 2,000"),
        ({"batch": 4}, "last", "done", "4 sequences"),
        ({"target_tpot_ms": None}, "targets", "open", "Write two targets"),
    ],
)
def test_failure_modes_follow_from_the_scenario(values, ident, expected, words_in):
    items = checklist(CHAT.change(**values))
    found = next(item for item in items if item.id == ident)
    assert found.state == expected
    assert words_in in checklist_words.text(found)


def test_the_search_is_the_pass_on_every_device():
    found = search(CHAT)
    assert found["device"].nunique() > 200
    assert found["weights_id"].nunique() >= 7
    for ident, weights in (
        ("rtx-5090", "q8_0"),
        ("apple-m4-max-40c", "q4_k_m"),
        ("snapdragon-8-elite", "q2_k"),
    ):
        row = found[
            (found["device"] == ident) & (found["weights_id"] == weights) & (found["techniques"] == "")
        ].iloc[0]
        e = evaluate(CHAT.change(device=ident, weights=weights))
        assert row["tpot_s"] == pytest.approx(float(e.typical.latency.tpot_s), rel=1e-6)
        assert row["tokens_per_s"] == pytest.approx(e.typical.device_tokens_per_s)
        assert row["sequences"] == e.capacity.max_sequences
        assert row["held_bytes"] == pytest.approx(e.capacity.held_now)
        if e.setup.prefill.estimate is None:
            assert np.isnan(row["ttft_s"])
        else:
            assert row["ttft_s"] == pytest.approx(float(e.typical.latency.ttft_s))


def test_what_meets_the_targets_does_and_failed_formats_are_left_out():
    found = search(CHAT)
    met = meeting(found, Wanted.of(CHAT))
    assert 0 < len(met) < len(found)
    assert (met["tpot_s"] <= 0.012).all()
    assert (met["ttft_s"] <= 0.5).all()
    assert met["fits"].all()
    failed = meeting(found, Wanted.of(CHAT), Scores({"q2_k": 0.2}, floor=0.5))
    assert "q2_k" not in set(failed["weights_id"])
    nothing = meeting(found, Wanted(tpot_s=1e-9))
    assert "None of" in search_words.answer(len(found), nothing)


def test_the_front_is_unbeaten():
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0, 2.0, np.nan], "b": [3.0, 2.0, 2.5, 1.0, 0.0]})
    assert pareto(rows, ("a", "b")).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize("against", list(search_words.NAMES))
def test_the_search_draws_and_ranks(against):
    met = meeting(search(CHAT), Wanted.of(CHAT))
    picture = front(met, against, 0.012)
    if against == "price_per_million":
        assert picture is None, "presets carry no price"
        return
    assert picture is not None
    theme.checked(picture.figure)
    table = search_tables.ranked(met, against, 20)
    assert table["rank"].tolist() == list(range(1, 21))
    assert table["unbeaten"].iloc[0]


def test_the_search_serves_as_the_scenario_does():
    served = CHAT.change(
        batch=4,
        prefill_chunk_tokens=300,
        batching="static",
        residency="cold",
        storage_gbs=3.0,
        attention_kernels="unfused",
    )
    for s in (served, served.change(prefill_chunk_tokens=None)):
        row = search(s)
        row = row[
            (row["device"] == "rtx-5090") & (row["weights_id"] == "q8_0") & (row["techniques"] == "")
        ].iloc[0]
        e = evaluate(s.change(device="rtx-5090", weights="q8_0"))
        assert row["ttft_s"] == pytest.approx(float(e.typical.latency.ttft_s))
        assert row["tokens_per_s"] == pytest.approx(e.typical.device_tokens_per_s)


def test_a_cold_start_is_open_in_the_checklist_until_the_model_is_kept():
    items = {item.id: item for item in checklist(CHAT.change(residency="cold", storage_gbs=4.0))}
    assert items["cold_start"].state == "open"
    assert items["cold_start"].numbers["load_s"] == pytest.approx(
        evaluate(CHAT.change(residency="cold", storage_gbs=4.0)).typical.latency.load_s
    )
    assert {item.id: item for item in checklist(CHAT)}["cold_start"].state == "ask"
