"""A first visit: three steps, ready cases with what each comes to, and terms explained where they stand."""

from __future__ import annotations

import pytest

from pages.ui import state
from pages.ui.field_list import FIELDS
from slmopt.specs.library import library
from slmopt.theory.evaluation import evaluate
from slmopt.words import guide
from slmopt.words.glossary import help_for
from tests.pages.app import go, open_page, opened, said

FINDINGS = {
    "laptop-card": "Reading weights limits decode; first token may miss its target ◐",
    "phone": "Reading weights limits decode; the first token cannot be told –",
    "coding": "Reading weights limits decode; first token out of reach ✕",
    "document": "Reading weights limits decode; targets met ✓",
    "server": "Reading the cache limits decode; targets met ✓",
    "pi": "Reading weights limits decode; first token may miss its target ◐",
    "article": "Reading the cache limits decode; first token may miss its target ◐",
}


@pytest.mark.parametrize(("ident", "line"), FINDINGS.items())
def test_a_case_in_one_line(ident: str, line: str):
    asked = library().cases[ident].scenario
    house = {name: value for name, value in state.HOUSE_TARGETS.items() if getattr(asked, name) is None}
    assert guide.finding(evaluate(asked.change(**house))).replace("\u00a0", " ") == line


def test_what_does_not_fit_is_the_finding():
    asked = library().cases["article"].scenario
    assert guide.finding(evaluate(asked.change(batch=200))) == "Only 31 of 200 sequences fit ✕"
    assert guide.finding(evaluate(asked.change(capacity_gb=8.0))) == "It does not fit ✕"


def test_every_case_has_a_line_and_one_click_takes_it():
    assert set(FINDINGS) == set(library().cases)
    app = open_page("overview_page")
    cards = app.button_group(key="_slmopt_case").options
    assert any("Chat on a phone" in card and "cannot be told" in card for card in map(str, cards))
    assert all(step.name in said(app) for step in guide.STEPS)
    app.button_group(key="_slmopt_case").set_value("phone").run()
    assert "Snapdragon" in said(app)
    go(app, "memory_page")
    assert guide.STEPS[0].text not in said(app)


def test_the_panel_explains_its_terms_from_the_glossary():
    app = opened(open_page("overview_page"), "speculation", "engine")
    told = {box.label: box.help for box in (*app.sidebar.number_input, *app.sidebar.selectbox)}
    for label in (
        "Model",
        "Weights",
        "Cache",
        "Prompt (tokens)",
        "Bandwidth (GB/s)",
        "Acceptance rate (0 to 1)",
    ):
        assert told[label] == help_for(label), label
    assert told["Engine"] == help_for("Engine")
    # What a field says of itself is more than the term.
    assert told["Context (tokens)"] == FIELDS["context"].help
