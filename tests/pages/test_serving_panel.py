"""The panel's group for how the engine serves, and requests played on the Plan."""

from slmopt.advice.goals import goals
from slmopt.serving.played import play
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import overview
from slmopt.words import played as played_words
from tests.pages.app import answer, go, open_page, opened, said, title
from tests.pages.test_scenario_pages import plain

TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
SERVED = {
    "batch": 8,
    "prefill_chunk_tokens": 256,
    "batching": "static",
    "output_spread": 0.5,
    "residency": "cold",
    "storage_gbs": 4.0,
    "attention_kernels": "unfused",
}


def test_the_group_is_closed_and_says_the_usual_way():
    app = open_page("overview_page")
    assert title(app, "serving") == "Serving · continuous, resident"
    group = next(one for one in app.expander if one.label == "Serving")
    assert not group.proto.expanded
    assert not {box.key for box in app.selectbox} & {"batching", "residency"}
    opened(app, "serving")
    assert app.selectbox(key="batching").value == "continuous"
    assert app.number_input(key="output_spread").disabled
    assert app.number_input(key="storage_gbs").disabled


def test_an_address_brings_how_it_serves_and_every_page_says_so():
    app = open_page("overview_page", **{name: str(value) for name, value in SERVED.items()})
    s = scenario({**SERVED, **TARGETS})
    assert app.session_state["_slmopt_valid"] == s
    assert answer(app) == plain(overview.answer(evaluate(s)))
    shown = plain(said(app))
    for words in (
        "prompts in chunks of 256",
        "fixed groups, replies spread by 50",
        "cold start from 4 GB/s",
        "not fused",
    ):
        assert words in shown
    assert "cold start" in title(app, "serving")
    assert not app.number_input(key="storage_gbs").disabled
    for page in (
        "first_token_page",
        "batching_page",
        "memory_page",
        "roofline_page",
        "plan_page",
        "speculation_page",
    ):
        go(app, page)
        assert app.session_state["_slmopt_valid"] == s


def test_fields_change_the_scenario_and_go_back():
    app = opened(open_page("plan_page", batch="8", prompt="4000"), "serving")
    app.selectbox(key="residency").set_value("cold").run()
    app.number_input(key="prefill_chunk_tokens").set_value(512).run()
    held = app.session_state["_slmopt_valid"]
    assert (held.residency, held.prefill_chunk_tokens) == ("cold", 512)
    assert "Keep the model resident" in said(app)
    app.button(key="reset_prefill_chunk_tokens").click().run()
    assert app.session_state["_slmopt_valid"].prefill_chunk_tokens is None


def test_requests_are_played_only_where_a_rate_is_given_and_only_when_asked():
    app = open_page("plan_page")
    assert "plan_play" not in {one.key for one in app.toggle}
    app = open_page("plan_page", request_rate="1", prompt="500", output="50")
    assert "Played" not in said(app)
    app.toggle(key="plan_play").set_value(True).run()
    assert not app.exception
    s = scenario({**TARGETS, "request_rate": 1.0, "prompt": 500, "output": 50})
    found = play(s)
    shown = plain(said(app))
    for line in played_words.lines(found):
        assert plain(line) in shown
    for goal in goals(evaluate(s)):
        assert plain(played_words.verdict(found, goal)) in shown


def test_what_cannot_be_played_says_why():
    app = open_page("plan_page", request_rate="1", device="Qualcomm Snapdragon 8 Elite", model="Llama-3.2-1B")
    app.toggle(key="plan_play").set_value(True).run()
    assert not app.exception
    assert "no matrix rate is known" in said(app)
