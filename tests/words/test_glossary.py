"""The glossary: a sentence each, found by the longest term that a label holds."""

from __future__ import annotations

import importlib

import pytest

from slmopt.advice.differences import differences
from slmopt.words import method
from slmopt.words.differences import TOLD, lines
from slmopt.words.glossary import TERMS, help_for


def test_every_term_is_one_sentence_and_stands_once():
    names = [term.name for term in TERMS]
    assert len(set(names)) == len(names)
    assert names == sorted(names, key=str.lower)
    for term in TERMS:
        assert term.meaning.endswith(".")
        assert ". " not in term.meaning


@pytest.mark.parametrize(
    ("label", "begins"),
    [
        ("First token (ms)", "From the request"),
        ("Time per token (ms)", "The mean"),
        ("Context that fits (tokens)", "Tokens of a sequence"),
        ("Break-even acceptance", "The acceptance rate below"),
        ("Ridge (FLOP/byte)", "Matrix rate over"),
        ("Sequences that fit", "One request"),
        ("Bridge", ""),
    ],
)
def test_help_on_a_label(label, begins):
    found = help_for(label)
    assert found.startswith(begins)
    assert bool(found) is bool(begins)


def test_every_kind_of_error_has_words_and_two_numbers():
    found = differences()
    assert [one.id for one in found] == list(TOLD)
    for one in found:
        assert one.wrong > 0
        assert one.right > 0
        assert abs(one.wrong / one.right - 1) > 0.03
    assert len(lines()) == len(TOLD)


@pytest.mark.parametrize("formula", method.FORMULAS, ids=lambda one: one.name)
def test_every_formula_names_a_module_that_there_is(formula):
    assert importlib.import_module(formula.module).__doc__
    assert formula.source
    assert formula.fails


def test_hand_arithmetic():
    found = {one.id: one for one in differences()}
    assert found["windows"].wrong == 62 * 2 * 16 * 128 * 2 * 131_072 / 2**30
    assert found["head_width"].right == 36 * 2 * 8 * 128 * 2
    assert found["head_width"].wrong == 36 * 2 * 8 * (2560 // 32) * 2
    assert found["latent"].right == pytest.approx(61 * (512 + 64) * 2 * 32_768 / 1e9)
    assert found["latent"].wrong == pytest.approx(61 * 128 * (192 + 128) * 2 * 32_768 / 1e9)
    assert found["added_token"].right == pytest.approx(1 + 0.8 + 0.64 + 0.512 + 0.4096)
    assert found["two_memories"].right == pytest.approx(1 / (2.25 / 450 + 2.25 / 100))
    assert found["drafting_costs"].right == pytest.approx(found["drafting_costs"].wrong / 1.4, rel=1e-6)
