"""Method: every formula, term and kind of error is on the page, with the package's numbers."""

from __future__ import annotations

from slmopt.words import differences, method
from slmopt.words.glossary import TERMS
from tests.pages.app import open_page, said


def test_the_page_says_all_of_it():
    app = open_page("method_page")
    shown = said(app)
    labels = [one.label for one in app.expander]
    assert labels[: len(method.FORMULAS)] == [f"**{one.name}** `{one.equation}`" for one in method.FORMULAS]
    for text in (*method.LIMITS, *method.accuracy()):
        assert text in shown
    for told, numbers in differences.lines():
        assert told.why in shown
        assert numbers.replace("\u00a0", " ") in shown
    assert all(term.meaning in shown for term in TERMS)
    assert "arxiv.org" in shown


def test_tiles_without_help_of_their_own_explain_their_term():
    shown = open_page("memory_page")
    tiles = "".join(element.proto.body for element in shown.get("html"))
    assert 'data-help="Tokens of a sequence that lie in the cache' in tiles
