"""Drafting in depth on its page: ways, checking, tokenizers, and figures that tools print."""

import pytest

from slmopt.advice.drafting import drafting
from slmopt.advice.drafts import checking, ways
from slmopt.specs.scenario import scenario
from slmopt.words import drafts as words
from tests.pages.app import open_page, said
from tests.pages.test_scenario_pages import plain

TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
DRAFT = {"draft_tokens": "4", "acceptance": "0.6", "draft_cost": "0.1"}


def test_ways_to_draft_are_the_packages():
    app = open_page("speculation_page", **DRAFT, verify_cost="0.3")
    assert not app.exception
    s = scenario({**TARGETS, "draft_tokens": 4, "acceptance": 0.6, "draft_cost": 0.1, "verify_cost": 0.3})
    shown = plain(said(app))
    assert plain(words.ways_markdown(ways(s, 0.3))) in shown
    assert "Your checking" in shown
    assert plain(words.checking_line(checking(s, 0.3), mixture=False, entered=0.3)) in shown


def test_without_figures_the_articles_stand_in():
    shown = plain(said(open_page("speculation_page")))
    assert plain(words.ways_markdown(ways(drafting(scenario(TARGETS)).scenario, None))) in shown


@pytest.mark.parametrize(
    ("draft", "words_in"),
    [("Llama-3.2-1B", "check that they are the same"), ("SmolLM2-135M", "must be mapped")],
)
def test_mismatched_tokenizers_are_named(draft, words_in):
    app = open_page("speculation_page", draft_tokens="4", acceptance="0.6", draft_model=draft)
    assert words_in in plain(said(app))


def test_a_draft_on_another_device_and_a_tree_are_entered_in_the_panel():
    address = {"draft_tokens": "4", "acceptance": "0.6", "draft_model": "Llama-3.2-1B"}
    app = open_page("speculation_page", **address, draft_device="NVIDIA GeForce RTX 4060", draft_width="2")
    assert not app.exception
    assert app.selectbox(key="draft_device").value == "NVIDIA GeForce RTX 4060"
    assert app.number_input(key="draft_width").value == 2


def test_what_a_tool_printed_becomes_an_acceptance():
    app = open_page("speculation_page", **DRAFT)
    app.number_input(key="printed_share").set_value(0.5).run()
    assert "That is an acceptance of" in plain(said(app))
    app.number_input(key="printed_share").set_value(1.5).run()
    assert "it must be 0 to 1" in said(app)
    app.button_group(key="printed_kind").set_value("positions").run()
    app.text_input(key="printed_positions").set_value("0.897/0.662/0.456/0.279/0.25/0.176").run()
    assert "That is an acceptance of" in plain(said(app))
    app.text_input(key="printed_positions").set_value("<b>x</b>").run()
    assert "with commas between them" in said(app)
    app.button_group(key="printed_kind").set_value("tokens").run()
    app.number_input(key="printed_tokens").set_value(9.0).run()
    assert "must lie between 1 and 5" in said(app)
