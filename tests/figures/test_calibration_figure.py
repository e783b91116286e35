"""The figure of a fit: valid for Plotly, its marks the fit's own numbers, its words those of the errors."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.figures import calibration as figures
from slmopt.figures import theme
from slmopt.figures.named import Named
from slmopt.measured.calibration import calibrate
from slmopt.measured.calibration_rows import passes, usable
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.reports import calibration_tables as tables
from slmopt.specs.calibration import Calibration
from slmopt.words import calibration as words
from slmopt.words.calibrated import estimate_words, measured_range
from tests.measured.sweeps import DEVICE, sweep

MADE = Calibration(overlap="none", bandwidth_gbs=30, matrix_tflops=0.15, fixed_ms=1.5)


@pytest.fixture(scope="module")
def found():
    content = sweep(MADE, contexts=[0, 512], batches=[1, 4, 16], noise=0.04)
    used = usable(passes(read_benchmark("sweep.csv", content).rows, Facts(device=DEVICE)))
    return used, calibrate(used.rows)


def test_marks_are_measured_against_predicted_times(found):
    _, fit = found
    figure = theme.checked(figures.measured_against_predicted([Named("", fit)]))
    marks = next(trace for trace in figure.data if trace.name == "measured")
    assert np.allclose(marks.x, 1e3 * fit.predicted_s)
    assert np.allclose(marks.y, 1e3 * fit.points.seconds)
    assert "predicted" in marks.hovertext[0]


def test_two_fits_overlay(found):
    _, fit = found
    figure = theme.checked(figures.measured_against_predicted([Named("A", fit), Named("<b>B", fit)]))
    assert [trace.name for trace in figure.data][-2:] == ["A", "<b>B"]
    assert "<b>&lt;b&gt;B: " in figure.data[-1].hovertext[0]


def test_words_are_the_fit_s_numbers(found):
    used, fit = found
    said = words.summary(fit)
    assert f"**{100 * fit.left_out:.0f}\u00a0%** on rows left out" in said
    assert words.title(fit).endswith(f"**{100 * fit.left_out:.0f}\u00a0%**")
    names = [row["Term"] for row in words.rate_rows(fit)]
    assert names[0] == "Bandwidth"
    assert words.notes(fit, used)[0] == "Times join so: reading and multiplying follow one another."
    assert (
        measured_range(fit.calibration) == "batch 1 to 16, context 0 to 512 tokens, weights 0.143 to 2.47 GB"
    )
    assert estimate_words(MADE) == "30\u00a0GB/s, 150\u00a0GFLOPS, 1.50\u00a0ms fixed a pass"


def test_the_table_has_a_row_a_point(found):
    _, fit = found
    table = tables.points(fit)
    assert len(table) == len(fit.points)
    assert np.allclose(table["predicted_ms"] / table["measured_ms"] - 1, table["error_percent"] / 100)
