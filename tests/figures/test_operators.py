"""The figure and the table of operators, drawn from the results' own numbers."""

import pytest

from slmopt.figures import theme
from slmopt.figures.operators import MOST_ROWS, shares
from slmopt.reports.batch_tables import operators as table
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.operators import operators_view
from slmopt.words.operators import operators_alt, operators_title

MODELS = ["llama-3.1-8b", "gemma-3-27b", "deepseek-v3", "mamba-2.8b", "article-7b", "qwen3-next-80b-a3b"]


@pytest.mark.parametrize("name", MODELS)
def test_operators_draw(name):
    view = operators_view(evaluate(scenario({"model": name, "device": "article-80gb"})))
    for phase, found in (("decode", view.decode), ("prefill", view.prefill)):
        drawn = shares(found)
        theme.checked(drawn)
        lengths = [trace["x"][0] for trace in drawn.data]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] == 100 * max(one.share for one in found)
        assert len(lengths) <= MOST_ROWS
        assert len(operators_title(found, phase).split()) <= 12
        assert operators_alt(found, phase).startswith(operators_title(found, phase).replace("**", ""))
    rows = table(view)
    assert rows.groupby("pass")["share_of_time"].sum().tolist() == pytest.approx([1, 1])


def test_the_finding_sums_layer_groups():
    view = operators_view(evaluate(scenario({"model": "deepseek-v3", "device": "article-80gb"})))
    assert operators_title(view.decode, "decode").startswith("Experts take **")
