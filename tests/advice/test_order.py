"""Stacks: every bar is the same pass, in either order."""

import pytest

from slmopt.advice.gains import comparable, headline
from slmopt.advice.order import stack, target, value
from slmopt.advice.plan import WORTH, in_view, leading, plan
from slmopt.figures import theme
from slmopt.reports.pictures.plan import waterfall
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import order as words

SERVER = scenario(
    {
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "prompt": 2000,
        "output": 200,
        "batch": 16,
        "context": 4000,
        "target_tpot_ms": 40.0,
    }
)
MEASURES = ("ttft", "tpot", "reply", "throughput", "capacity")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("order", ["articles", "best"])
def test_bars_join_and_end_where_the_pass_ends(measure, order):
    found = stack(SERVER, measure, order)
    assert found.steps
    assert found.start == pytest.approx(value(headline(evaluate(SERVER)), measure, 200))
    places = [found.start, *(step.after for step in found.steps)]
    assert [step.before for step in found.steps] == pytest.approx(places[:-1])
    assert found.end == pytest.approx(
        value(headline(evaluate(comparable(SERVER, found.scenario))), measure, 200)
    )
    product = 1.0
    for step in found.steps:
        product *= step.factor
    assert found.factor == pytest.approx(product)
    assert len({step.technique.id for step in found.steps}) == len(found.steps)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_best_order_starts_with_the_largest_gain_and_only_gains(measure):
    found = stack(SERVER, measure, "best")
    assert all(step.factor >= WORTH for step in found.steps)
    articles = stack(SERVER, measure, "articles")
    steps = [step.technique.step for step in articles.steps]
    assert steps == sorted(steps)
    known = [step for step in articles.steps if step.before == articles.start and not step.change.assumed]
    assert all(found.steps[0].factor >= step.factor for step in known)
    rests = [bool(step.change.assumed) for step in found.steps]
    assert rests == sorted(rests), "what rests on assumed figures comes last"


def test_where_nothing_fits_room_comes_first():
    found = stack(
        scenario({"model": "llama-3.1-70b", "device": "rtx-4090", "weights": "f16"}), "capacity", "best"
    )
    assert found.start == 0
    assert "where none did" in words.title(found) or not found.steps


@pytest.mark.parametrize("measure", MEASURES)
def test_the_waterfall_draws(measure):
    for case in (
        SERVER,
        scenario({"model": "llama-3.2-1b", "device": "snapdragon-8-elite"}),
        scenario({"output": 1}),
    ):
        for order in ("articles", "best"):
            picture = waterfall(stack(case, measure, order), target(case, measure))
            theme.checked(picture.figure)
            assert len(picture.heading.split()) <= 14
            assert picture.numbers is not None
            assert len(picture.numbers()) >= 1


def test_the_short_list_leaves_out_other_strengths_other_devices_and_what_changes_nothing():
    trials = plan(SERVER)
    shown = in_view(trials)
    assert set(shown) < set(leading(trials)) < set(trials)
    assert all(t.gain is not None for t in shown)
    assert not any(t.technique.rung_of or t.technique.pile == "hardware" for t in shown)
