"""What a report gathers: every page's question, numbers that are the package's, kinds apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt._version import __version__
from slmopt.advice.quality import Scores
from slmopt.reports import pictures
from slmopt.reports.columns import cell, column_words, thinned
from slmopt.reports.formulas import guarded, safe
from slmopt.reports.marked_text import Run, plain, runs, to_html
from slmopt.reports.report import report
from slmopt.reports.report_sections import Own
from slmopt.specs.library import library
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import numbers, overview
from slmopt.words.questions import QUESTIONS
from slmopt.words.report import written
from slmopt.words.scenario_line import escape
from tests.reports.reading import DATE, SERVER, measured, server


def test_every_page_that_has_figures_is_a_section():
    assert [section.page for section in server().sections] == [
        page for page in QUESTIONS if page in pictures.PAGES
    ]
    assert [section.page for section in measured().sections] == list(QUESTIONS)


def test_the_pages_of_the_dashboard_are_the_questions():
    from pages.ui.sitemap import PAGES

    titles = {page.url_path: page.title for page in PAGES}
    assert {page: question.title for page, question in QUESTIONS.items()}.items() <= titles.items()


def test_the_numbers_are_the_packages():
    made = scenario(SERVER)
    e = evaluate(made)
    assert server().answer == overview.answer(e)
    facts = {fact.what: fact for fact in server().headline}
    assert (
        facts["First token, 2,000 prompt tokens"].ceiling
        == f"at least {numbers.seconds(float(e.ceiling.latency.ttft_s))}"
    )
    assert facts["Decode speed per device"].ceiling == "at most 673\u00a0tokens/s"
    assert facts["Sequences that fit, 4,000 tokens each"].ceiling == "at most 31"


def test_ceilings_and_estimates_are_told_apart_by_word_and_sign():
    for fact in server().headline:
        assert fact.ceiling.startswith(("at most", "at least"))
        assert fact.estimate.startswith("≈") or fact.estimate == numbers.UNKNOWN


def test_without_a_matrix_rate_no_first_token_is_estimated():
    phone = report(scenario({"device": "snapdragon-8-elite", "model": "llama-3.2-1b"}), date=DATE)
    assert phone.headline[0].estimate == numbers.UNKNOWN
    assert phone.headline[0].ceiling.startswith("at least")


@pytest.mark.parametrize("case", library().cases)
def test_every_ready_case_gives_a_whole_report(case):
    made = report(library().cases[case].scenario, date=DATE)
    assert all(section.answer and section.tiles for section in made.sections)
    for key, heading, table in made.tables():
        assert heading
        assert isinstance(table, pd.DataFrame), key
    assert made.version == __version__
    assert made.sources
    assert made.assumptions


def test_table_keys_are_unique():
    keys = [key for key, *_ in measured().tables()]
    assert len(keys) == len(set(keys))
    assert "measured_rows" in keys


def test_dates_are_in_utc():
    assert written(DATE) == "2 January 2026, 15:04 UTC"
    assert written(datetime(2026, 1, 2, 17, 4, tzinfo=timezone(timedelta(hours=2)))) == written(DATE)
    assert written(DATE.astimezone(UTC).replace(tzinfo=None)) == written(DATE)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "＝1", "-5+cmd|' /C calc'!A0"]
)
def test_formulas_are_guarded(text):
    # A return would begin a row: it becomes a space.
    assert guarded(text) == f"'{text}".replace("\r", " ")


@pytest.mark.parametrize("text", ["plain", "5-6", "1.5", ""])
def test_plain_texts_stay(text):
    assert guarded(text) == text


def test_a_guarded_table_keeps_its_numbers():
    table = pd.DataFrame({"=A": [-1.5, 2.0], "text": ["=x", "3"], "kind": pd.Categorical(["@a", "b"])})
    found = safe(table)
    assert list(found.columns) == ["'=A", "text", "kind"]
    assert found["'=A"].tolist() == [-1.5, 2.0]
    assert found["text"].tolist() == ["'=x", "3"]
    assert found["kind"].tolist() == ["'@a", "b"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])))
def test_an_escaped_text_comes_back_whole(text):
    assert plain(escape(text)) == text


def test_marks_are_read():
    assert runs(r"a **b** `c` 1\*2") == [
        Run("a "),
        Run("b", bold=True),
        Run(" "),
        Run("c", code=True),
        Run(" 1*2"),
    ]
    assert to_html("**<b>** & `x`") == "<strong>&lt;b&gt;</strong> &amp; <code>x</code>"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("estimate_slow_tokens_per_s", "Estimate slow (tokens/s)"),
        ("ttft_ceiling_ms", "First token ceiling (ms)"),
        ("gb", "GB"),
        ("intensity_flop_per_byte", "Intensity (FLOP/byte)"),
        ("speedup", "Speed-up"),
        (3, "3"),
    ],
)
def test_columns_in_words(name, words):
    assert column_words(name) == words


def test_cells_for_people():
    assert [cell(v) for v in (None, float("nan"), True, 1234567, 3.14159, 5.0, "x")] == [
        "–",
        "–",
        "yes",
        "1,234,567",
        "3.142",
        "5",
        "x",
    ]


def test_a_thinned_table_keeps_both_ends():
    few, missing = thinned(pd.DataFrame({"x": range(100)}), 10)
    assert (few["x"].iloc[0], few["x"].iloc[-1], len(few) + missing) == (0, 99, 100)


def plan_notes(own=None, **values):
    made = report(scenario({**SERVER, **values}), date=DATE, own=own)
    return "\n".join(next(section for section in made.sections if section.page == "plan").notes)


def test_ticks_and_the_users_evaluation_go_into_the_report():
    scores = Scores({"q8_0": 0.9, "q4_k_m": 0.7}, 0.8)
    told = plan_notes(Own(frozenset({"measure"}), scores), model="llama-3.1-8b", weights="f16", cache_k="f16")
    assert "ticked by hand" in told
    assert told.count("ticked by hand") == 1
    assert "scores 0.7 on your task" in told.replace("\\", "")
    assert "is the fastest that passes your evaluation" in told.replace("\\", "")
    plain_notes = plan_notes()
    assert "ticked by hand" not in plain_notes
    assert "on your task" not in plain_notes


def test_how_it_serves_is_in_the_report():
    made = report(
        scenario({**SERVER, "prefill_chunk_tokens": 256, "residency": "cold", "storage_gbs": 2.0}), date=DATE
    )
    assert any("chunks of 256" in line for line in made.assumptions)
    assert "cold start" in made.line
