"""Figures of the scenario's pages: valid for Plotly, and drawn from the results' own numbers."""

import numpy as np
import pytest

from slmopt.advice.drafting import drafting
from slmopt.advice.plan import plan
from slmopt.advice.what_ifs import engine_holdings, memory_what_ifs
from slmopt.figures import first_token, memory, offload, overview, speculation, theme
from slmopt.figures import plan as plan_figures
from slmopt.figures.named import Named
from slmopt.reports import memory_tables as tables
from slmopt.specs.scenario import Scenario, scenario
from slmopt.theory.context_curve import context_curve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import hit_curve, prompt_curve
from slmopt.theory.interference import chunked, whole
from slmopt.theory.offload_curve import layers_curve
from slmopt.theory.speculation_curves import speculation_curves
from slmopt.words.places import layers_alt, layers_title

TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
SERVER = scenario(
    {
        **TARGETS,
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "batch": 16,
        "context": 4000,
    }
)
CASES = {
    "server": SERVER,
    "default": scenario(TARGETS),
    "phone": scenario({**TARGETS, "model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000}),
    "too large": scenario({**TARGETS, "model": "deepseek-v3", "device": "rtx-4090"}),
    "no memory known": scenario(
        {**TARGETS, "device": "article-50gbs", "model": "article-1b", "weights": "16-bit"}
    ),
    "one token": scenario({**TARGETS, "output": 1, "prompt": 1}),
    "over capacity": scenario({**TARGETS, "batch": 500}),
    "several devices": scenario(
        {**TARGETS, "model": "llama-3.3-70b", "devices": 4, "link_gbs": 1, "batch": 64}
    ),
    "layers on the host": scenario({**TARGETS, "model": "llama-3.3-70b", "gpu_layers": 40}),
}


@pytest.fixture(params=CASES, ids=str)
def case(request) -> Scenario:
    return CASES[request.param]


def test_the_overview_draws(case):
    shown = [Named("", evaluate(case))]
    for draw in (overview.passes, overview.target_shares, overview.memory_boxes):
        theme.checked(draw(shown))


def test_several_scenarios_overlay():
    shown = [Named("A", evaluate(SERVER)), Named("B", evaluate(SERVER.change(batch=4)))]
    figure = theme.checked(overview.passes(shown))
    assert list(figure.layout.yaxis.ticktext) == ["▲ A memory", "▼ A compute", "▲ B memory", "▼ B compute"]
    theme.checked(overview.memory_boxes(shown))
    theme.checked(overview.target_shares(shown))


def test_a_pass_s_bars_are_its_times():
    time = evaluate(SERVER).ceiling.decode
    figure = overview.passes([Named("", evaluate(SERVER))])
    first = [trace for trace in figure.data if trace.type == "bar" and trace.xaxis == "x"]
    assert [float(trace.x[0]) for trace in first] == pytest.approx([7.0, 16.777216, 0.56])
    assert float(np.asarray(time.memory_s)) * 1e3 == pytest.approx(23.777216)


def test_memory_s_boxes_are_the_sequences_now_and_those_that_still_fit():
    figure = overview.memory_boxes([Named("", evaluate(SERVER))])
    assert [len(trace.x) for trace in figure.data] == [1, 16, 15]


def test_the_memory_page_draws(case):
    rows = [Named(name or "now", evaluate(one).capacity) for name, one in memory_what_ifs(case)]
    theme.checked(memory.what_ifs(rows))
    setup = evaluate(case).setup
    curve = context_curve(setup)
    theme.checked(memory.against_context(curve.context, [Named("as now", curve.sequences)], curve.now))
    theme.checked(memory.holdings([Named(*row) for row in engine_holdings(case)]))


def test_the_first_token_page_draws(case):
    evaluation = evaluate(case)
    setup, ceiling = evaluation.setup, evaluation.ceiling
    now = (float(case.prompt), float(ceiling.latency.ttft_s))
    theme.checked(first_token.against_prompt([Named("", prompt_curve(setup))], now, 0.5))
    theme.checked(first_token.against_hit(hit_curve(setup), (0.0, now[1])))
    rows = [
        ("Whole", whole(setup, ceiling.decode_roof, ceiling.prefill_roof)),
        ("Chunks of 1", chunked(setup, ceiling.prefill_roof, 1)),
    ]
    theme.checked(first_token.gaps(rows, float(ceiling.decode.seconds)))


def test_the_speculation_page_draws(case):
    evaluation = evaluate(drafting(case).scenario)
    found = evaluation.typical.speculation
    assert found is not None
    curves = speculation_curves(evaluation.setup, evaluation.typical.decode_roof, 64.0)
    theme.checked(speculation.by_acceptance(curves, found))
    theme.checked(speculation.by_length(curves, found))
    theme.checked(speculation.by_batch(curves, evaluation.setup.scenario.batch, found.speedup, 31.0))


def test_the_plan_draws_a_cell_for_each_technique_and_metric(case):
    trials = plan(case)
    figure = theme.checked(plan_figures.matrix(trials))
    # Alone, nobody waits while another prompt comes in.
    columns = 5 if case.batch > 1 else 4
    assert len(figure.layout.shapes) == columns * len(trials)


def test_chunks_cost_the_newcomer_and_spare_the_others():
    evaluation = evaluate(SERVER)
    setup, ceiling = evaluation.setup, evaluation.ceiling
    at_once = whole(setup, ceiling.decode_roof, ceiling.prefill_roof)
    small, large = (chunked(setup, ceiling.prefill_roof, size) for size in (256, 1024))
    assert small.gap_s < large.gap_s < at_once.gap_s
    assert at_once.ttft_s <= large.ttft_s * (1 + 1e-9)
    with pytest.raises(ValueError, match="at least 1"):
        chunked(setup, ceiling.prefill_roof, 0)


@pytest.mark.parametrize(
    "changes", [{}, {"gpu_layers": 30}, {"gpu_layers": 99, "batch": 400}, {"capacity_gb": 0.1}]
)
def test_layers_on_the_card_draw(changes):
    curve = layers_curve(scenario({**TARGETS, "model": "llama-3.3-70b", "device": "rtx-4090", **changes}))
    drawn = offload.against_layers(curve)
    theme.checked(drawn)
    ceiling = next(trace for trace in drawn.data if "at most" in (trace["hovertemplate"] or ""))
    assert np.array_equal(ceiling["y"], curve.ceiling)
    assert np.array_equal(ceiling["x"], np.arange(82))
    assert len(drawn.layout.shapes) == (curve.fit is not None)
    assert len(tables.against_layers(curve)) == 82
    assert layers_title(curve).count("**") in {0, 2}
    assert "0 to 81" in layers_alt(curve)
