"""Figures of the frontier and of a run: Plotly takes them, words keep apart, marks are capped, nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.figures import frontier as frontiers
from slmopt.figures import holding, theme
from slmopt.figures import simulation as figures
from slmopt.figures.named import Named
from slmopt.serving.frontier import frontier
from slmopt.serving.holding import moving, sessions, sharing, stranded
from slmopt.serving.outcome import outcome
from slmopt.serving.policy import Policy
from slmopt.serving.pools import stall
from slmopt.serving.series import MOST_STAYS, series, shares, timeline
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import frontier as words
from slmopt.words import holding as held_words
from slmopt.words import simulation_page
from tests.figures.roof_cases import CASES
from tests.serving.cases import ARTICLE


@pytest.fixture(scope="module")
def runs():
    traffic = Traffic(
        rate=4, requests=900, prompt=Lengths(mean=300), output=Lengths(kind="geometric", mean=80)
    )
    kinds = ("continuous", "static", "chunked")
    return [
        outcome(simulate(ARTICLE, traffic.draw(), Policy(admission=kind, slots=12, token_budget=400)))
        for kind in kinds
    ]


@pytest.mark.parametrize("case", CASES)
def test_the_frontier_of_every_case_is_a_figure_with_a_finding(case):
    view = frontier(evaluate(CASES[case]))
    theme.checked(frontiers.frontier([Named("", view)]))
    if view.priced or view.powered:
        theme.checked(frontiers.cost(view))
    assert len(words.title(view).split()) <= 14
    assert words.alt(view).startswith(words.title(view))
    assert words.cost_title(view)
    assert len(words.arithmetic(view)) >= 2


def test_the_frontier_of_several_names_each():
    several = [
        Named(name, frontier(evaluate(CASES[case]))) for name, case in (("A", "article"), ("B", "default"))
    ]
    drawn = theme.checked(frontiers.frontier(several)).to_dict()
    texts = [note["text"] for note in drawn["layout"]["annotations"]]
    assert "<b>A</b> 31" in texts
    assert len({trace["line"]["color"] for trace in drawn["data"] if trace.get("mode") == "lines"}) == 2


def test_a_timeline_holds_every_stay_once_and_no_more_than_can_be_drawn(runs):
    for found in runs:
        stays = timeline(found.run)
        assert len(stays.request) <= MOST_STAYS
        theme.checked(drawn := figures.timeline(stays, stays.until))
        names = {trace.name: trace for trace in drawn.data}
        assert len(names["prefill"].x) <= MOST_STAYS
        ends = np.asarray(names["decode"].base) + np.asarray(names["decode"].x)
        assert (ends <= drawn.layout.xaxis.range[1] * (1 + 1e-9)).all()


def test_only_a_static_batch_shows_idle_slots(runs):
    drawn = [figures.timeline(timeline(one.run), 60.0) for one in runs]
    kept = [{trace.name: len(trace.x) for trace in one.data}["kept, idle"] for one in drawn]
    assert kept[0] == kept[2] == 0
    assert kept[1] > 50
    assert "keep" in simulation_page.timeline_title(runs[1])


def test_distributions_end_at_the_worst_and_rise(runs):
    times, share = shares(runs[0].gap)
    assert times[-1] == runs[0].gap.worst
    assert share[-1] == 1
    assert (np.diff(times) >= 0).all()
    assert times[np.searchsorted(share, 0.5)] == pytest.approx(runs[0].gap.percentile(50), rel=0.02)
    named = [Named(str(at), one.ttft) for at, one in enumerate(runs)]
    theme.checked(figures.waits(named, "First token", "Requests (%)", 0.5))


def test_over_time_starts_and_ends_empty_handed(runs):
    for found in runs:
        over = series(found.run)
        assert over.held[-1] == 0
        assert over.waiting[-1] == 0
        assert over.bytes.max() <= found.run.room.size
        assert over.held.max() <= found.run.policy.slots
    named = [Named(str(at), series(one.run)) for at, one in enumerate(runs)]
    theme.checked(figures.queue(named))
    theme.checked(figures.memory(named, runs[0].run.room.size))


@pytest.mark.parametrize("case", CASES)
def test_memory_and_stall_of_every_case_are_figures_with_findings(case):
    s = CASES[case]
    setup = resolve(s)
    rows = stranded(s, Lengths(kind="uniform", mean=s.prompt + s.output, spread=0.8))
    shared, moved, talk = sharing(s), moving(setup, 32e9), sessions(setup, 10, 100, s.output, 30.0)
    stalled = stall(setup)
    for drawn in (
        holding.stranded(rows),
        holding.sharing(shared),
        holding.moving(moved),
        holding.sessions(talk),
        holding.stall(stalled),
    ):
        theme.checked(drawn)
    for title in (
        held_words.stranded_title(rows, s.block_tokens),
        held_words.sharing_title(shared),
        held_words.moving_title(moved),
        held_words.sessions_title(talk),
        held_words.stall_title(stalled),
    ):
        assert len(title.split()) <= 15, title
        assert "nan" not in title
    assert held_words.sessions_words(talk).endswith("sooner.")
