"""The Roofline's figures: valid for Plotly, drawn from the results' own numbers, words apart."""

import numpy as np
import pytest

from slmopt.figures import intensity, roofline, theme
from slmopt.figures.named import Named
from slmopt.figures.placing import apart, round_above, stop_above, stop_below, width
from slmopt.theory.evaluation import evaluate
from slmopt.theory.roofline_points import (
    MeasuredPoint,
    intensity_limit,
    roofline_view,
    round_number,
    telling_contexts,
)
from tests.figures.roof_cases import CASES, GROUPED, SERVER, covered, drawn_well, traces, words


def shown(case):
    return [Named("", roofline_view(evaluate(case)))]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


@pytest.mark.parametrize("draw", [roofline.roof, intensity.intensities])
def test_every_case_draws_with_its_words_apart(case, draw):
    assert drawn_well(draw(shown(case)))


def test_the_articles_points():
    view = roofline_view(evaluate(SERVER))
    assert view.now.intensity == pytest.approx(4.7104, rel=1e-4)
    assert view.now.flops_per_s == pytest.approx(9.4208e12, rel=1e-4)
    assert view.limit == pytest.approx(6.6757, rel=1e-4)
    assert view.prefill.intensity == pytest.approx(2000)
    assert view.largest is not None
    assert view.largest.batch == 31
    assert [curve.context for curve in view.curves] == [0, 134, 1000, 4000]


def test_every_ceiling_lies_on_the_roof(case):
    view = roofline_view(evaluate(case))
    for spot in (view.first, view.now, view.largest):
        if spot is not None:
            peak = view.roof.peak if view.known else np.inf
            assert spot.flops_per_s == pytest.approx(min(spot.intensity * view.roof.bandwidth, peak))
    rates = np.minimum(view.path.intensity * view.roof.bandwidth, view.roof.peak if view.known else np.inf)
    assert view.path.flops_per_s == pytest.approx(rates)


def test_no_estimate_is_above_the_roof(case):
    view = roofline_view(evaluate(case))
    band = view.decode_band
    peak = view.roof.peak if view.known else np.inf
    assert (
        band.slow <= band.typical <= band.fast <= min(band.intensity * view.roof.bandwidth, peak) * (1 + 1e-9)
    )


def test_the_path_grows_with_whole_batches(case):
    path = roofline_view(evaluate(case)).path
    assert np.all(path.batch == np.rint(path.batch))
    assert np.all(np.diff(path.batch) > 0)
    assert np.all(np.diff(path.intensity) >= 0)


def test_no_batch_passes_the_limit():
    setup = evaluate(SERVER).setup
    view = roofline_view(evaluate(SERVER.change(batch=10_000_000)))
    assert view.now.intensity < intensity_limit(setup, 4000.0)
    assert view.now.intensity == pytest.approx(intensity_limit(setup, 4000.0), rel=1e-3)
    assert intensity_limit(setup, 0.0) == np.inf


def test_the_roof_has_the_sides_colours_and_the_ridge_its_place():
    figure = roofline.roof(shown(SERVER))
    (slope,), (flat,) = traces(figure, "bandwidth roof"), traces(figure, "compute roof")
    assert slope.line.color == theme.MEMORY
    assert flat.line.color == theme.COMPUTE
    assert (slope.x[1], slope.y[1]) == pytest.approx((200, 400))
    assert list(flat.y) == pytest.approx([400, 400])
    ridge = next(shape for shape in figure.layout.shapes if shape.name == "ridge")
    assert ridge.x0 == ridge.x1 == pytest.approx(200)


def test_the_present_point_is_larger_and_where_the_pass_is():
    figure = roofline.roof(shown(SERVER))
    now = figure.data[-1]
    assert (now.x[0], now.y[0]) == pytest.approx((4.7104, 9.4208), rel=1e-4)
    assert now.marker.size == theme.NOW_SIZE
    assert "16 sequences at 4,000 tokens, ceiling" in now.hovertext[0]


def test_the_words_name_now_what_fits_and_the_limit():
    texts = [text for text, *_ in words(roofline.roof(shown(SERVER)))]
    assert "<b>16 now</b>, 31 fit" in texts
    assert "no batch<br>passes 6.68" in texts
    assert "ridge 200" in texts
    assert "▲ memory decides" in texts
    assert "400 TFLOPS" in texts


def test_a_crossing_stands_at_the_ridge():
    texts = [text for text, *_ in words(roofline.roof(shown(GROUPED)))]
    assert "ridge 200<br>at 247 sequences" in texts
    assert not any("passes" in text for text in texts)


def test_without_a_rate_there_is_a_slope_and_a_note_alone():
    figure = roofline.roof(shown(CASES["no rate known"]))
    assert traces(figure, "bandwidth roof")
    assert not traces(figure, "compute roof")
    assert "ridge" not in {shape.name for shape in figure.layout.shapes}
    texts = [text for text, *_ in words(figure)]
    assert any("No matrix rate is known" in text for text in texts)
    assert not any("Prefill" in text for text in texts)
    assert any("GPU FP32" in text for text in texts), "the chip's other rates bracket it"


def test_two_units_have_two_flat_parts():
    device = {
        "bandwidth_gbs": 80,
        "units": [
            {"name": "cpu", "peak_tflops": {"any": 0.5}},
            {"name": "npu", "peak_tflops": {"any": 40}},
        ],
    }
    case = SERVER.change(device=device, decode_unit="cpu", prefill_unit="npu", batch=1)
    figure = theme.checked(roofline.roof(shown(case)))
    assert len(traces(figure, "compute roof")) == 2
    texts = [text for text, *_ in words(figure)]
    assert {"CPU, 500 GFLOPS", "NPU, 40 TFLOPS"} <= set(texts)
    assert not covered(figure)


def test_measured_rows_are_diamonds_even_above_the_roof():
    rows = [MeasuredPoint(4.0, 5e12, "tg 128"), MeasuredPoint(1.0, 9e15, "too fast")]
    figure = roofline.roof(shown(SERVER), rows)
    theme.checked(figure)
    (found,) = traces(figure, "measured")
    assert found.marker.symbol == "diamond"
    assert list(found.y) == pytest.approx([5, 9000])
    assert "tg 128, measured" in found.hovertext[0]
    assert 10 ** figure.layout.yaxis.range[1] > 9000


def test_several_scenarios_have_a_hue_and_a_letter_each():
    views = [
        Named(letter, roofline_view(evaluate(case)))
        for letter, case in zip("ABC", CASES.values(), strict=False)
    ]
    for draw in (roofline.roof, intensity.intensities):
        figure = theme.checked(draw(views))
        hues = {trace.line.color for trace in figure.data if trace.mode == "lines"}
        assert {theme.SCENARIOS[0], theme.SCENARIOS[1], theme.SCENARIOS[2]} <= hues
        texts = " ".join(note.text for note in figure.layout.annotations)
        assert all(letter in texts for letter in "ABC")
        assert theme.MEMORY not in hues


def test_ranges_stay_while_the_batch_moves():
    ranges = {tuple(roofline.roof(shown(SERVER.change(batch=b))).layout.xaxis.range) for b in (1, 4, 16, 31)}
    assert len(ranges) == 1


def test_intensity_s_lines_are_the_contexts():
    figure = intensity.intensities(shown(SERVER))
    assert [trace.name for trace in figure.data[:4]] == [
        "no cache read",
        "134 tokens",
        "1,000 tokens",
        "4,000 tokens",
    ]
    assert figure.data[3].line.width == 3
    assert figure.data[0].y[0] == pytest.approx(1.0)


def test_curves_that_run_together_are_drawn_once():
    view = roofline_view(evaluate(CASES["state"]))
    assert [curve.context for curve in view.curves] == [0, 2200]


def test_contexts_are_told_apart_whatever_the_limit(case):
    contexts = telling_contexts(evaluate(case))
    assert len(contexts) <= 4
    assert evaluate(case).setup.scenario.depth in contexts
    assert list(contexts) == sorted(set(contexts))


@pytest.mark.parametrize(("value", "rounded"), [(1, 1), (3, 2), (4, 5), (700, 500), (720, 1000), (0.2, 1)])
def test_round_numbers(value, rounded):
    assert round_number(value) == rounded


@pytest.mark.parametrize(
    ("value", "below", "above", "end"),
    [(1, 1, 1, 1), (3, 2, 5, 3), (0.07, 0.05, 0.1, 0.08), (124, 100, 200, 125)],
)
def test_stops(value, below, above, end):
    assert stop_below(value) == pytest.approx(below)
    assert stop_above(value) == pytest.approx(above)
    assert round_above(value) == pytest.approx(end)


def test_labels_move_as_little_as_keeps_them_apart():
    assert apart([0, 100]) == [0, 0]
    assert apart([10, 10], gap=10) == [-5, 5]
    moved = [value + shift for value, shift in zip([0, 1, 2, 50], apart([0, 1, 2, 50], gap=10), strict=True)]
    assert moved == pytest.approx([-9, 1, 11, 50])


def test_tags_have_no_width():
    assert width("<b>16 now</b>") == width("16 now")
    assert width("no batch<br>passes 6.68") == width("passes 6.68")
