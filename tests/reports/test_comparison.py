"""Scenarios side by side: values are the package's, and factors are ratios of estimates."""

from __future__ import annotations

import pytest

from slmopt.figures.named import Named
from slmopt.reports import comparison
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import numbers as n
from slmopt.words.comparison import differences

FIRST = Scenario()


def _rows(*others: Scenario) -> list[comparison.Row]:
    named = [Named(letter, evaluate(one)) for letter, one in zip("ABCD", (FIRST, *others), strict=False)]
    return comparison.rows(named)


def test_the_first_row_has_bounds_and_estimates_and_no_factors():
    (row,) = _rows()
    evaluation = evaluate(FIRST)
    latency = evaluation.typical.latency
    assert [cell.against for cell in row.cells] == [
        f"≈{n.NBSP}{n.seconds(float(latency.ttft_s), 2)}",
        f"≈{n.NBSP}{n.seconds(float(latency.tpot_s), 2)}",
        f"≈{n.NBSP}{n.tokens_per_s(evaluation.typical.device_tokens_per_s, 2)}",
        "",
    ]
    assert row.cells[1].text == f"≥{n.NBSP}{n.seconds(float(evaluation.ceiling.latency.tpot_s))}"
    assert row.cells[3].text == n.count(evaluation.capacity.max_sequences)


def test_half_the_bandwidth_doubles_the_time_per_token():
    slow = FIRST.change(bandwidth_gbs=504.0)
    _, row = _rows(slow)
    gain = float(evaluate(slow).typical.latency.tpot_s) / float(evaluate(FIRST).typical.latency.tpot_s)
    shown = n.seconds(float(evaluate(slow).typical.latency.tpot_s), 2)
    assert row.cells[1].against == f"≈{n.NBSP}{shown}, {n.factor(gain)} slower"
    assert gain == pytest.approx(2.0, rel=0.1)
    assert row.cells[3].against == "the same"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "the same"),
        ({"batch": 16}, "16 sequences"),
        ({"weights": "q8_0"}, "Q8_0 weights"),
        ({"bandwidth_gbs": 2000.0}, f"bandwidth 2,000{n.NBSP}GB/s"),
        ({"engine": "vllm"}, "engine vllm"),
        ({"context": 4000, "prompt": 1000}, f"prompt 1,000{n.NBSP}tokens, context 4,000{n.NBSP}tokens"),
    ],
)
def test_differences_are_said_in_plain_words(changed, words):
    assert differences(FIRST, FIRST.change(**changed)) == words


def test_going_back_to_the_preset_is_said():
    assert differences(FIRST.change(bandwidth_gbs=5.0), FIRST) == "bandwidth as the preset"
