"""The Plan's sections: what they say is the package's, and what is asked is kept."""

import pytest

from slmopt.advice.checklist import checklist
from slmopt.advice.diagnosis import diagnose
from slmopt.advice.goals import goals
from slmopt.advice.order import stack
from slmopt.advice.plan import plan
from slmopt.advice.solve import solve
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import checklist as checklist_words
from slmopt.words import diagnosis, order
from slmopt.words import goals as goal_words
from slmopt.words import plan as plan_words
from slmopt.words import solve as solve_words
from tests.pages.app import answer, go, open_page, said
from tests.pages.test_scenario_pages import SERVER, SERVER_ADDRESS, plain

CHAT = scenario({"target_ttft_ms": 500.0, "target_tpot_ms": 40.0})


def opened(section: str, **address: str):
    """The Plan with one of its closed sections opened."""
    app = open_page("plan_page", **address)
    app.session_state[section] = True
    return app.run()


def test_it_says_what_holds_each_metric_back_and_judges_the_targets():
    app = open_page("plan_page", **SERVER_ADDRESS)
    assert not app.exception
    assert answer(app) == plain(plan_words.answer(plan(SERVER)))
    shown = plain(said(app))
    for line in diagnosis.sentences(evaluate(SERVER), diagnose(SERVER)):
        assert plain(line) in shown
    for goal in goals(evaluate(SERVER)):
        assert plain(goal_words.sentence(goal)) in shown


def test_the_stack_follows_measure_and_order():
    app = open_page("plan_page", **SERVER_ADDRESS)
    for measure, way in (("reply", "best"), ("capacity", "articles")):
        app.button_group(key="plan_measure").set_value(measure).run()
        app.button_group(key="plan_order").set_value(way).run()
        shown = plain(said(app))
        for line in order.lines(stack(SERVER, measure, way)):
            assert plain(line) in shown


def test_closed_sections_cost_nothing():
    shown = said(open_page("plan_page"))
    assert "combinations meet" not in shown
    assert "Compared" not in shown


def test_solving_is_the_packages():
    app = opened("slm_solve")
    assert not app.exception
    found = solve(CHAT, "bandwidth_gbs", "tpot_ms", 20.0)
    assert plain(solve_words.sentence(found)) in plain(said(app))
    app.selectbox(key="solve_for").set_value("device").run()
    assert "devices of those that ship" in plain(said(app))
    app.number_input(key="solve_value").set_value(0.0).run()
    assert "give one above 0" in said(app)


def test_the_search_opens_and_names_what_meets_the_targets():
    app = opened("slm_search")
    assert not app.exception
    assert "combinations meet the targets" in plain(said(app))
    app.button_group(key="search_against").set_value("price_per_million").run()
    assert "No price is known" in said(app)


def test_no_format_is_called_best_before_an_evaluation():
    app = opened("slm_quality")
    assert not app.exception
    assert "No format is best yet: nobody entered an evaluation." in said(app)
    app.number_input(key="score_of_q4_k_m").set_value(0.8)
    app.number_input(key="score_of_q8_0").set_value(0.9)
    app.number_input(key="quality_floor").set_value(0.7)
    app.run()
    assert not app.exception
    assert "is the fastest that passes your evaluation" in plain(said(app)).replace("\\", "")
    go(app, "memory_page")
    go(app, "plan_page")
    app.session_state["slm_quality"] = True
    app.run()
    assert app.number_input(key="score_of_q8_0").value == 0.9, "scores outlive the page"


def test_scores_come_from_a_file_and_a_wrong_one_loses_nothing():
    app = opened("slm_quality")
    uploader = app.file_uploader(key="quality_file")
    uploader.upload("scores.csv", b"format,score,valid\nq4_k_m,0.8,0.99\nq8_0,0.9,1\n").run()
    assert not app.exception
    assert app.number_input(key="score_of_q8_0").value == 0.9
    assert app.number_input(key="valid_of_q4_k_m").value == 0.99
    app.file_uploader(key="quality_file").upload("scores.csv", b"format,score\nq4_k_m,good\n").run()
    assert not app.exception
    assert "it should be a number" in said(app).replace("\\", "")
    assert app.number_input(key="score_of_q8_0").value == 0.9


def test_ticks_are_kept_and_counted():
    app = opened("slm_checklist")
    items = checklist(CHAT)
    shown = plain(said(app)).replace("\\", "")
    done = [item for item in items if item.state == "done"]
    for item in done:
        assert plain(checklist_words.text(item)) in shown
    open_ = [item for item in items if item.state != "done"]
    assert {box.key for box in app.checkbox} == {f"check_{item.id}" for item in open_}
    app.checkbox(key="check_measure").check().run()
    assert not app.exception
    assert f"{len(done) + 1} of {len(items)} done" in said(app), "the section stays open"
    go(app, "memory_page")
    go(app, "plan_page")
    app.session_state["slm_checklist"] = True
    app.run()
    assert app.checkbox(key="check_measure").value is True


@pytest.mark.parametrize(
    "address",
    [
        {"device": "Qualcomm Snapdragon 8 Elite", "model": "Llama-3.2-1B", "prompt": "1000"},
        {"model": "DeepSeek-V3", "device": "NVIDIA GeForce RTX 4090"},
        {"model": "Mamba-2.8B", "weights": "FP16", "output": "1"},
        {"request_rate": "50", "target_tokens_per_s": "100", "target_memory_gb": "10", "target_users": "5"},
    ],
    ids=["phone", "too-large", "state", "saturated"],
)
@pytest.mark.parametrize("section", ["slm_solve", "slm_quality", "slm_search", "slm_checklist"])
def test_no_scenario_breaks_a_section(section, address):
    assert not opened(section, **address).exception
