"""A file of the user's own scores: read with any delimiter, or refused in one sentence that names the line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.readers.score_file import FormatScore, read_scores
from slmopt.specs.base import SpecError


def test_scores_and_shares_are_read():
    found = read_scores(b"\xef\xbb\xbfformat,score,valid\nQ4_K_M,71.5,0.99\nq8_0,73,\n\n")
    assert found == [FormatScore("q4_k_m", 71.5, 0.99), FormatScore("q8_0", 73.0, None)]


def test_semicolons_with_decimal_commas_are_read():
    assert read_scores(b"Score;Format\r\n71,5;q4_k_m\r\n") == [FormatScore("q4_k_m", 71.5)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks a column"),
        (b"format,score\n", "no score"),
        (b"name,score\nq4_k_m,1\n", "lacks a column"),
        (b"format,score\nq4_k_m,good\n", "score = 'good' in line 2"),
        (b"format,score\nq4_k_m,nan\n", "should be a number"),
        (b"format,score,valid\nq4_k_m,1,2\n", "share from 0 to 1"),
        (b"format,score\nno-such-format,1\n", "no-such-format"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"format,score\nq4_k_m\0,1\n", "not a text file"),
        (b"x" * 1_000_001, "at most 1,000,000 bytes"),
    ],
)
def test_what_is_no_file_of_scores_is_refused(content, words):
    with pytest.raises(SpecError, match=words):
        read_scores(content)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    said = "."
    try:
        read_scores(content)
    except SpecError as error:
        said = str(error)
    assert said.endswith(".")
