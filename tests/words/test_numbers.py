"""How numbers read: significant figures, prefixes from 1 to 999, no exponents, unknown and never."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.words import numbers as n


def plain(text: str) -> str:
    """With ordinary spaces, for reading."""
    assert " " not in text, "a number and its unit stay on one line"
    return text.replace(n.NBSP, " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (23.8456, "23.8"),
        (0.5649, "0.565"),
        (28_571.43, "28,600"),
        (999.4, "999"),
        (999.6, "1,000"),
        (9.995, "9.99"),  # binary: just below the half
        (9.996, "10.0"),
        (0.0999999, "0.100"),
        (0.01, "0.0100"),
        (142.857, "143"),
        (7.0, "7.00"),
        (1e21, "1,000,000,000,000,000,000,000"),
        (-23.8456, "-23.8"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "never"),
    ],
)
def test_three_significant_figures(value, text):
    assert n.figures(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0099, "< 0.01"), (1e-12, "< 0.01"), (-0.0099, "> -0.01")])
def test_never_0_point_00(value, text):
    assert plain(n.figures(value)) == text


@pytest.mark.parametrize(("value", "text"), [(23.8, "24"), (440.4, "440"), (0.56, "0.56"), (99.6, "100")])
def test_two_figures_for_estimates(value, text):
    assert n.figures(value, 2) == text


@given(st.floats(1e-2, 1e25), st.integers(2, 4))
def test_figures_keep_their_digits_have_no_exponent_and_are_close(value, digits):
    text = n.figures(value, digits)
    assert re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", text)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.51 * 10 ** (1 - digits))
    shown = text.replace(",", "").replace(".", "").lstrip("0")
    assert len(shown) >= digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.4e9, "999 GB"),
        (999.6e9, "1.00 TB"),
        (14e9, "14.0 GB"),
        (562_500_000, "562 MB"),
        (131_072, "131 kB"),
        (1, "1.00 B"),
        (0, "0 B"),
        (1e24, "1,000,000 EB"),
        (None, "–"),
        (math.inf, "never"),
    ],
)
def test_prefixes_switch_at_what_is_shown(value, text):
    assert plain(n.bytes_(value)) == text


def test_prefixes_switch_at_what_two_figures_show():
    assert plain(n.bytes_(994e9, 2)) == "990 GB"
    assert plain(n.bytes_(996e9, 2)) == "1.0 TB"
    assert plain(n.seconds(0.994, 2)) == "990 ms"
    assert plain(n.seconds(0.996, 2)) == "1.0 s"


@given(st.floats(1, 9e20), st.integers(2, 3))
def test_a_prefix_keeps_the_number_between_1_and_999(value, digits):
    number = n.bytes_(value, digits).partition(n.NBSP)[0]
    assert 1 <= float(number) <= 999


def test_units_of_rates():
    assert plain(n.flops_per_s(400e12)) == "400 TFLOPS"
    assert plain(n.flops(14e9)) == "14.0 GFLOP"
    assert plain(n.bytes_per_s(2e12)) == "2.00 TB/s"
    assert plain(n.trimmed(n.bytes_per_s(2e12))) == "2 TB/s"
    assert plain(n.trimmed(n.bytes_per_s(68.3e9))) == "68.3 GB/s"
    assert n.trimmed("200") == "200"
    # Commas and no prefix, so that 28,600 and 4,000 stay comparable at a glance.
    assert plain(n.tokens_per_s(28_571.43)) == "28,600 tokens/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.007, "7.00 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (8.0, "8.00 s"),
        (120, "120 s"),
        (121, "2.02 min"),
        (7200, "120 min"),
        (7300, "2.03 h"),
        (0, "0 ms"),
        (1e-6, "< 0.01 ms"),
        (None, "–"),
        (math.inf, "never"),
    ],
)
def test_times(value, text):
    assert plain(n.seconds(value)) == text


def test_milliseconds_carry_no_unit():
    assert n.milliseconds(0.0400) == "40.0"
    assert n.milliseconds(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.384, "38 %"),
        (1.0, "100 %"),
        (0, "0 %"),
        (0.004, "< 1 %"),
        (0.006, "1 %"),
        (12.3, "1,230 %"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_whole_percents(value, text):
    assert plain(n.percent(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (31.98, "31"),
        (28_571, "28,571"),
        (0.9, "0"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "never"),
    ],
)
def test_what_fits_is_never_rounded_up(value, text):
    assert n.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.5556, "3.56×"),
        (1.0, "1.00×"),
        (0.9996, "1.00×"),
        (0.996, "0.996×, slower"),
        (0.8, "0.800×, slower"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_gains_are_factors_and_below_one_slower(value, text):
    assert n.factor(value) == text


def test_the_kind_is_written():
    assert n.bounded("673 tokens/s", "ceiling", "most") == "at most 673 tokens/s"
    assert n.bounded("133 ms", "ceiling", "least") == "at least 133 ms"
    assert n.bounded("440", "estimate", "most") == "about 440"
    assert n.bounded("38.2", "measured", "most") == "38.2"
    signs = [n.sign(kind, side) for kind in ("ceiling", "estimate", "measured") for side in ("most", "least")]
    assert signs == ["≤", "≥", "≈", "≈", "", ""]


def test_a_band_is_two_numbers_or_one():
    assert plain(n.span("19", "43")) == "≈ 19 to 43"
    assert plain(n.span("19", "19")) == "≈ 19"
