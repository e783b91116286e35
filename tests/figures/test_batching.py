"""Figures of Batching: valid for Plotly, drawn from the results' own numbers, words apart."""

import numpy as np
import pytest

from slmopt.figures import batch_sides, batching, theme
from slmopt.figures.named import Named
from slmopt.reports import batch_tables
from slmopt.theory.batch_points import batching_view
from slmopt.theory.batching import cache_outgrows_weights, largest_batch_within, weights_alone
from slmopt.theory.evaluation import evaluate
from slmopt.theory.latency import decode_step
from tests.figures.roof_cases import CASES, GROUPED, SERVER, drawn_well, traces, words

FIGURES = [batching.throughput, batch_sides.users, batch_sides.steps]


def shown(case):
    return [Named("", batching_view(evaluate(case)))]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


@pytest.mark.parametrize("draw", FIGURES)
def test_every_case_draws_with_its_words_apart(case, draw):
    assert drawn_well(draw(shown(case)))


def test_the_articles_marks():
    view = batching_view(evaluate(SERVER))
    assert view.now.device_tokens_per_s == pytest.approx(672.9, rel=1e-3)
    assert view.now.user_tokens_per_s == pytest.approx(42.06, rel=1e-3)
    assert view.largest is not None
    assert (view.largest.batch, view.largest.device_tokens_per_s) == pytest.approx((31, 784.7), rel=1e-3)
    assert view.crossing is None
    assert view.crossing_weights_only == pytest.approx((200, 28571.4), rel=1e-3)
    assert view.outgrown == 7
    assert view.holds["ceiling"] == 31


def test_the_curves_are_the_passes(case):
    view = batching_view(evaluate(case))
    step = decode_step(evaluate(case).setup, evaluate(case).ceiling.decode_roof, view.wide.batch)
    assert view.wide.device == pytest.approx(view.wide.batch / np.asarray(step.seconds))
    assert view.near.user == pytest.approx(1 / view.near.step_s)
    assert np.all(view.weights_only >= view.wide.device * (1 - 1e-9))
    for level in ("slow", "typical", "fast"):
        assert np.all(view.wide.band[level] <= view.wide.device * (1 + 1e-9))


def test_the_capacity_divides_solid_from_dotted():
    figure = batching.throughput(shown(SERVER))
    (solid,), (dotted,) = (
        traces(figure, "with cache reads"),
        traces(figure, "with cache reads, over capacity"),
    )
    assert solid.x[-1] == dotted.x[0] == 31
    assert solid.line.dash == "solid"
    assert dotted.line.dash == "2px,3px"
    shapes = {shape.name: shape for shape in figure.layout.shapes}
    assert shapes["over region"].x0 == 31
    assert shapes["capacity"].x0 == 31
    assert shapes["limit"].y0 == pytest.approx(953.67, rel=1e-4)
    band = traces(figure, "estimated band")
    assert band[0].x[-1] == 31, "the estimate ends where memory does"


def test_the_words_carry_the_mocks_numbers():
    texts = [text.replace("\u00a0", " ") for text, *_ in words(batching.throughput(shown(SERVER)))]
    assert "<b>16 now</b>, ≤ 673" in texts
    assert "31 fit" in texts
    assert "limit 954" in texts
    assert "200, the crossover by weights alone" in texts
    assert "weights alone" in texts


def test_a_crossover_is_marked_where_the_curve_turns():
    view = batching_view(evaluate(GROUPED))
    assert view.crossing is not None
    assert view.crossing.batch == pytest.approx(246.2, rel=1e-3)
    step = decode_step(evaluate(GROUPED).setup, evaluate(GROUPED).ceiling.decode_roof, view.crossing.batch)
    assert float(step.memory_s) == pytest.approx(float(step.compute_s))
    figure = batching.throughput(shown(GROUPED))
    assert any("crossover 247" in note.text for note in figure.layout.annotations)
    assert "limit" not in {shape.name for shape in figure.layout.shapes}


def test_what_does_not_fit_is_dotted_and_tinted_throughout():
    figure = batching.throughput(shown(CASES["nothing fits"]))
    assert not traces(figure, "with cache reads")
    assert traces(figure, "with cache reads, over capacity")
    assert not traces(figure, "estimated band")
    assert "over region" in {shape.name for shape in figure.layout.shapes}


def test_unknown_memory_has_no_end():
    figure = batching.throughput(shown(CASES["no memory known"]))
    assert traces(figure, "with cache reads")[0].x[-1] == 1000
    assert not {"over region", "capacity"} & {shape.name for shape in figure.layout.shapes}


def test_the_target_is_a_line_where_it_can_be_seen():
    figure = batch_sides.users(shown(SERVER))
    (target,) = [shape for shape in figure.layout.shapes if shape.name == "target"]
    assert target.y0 == pytest.approx(25)
    far = batch_sides.users(shown(SERVER.change(target_tpot_ms=0.1)))
    assert "target" not in {shape.name for shape in far.layout.shapes}
    assert any("lies above" in text for text, *_ in words(far))


def test_a_step_is_weights_and_cache_stacked():
    view = batching_view(evaluate(SERVER))
    figure = batch_sides.steps(shown(SERVER))
    (weights,), (cache,) = traces(figure, "weights"), traces(figure, "cache")
    assert list(weights.y) == pytest.approx([7.0] * 31)
    assert cache.y[-1] == pytest.approx(39.505856)
    assert not traces(figure, "compute"), "too short to be seen"
    assert view.linear
    assert figure.layout.xaxis.tickvals[-1] == 31


def test_arithmetic_shows_where_it_takes_longer():
    figure = batch_sides.steps(shown(CASES["compute-bound"]))
    assert traces(figure, "compute")[0].line.color == theme.COMPUTE


def test_several_scenarios_have_a_hue_and_a_letter_each():
    pairs = zip("ABC", (SERVER, GROUPED, CASES["experts"]), strict=True)
    views = [Named(letter, batching_view(evaluate(case))) for letter, case in pairs]
    for draw in FIGURES:
        figure = theme.checked(draw(views))
        hues = {trace.line.color for trace in figure.data if trace.mode == "lines"}
        assert hues == set(theme.SCENARIOS[:3])
        assert {"<b>A</b>", "<b>B</b>", "<b>C</b>"} <= {note.text for note in figure.layout.annotations}


def test_ranges_stay_while_the_batch_moves():
    ranges = {
        tuple(batching.throughput(shown(SERVER.change(batch=b))).layout.yaxis.range) for b in (1, 8, 31)
    }
    assert len(ranges) == 1


def test_a_huge_capacity_keeps_its_mark_within_the_axes():
    case = SERVER.change(capacity_gb=10_000_000.0, context=1)
    view = batching_view(evaluate(case))
    assert view.fit is not None
    assert view.fit > view.top
    for draw in FIGURES:
        figure = draw(shown(case))
        last = 10 ** figure.layout.xaxis.range[1]
        assert all(max(np.asarray(trace.x, dtype=float)) <= last * 1.001 for trace in figure.data)


def test_largest_batches_and_outgrown_weights_invert_the_step():
    e = evaluate(SERVER)
    roof = e.ceiling.decode_roof
    most = largest_batch_within(e.setup, roof, 0.040, 1000)
    assert float(decode_step(e.setup, roof, float(most)).seconds) <= 0.040
    assert float(decode_step(e.setup, roof, most + 1.0).seconds) > 0.040
    assert largest_batch_within(e.setup, roof, 0.001, 1000) == 0
    assert largest_batch_within(e.setup, roof, 10.0, 50) == 50
    assert cache_outgrows_weights(e.setup, roof, 1000) == 7
    assert cache_outgrows_weights(evaluate(CASES["no cache"]).setup, roof, 1000) is None


def test_weights_alone_level_off_at_their_crossover():
    e = evaluate(SERVER)
    rates = np.asarray(weights_alone(e.setup, e.ceiling.decode_roof, np.array([100.0, 200.0, 400.0])))
    assert rates == pytest.approx([14285.7, 28571.4, 28571.4], rel=1e-4)


def test_the_tables_are_the_figures_numbers(case):
    view = batching_view(evaluate(case))
    table = batch_tables.throughput(view)
    assert table["ceiling_tokens_per_s"].to_numpy() == pytest.approx(view.wide.device)
    assert batch_tables.users(view)["ceiling_tokens_per_s"].to_numpy() == pytest.approx(view.near.user)
    steps = batch_tables.steps(view)
    longest = np.fmax(steps["weights_ms"] + steps["cache_ms"], steps["compute_ms"])
    assert steps["step_ms"].to_numpy() == pytest.approx(longest.to_numpy())
