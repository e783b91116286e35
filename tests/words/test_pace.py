"""A user's decode speed as time per token or as tokens/s: the same seconds, with bounds, ranges and percentiles turned round."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation

from slmopt.advice.checklist import checklist
from slmopt.advice.diagnosis import diagnose
from slmopt.advice.goals import goals
from slmopt.advice.order import stack
from slmopt.advice.quality import Scores, formats_compared
from slmopt.advice.search import Wanted, meeting, search
from slmopt.advice.solve import solve
from slmopt.advice.targets import targets
from slmopt.figures.named import Named
from slmopt.reports import comparison, tables
from slmopt.reports.columns import column_in_units, column_words, in_units
from slmopt.reports.pictures import overview as overview_pictures
from slmopt.reports.pictures import plan as plan_pictures
from slmopt.reports.pictures import quality as quality_pictures
from slmopt.reports.pictures import search as search_pictures
from slmopt.reports.report import report
from slmopt.reports.report_files import FORMS
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import checklist as checklist_words
from slmopt.words import comparison as comparison_words
from slmopt.words import diagnosis as diagnosis_words
from slmopt.words import goals as goal_words
from slmopt.words import guide, order, overview, pace, units
from slmopt.words import numbers as n
from slmopt.words import quality as quality_words
from slmopt.words import solve as solve_words
from slmopt.words.glossary import help_for
from slmopt.words.report import headline
from slmopt.words.units import Units

SPEED = Units(speed="tokens/s")
CHAT = scenario({"target_ttft_ms": 500.0, "target_tpot_ms": 40.0})
LOADED = CHAT.change(batch=16, request_rate=1.0)


def both(say: Callable[[], object]) -> tuple[str, str]:
    """What is said as a time and as a speed."""

    def plain() -> str:
        return str(say()).replace("\\xa0", " ").replace(n.NBSP, " ")

    usual = plain()
    with units.using(SPEED):
        other = plain()
    assert plain() == usual
    return usual, other


@pytest.mark.parametrize(
    ("say", "time", "speed"),
    [
        (lambda: pace.shown(0.00485), "4.85 ms", "206 tokens/s"),
        (lambda: pace.shown(0.04, 2), "40 ms", "25 tokens/s"),
        (lambda: pace.each(2.0, 2), "2.0 s a token", "0.50 tokens/s a user"),
        (lambda: pace.shown(math.nan), "–", "–"),
        (lambda: pace.shown(None), "–", "–"),
        (lambda: pace.shown(math.inf), "never", "never"),
        (lambda: pace.shown(0.0), "0 ms", "no limit"),
        (lambda: pace.span(0.005, 0.02), "≈ 5.0 to 20", "≈ 50 to 200"),
        (lambda: pace.changed(1.5), "time per token 1.50× shorter", "each user 1.50× faster"),
        (lambda: pace.changed(0.5), "time per token 2.00× longer", "each user 2.00× slower"),
        (pace.ceiling_sign, "≥", "≤"),
        (pace.label, "Time per token (ms)", "Each user (tokens/s)"),
        (pace.percentile, "p95", "p5"),
    ],
)
def test_by_hand(say: Callable[[], str], time: str, speed: str):
    assert both(say) == (time, speed)


@given(st.floats(1e-6, 1e3), st.floats(1.0, 1e3))
def test_a_range_is_written_from_the_smaller_number(fast: float, times: float):
    slow = fast * times
    for read_in in (units.USUAL, SPEED):
        with units.using(read_in):
            at = pace.scale(fast)
            low, high = sorted((at.of(fast), at.of(slow)))
            assert pace.span(fast, slow) == n.span(n.figures(low, 2), n.figures(high, 2))


def test_axes_take_arrays_and_survive_zero():
    assert pace.scale(1e-3).of(np.array([0.004])) == pytest.approx(4.0)
    with units.using(SPEED):
        assert list(pace.scale(math.nan).of(np.array([0.004, 0.0]))) == [250.0, math.inf]
        assert pace.scale(1.0).of(0.0) == math.inf


def test_units_are_chosen_apart():
    assert units.chosen("GiB", "tokens/s") == Units("GiB", "tokens/s")
    assert {units.chosen(None, other) for other in ("ms", "s", None, 3, "<b>")} == {units.USUAL}
    assert units.USUAL.unusual == {}
    assert SPEED.unusual == {"speed": "tokens/s"}
    assert Units("GiB", "tokens/s").unusual == {"sizes": "GiB", "speed": "tokens/s"}


def test_the_tile_turns_its_bound_round():
    e = evaluate(CHAT)
    seconds, band = float(e.ceiling.latency.tpot_s), targets(e)[1]
    assert band.fast is not None
    assert band.slow is not None
    usual, other = (text for text in both(lambda: overview.tiles(e)[2][:3]))
    assert f"'≥ {n.figures(1e3 * seconds)}'" in usual
    assert f"'✓ target 40, ≈ {n.figures(1e3 * band.fast, 2)} to {n.figures(1e3 * band.slow, 2)}'" in usual
    assert "'Each user (tokens/s)'" in other
    assert f"'≤ {n.figures(1 / seconds)}'" in other
    assert f"'✓ target 25, ≈ {n.figures(1 / band.slow, 2)} to {n.figures(1 / band.fast, 2)}'" in other


def test_a_reply_of_one_token_has_neither():
    e = evaluate(CHAT.change(output=1))
    usual, other = both(lambda: overview.tiles(e)[2][:3])
    assert usual == "('Time per token (ms)', '–', 'a reply of one token has none')"
    assert other == "('Each user (tokens/s)', '–', 'a reply of one token has none')"
    with units.using(SPEED):
        assert headline(e)[1].ceiling == n.UNKNOWN
        found = solve(CHAT.change(output=1), "bandwidth_gbs", "tpot_ms", 20.0)
        assert solve_words.sentence(found).endswith("a reply of one token has no speed.")


def test_without_targets_nothing_is_aimed_at():
    e = evaluate(scenario({}))
    with units.using(SPEED):
        assert overview.tiles(e)[2][2] == ""
        assert overview.targets_title(e) == "No target can be judged here"
        assert goals(e) == ()


def test_the_device_s_tile_says_no_second_speed_of_a_user():
    e = evaluate(CHAT.change(batch=4))
    usual, other = both(lambda: overview.tiles(e)[0][2])
    assert "a user" in usual
    assert "a user" not in other


TIMED = ("Time per token", "time per token", " ms a token")


@pytest.mark.parametrize("held", [CHAT, LOADED, CHAT.change(target_tpot_ms=5.0, batch=8)])
def test_sentences_name_one_of_both(held):
    e = evaluate(held)

    def say() -> list[str]:
        found = goals(e)
        return [
            *diagnosis_words.sentences(e, diagnose(held, None)),
            diagnosis_words.table_markdown(diagnose(held, None)),
            *map(goal_words.sentence, found),
            *(goal_words.ways_sentence(goal, ()) for goal in found),
            overview.targets_title(e),
            guide.finding(e),
            order.title(stack(held, "tpot", "best")),
            *order.lines(stack(held, "tpot", "best")),
            solve_words.sentence(solve(held, "bandwidth_gbs", "tpot_ms", 20.0)),
            *(fact.what for fact in headline(e)),
        ]

    usual, other = both(say)
    assert "Each user's" not in usual
    assert "each user's" not in usual
    assert "Time per token" in usual
    assert not any(word in other for word in TIMED)
    assert "Each user's speed" in other
    assert "a speed of at least 50 tokens/s a user" in other


def test_targets_under_load_are_the_fifth_percentile_of_speeds():
    goal = next(goal for goal in goals(evaluate(LOADED)) if goal.name == "tpot")
    usual, other = both(lambda: goal_words.sentence(goal))
    assert "**Time per token at p95** within 40 ms" in usual
    assert "**Each user's speed at p5** at least 25 tokens/s" in other
    assert goal.typical is not None
    assert f"about {n.figures(1 / goal.typical, 2)} tokens/s" in other


def test_a_target_that_may_be_missed_is_fallen_short_of():
    e = evaluate(CHAT.change(target_ttft_ms=None, target_tpot_ms=10.0))
    usual, other = both(lambda: overview.targets_title(e))
    assert usual == "Time per token may reach 17 ms, target 10 ms ◐"
    assert other == "Each user's speed may fall to 58 tokens/s, target 100 tokens/s ◐"


def test_scenarios_side_by_side():
    shown = [Named("A", evaluate(CHAT)), Named("B", evaluate(CHAT.change(weights="q8_0")))]

    def say() -> str:
        cells = [cell.text + " " + cell.against for row in comparison.rows(shown) for cell in row.cells]
        return f"{comparison.heads()} {cells}"

    usual, other = both(say)
    assert "'Time per token'" in usual
    assert "≥ 4.85 ms" in usual
    assert '"Each user\'s speed"' in other
    assert "≤ 206 tokens/s" in other
    assert "slower" in other
    told = both(lambda: comparison_words.differences(CHAT, CHAT.change(target_tpot_ms=20.0)))
    assert told == ("time per token target 20 ms", "each user's speed target 50 tokens/s")


def test_figures_turn_their_axes_and_words():
    e = evaluate(CHAT)

    def titles(of: Callable[[], object]) -> tuple[str, str]:
        return both(lambda: of().figure.layout.xaxis.title.text)  # type: ignore[attr-defined]

    assert titles(lambda: overview_pictures.pictures(e, [])[1]) == (
        "Share of the target (%)",
        "Time, as a share of the target's (%)",
    )
    assert titles(lambda: plan_pictures.waterfall(stack(CHAT, "tpot", "best"), 0.04)) == (
        "Time per token, estimate (ms)",
        "Each user, estimate (tokens/s)",
    )
    scores = Scores({"q4_k_m": 0.7}, 0.6, {}, None)
    assert titles(lambda: quality_pictures.speed_against_quality(formats_compared(CHAT, scores), scores)) == (
        "Time per token, estimate (ms)",
        "Each user, estimate (tokens/s)",
    )
    usual, other = both(lambda: [bar.hovertext for bar in overview_pictures.pictures(e, [])[1].figure.data])
    assert "at least 4.85 ms" in usual
    assert "at most 206 tokens/s" in other


def test_the_waterfall_of_speeds_rises_by_the_same_factors():
    found = stack(CHAT, "tpot", "best")
    with units.using(SPEED):
        bars = plan_pictures.waterfall(found, 0.04).figure.data
    lengths = [float(bar.base[0] + bar.x[0]) for bar in bars]
    assert lengths[0] == pytest.approx(1 / found.start)
    assert lengths[-1] == pytest.approx(1 / found.end)
    assert lengths == sorted(lengths)


def test_the_search_is_drawn_as_speeds():
    rows = meeting(search(CHAT), Wanted.of(CHAT), Scores({}, None, {}, None))

    def say() -> str:
        picture = search_pictures.front(rows, "power_w", 0.04)
        assert picture is not None
        notes = [note.text for note in picture.figure.layout.annotations]
        table = in_units(picture.numbers())
        return f"{picture.title} {picture.alt} {notes} {list(table.columns)} {picture.figure.data[0].hovertext[0]}"

    usual, other = both(say)
    assert "unbeaten on time per token and power" in usual
    assert "'time per token (ms)'" in usual
    assert "unbeaten on each user's speed and power" in other
    assert "'each user (tokens/s)'" in other
    assert "Each user, estimate (tokens/s)" in other
    assert not any(word in other for word in TIMED)


def test_tables_turn_round_what_they_hold_of_it():
    table = pd.DataFrame({"tpot_ms": [40.0, 0.0, np.nan], "run_tpot_s": [0.04, 1.0, 2.0], "ttft_ms": 1.0})
    table["time per token (ms)"] = [20.0, 10.0, 5.0]
    assert in_units(table) is table
    with units.using(SPEED):
        found = in_units(table)
        assert column_in_units("tpot_ms") == "each_user_tokens_per_s"
        assert column_words("each_user_tokens_per_s") == "Each user (tokens/s)"
        assert column_words("tpot_gain") == "Each user's speed gain"
        judged = in_units(tables.targets(evaluate(CHAT))).set_index("name")
    assert column_words("tpot_gain") == "Time per token gain"
    assert list(found.columns) == [
        "each_user_tokens_per_s",
        "run_each_user_tokens_per_s",
        "ttft_ms",
        "each user (tokens/s)",
    ]
    assert found["each_user_tokens_per_s"].tolist()[:1] == [25.0]
    assert found["each_user_tokens_per_s"].isna().tolist() == [False, True, True]
    assert found["each user (tokens/s)"].tolist() == [50.0, 100.0, 200.0]
    assert judged.loc["tpot", "unit"] == "tokens/s"
    assert judged.loc["tpot", "target"] == 25.0
    assert judged.loc["tpot", "slow"] < judged.loc["tpot", "fast"]
    assert judged.loc["ttft", "unit"] == "ms"
    assert judged.loc["ttft", "target"] == 500.0


@pytest.mark.parametrize("form", [".html", ".pptx", ".md"])
@pytest.mark.parametrize("read_in", [units.USUAL, SPEED])
def test_reports_follow(form: str, read_in: Units):
    with units.using(read_in):
        text = _text(form, FORMS[form].write(report(CHAT, date=datetime(2026, 1, 1, tzinfo=UTC))))
    text = text.replace(n.NBSP, " ").replace("&#x27;", "'").replace("’", "'")
    said, unsaid = ("Time per token", "Each user")
    if read_in is SPEED:
        said, unsaid = unsaid, said
        assert "at most 206 tokens/s" in text
    else:
        assert "at least 4.85 ms" in text
    assert said in text
    assert unsaid not in text


def _text(form: str, file: bytes) -> str:
    if form != ".pptx":
        return file.decode()
    shapes = [shape for slide in Presentation(BytesIO(file)).slides for shape in slide.shapes]
    said = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
    cells = [
        cell.text for shape in shapes if shape.has_table for row in shape.table.rows for cell in row.cells
    ]
    return "\n".join([*said, *cells])


def test_formats_and_the_checklist():
    (row, *_) = formats_compared(CHAT, Scores({}, None, {}, None))
    usual, other = both(lambda: quality_words.row(row))
    assert f"about {n.figures(1e3 * row.tpot_s, 2)} ms a token" in usual
    assert f"about {n.figures(1 / row.tpot_s, 2)} tokens/s a user" in other
    item = next(one for one in checklist(CHAT, None, None) if one.id == "targets")
    told = both(lambda: checklist_words.text(item))
    assert told == (
        "Two targets are written down: 500 ms to the first token and 40 ms a token, at p95.",
        "Two targets are written down: 500 ms to the first token at p95 and 25 tokens/s a user at p5.",
    )


def test_both_names_have_help():
    assert help_for("Time per token (ms)").startswith("The mean")
    assert help_for("Each user (tokens/s)").startswith("Tokens a second of one reply")
    assert help_for("Each user's speed") == help_for("Each user (tokens/s)")
