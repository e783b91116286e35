"""Figures are drawn once for what they show, and never mistaken for those of another reader or scenario."""

from __future__ import annotations

import json

import pytest

from pages.ui import ahead, drawn, simulated_runs
from pages.ui.chart import payload
from slmopt.figures.named import Named
from slmopt.serving.asked import Choices, asked
from slmopt.serving.simulate import Cancelled
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import units

SCENARIO = Scenario(batch=3, prompt=700)


def test_what_was_foreseen_is_not_drawn_again_for_the_page():
    held = SCENARIO.model_dump(exclude_defaults=True, exclude={"batch"})
    (foreseen,) = ahead.foreseen("batching", held, "batch", [3])
    before = drawn._figures.cache_info().misses
    figures = drawn.figures("batching", SCENARIO)
    assert drawn._figures.cache_info().misses == before
    assert {one.key: payload(one).decode() for one in figures} == foreseen
    assert payload(figures[0]) is payload(figures[0])


def test_readers_of_other_units_are_shown_their_own():
    usual = drawn.figures("memory", SCENARIO)
    with units.using(units.Units("GiB", "tokens/s")):
        other = drawn.figures("memory", SCENARIO)
        assert drawn.figures("memory", SCENARIO) is other
    assert drawn.figures("memory", SCENARIO) is usual
    assert "GiB" in payload(other[0]).decode()
    assert "GiB" not in payload(usual[0]).decode()


@pytest.mark.parametrize("page", drawn.PAGES)
def test_a_picture_is_what_its_page_draws_anew(page):
    kept = drawn.figures(page, SCENARIO)
    new = drawn.PAGES[page](SCENARIO, ())
    assert [json.loads(payload(one)) for one in kept] == [json.loads(payload(one)) for one in new]


def test_pinned_scenarios_make_other_figures():
    alone = drawn.figures("overview", SCENARIO)
    beside = drawn.figures("overview", SCENARIO, [Named("A", Scenario(batch=16))])
    assert payload(alone[0]) != payload(beside[0])
    assert drawn.figures("overview", SCENARIO, (Named("A", Scenario(batch=16)),)) is beside


def test_a_scenario_without_figures_says_so_each_time():
    wrong = Scenario(model="no such model")
    for _ in range(2):
        with pytest.raises(SpecError, match="no such model"):
            drawn.figures("overview", wrong)


def test_runs_that_were_foreseen_are_played_once():
    question = asked(evaluate(SCENARIO), Choices(requests=20))
    first = simulated_runs.shown(SCENARIO, question, None, lambda _, __: lambda _: True)
    again = simulated_runs.shown(SCENARIO, question, None, lambda _, __: lambda _: False)
    assert again is first
    with units.using(units.Units("GiB")):
        other = simulated_runs.shown(SCENARIO, question, None, lambda _, __: lambda _: False)
    assert all(one is two for one, two in zip(first.found, other.found, strict=True))
    assert ["GiB" in payload(one.pictures[-1]).decode() for one in (other, first)] == [True, False]


def test_a_run_that_was_ended_is_not_kept():
    question = asked(evaluate(SCENARIO), Choices(requests=301))
    with pytest.raises(Cancelled):
        simulated_runs.shown(SCENARIO, question, None, lambda _, __: lambda _: False)
    whole = simulated_runs.shown(SCENARIO, question, None, lambda _, __: lambda _: True)
    assert [one.run.served.size for one in whole.found] == [301, 301]
