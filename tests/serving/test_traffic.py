"""Arrivals and lengths keep their means, a seed keeps its requests, and a trace is read whatever its columns' order."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.serving.trace import read_trace
from slmopt.serving.traffic import Lengths, Traffic, traffic
from slmopt.specs.base import SpecError


@pytest.mark.parametrize("kind", ["fixed", "uniform", "lognormal", "geometric"])
def test_lengths_keep_their_mean(kind):
    drawn = Lengths(kind=kind, mean=300, spread=0.5).draw(100_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(300, rel=0.02)
    assert drawn.min() >= 1
    assert Lengths(kind=kind, mean=300, most=200).draw(100, np.random.default_rng(0)).max() <= 200


@pytest.mark.parametrize("kind", ["poisson", "even", "bursts"])
def test_arrivals_keep_their_rate(kind):
    drawn = Traffic(kind=kind, rate=7.0, requests=50_000, burst=8).draw(3)
    assert drawn.rate == pytest.approx(7.0, rel=0.05)
    assert (np.diff(drawn.arrival) >= 0).all()


def test_poisson_waits_scatter_as_they_should():
    waits = np.diff(Traffic(rate=2.0, requests=50_000).draw(1).arrival)
    assert waits.std() == pytest.approx(waits.mean(), rel=0.03)


def test_bursts_come_together():
    drawn = Traffic(kind="bursts", rate=2.0, requests=10, burst=4).draw()
    assert len(set(drawn.arrival.tolist())) == 3


def test_a_seed_keeps_its_requests_and_each_part_its_stream():
    one, two = (Traffic(requests=100, output=Lengths(kind="geometric", mean=9)).draw(5) for _ in range(2))
    np.testing.assert_array_equal(one.output, two.output)
    faster = Traffic(requests=100, rate=50.0, output=Lengths(kind="geometric", mean=9)).draw(5)
    np.testing.assert_array_equal(one.output, faster.output)
    assert (
        one.output != Traffic(requests=100, output=Lengths(kind="geometric", mean=9)).draw(6).output
    ).any()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rate": 0}, "rate = 0 requests/s"),
        ({"requests": 0}, "between 1 and"),
        ({"output": {"kind": "uniform", "spread": 2}}, "between 0 and 1"),
        ({"speed": 1}, "not a known field"),
    ],
)
def test_what_cannot_be_is_one_sentence(values, words):
    with pytest.raises(SpecError, match=words):
        traffic(values)


def test_a_trace_is_read_in_any_order_of_columns():
    text = b"output_tokens,note,arrival_s,prompt_tokens\n5,a,0.5,100\n6,b,0.25,200\n7,c,1,300\n"
    found = read_trace(text)
    assert found.arrival.tolist() == [0.25, 0.5, 1.0]
    assert found.prompt.tolist() == [200, 100, 300]
    assert found.output.tolist() == [6, 5, 7]
    assert found.sorted_in == 1


def test_a_trace_without_a_header_and_one_with_dates():
    assert read_trace(b"0,10,5\n1.5,20,6\n").prompt.tolist() == [10, 20]
    azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.680590,374,44\n2023-11-16 18:15:50.9,396,109\n"
    found = read_trace(azure)
    assert found.arrival.tolist() == pytest.approx([0.0, 4.21941], abs=1e-5)
    assert found.output.tolist() == [44, 109]


def test_rows_that_no_server_takes_stay_in_for_it_to_count():
    found = read_trace(b"arrival_s,prompt_tokens,output_tokens\n-1,10,5\n0,x,5\n1,5,\n2,1e30,-4\n")
    assert found.arrival[0] == -1
    assert found.prompt.tolist()[:3] == [10, 0, 5]
    assert found.output.tolist() == [5, 5, 0, 0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no CSV table"),
        (b"a,b\n1,2\n", "lacks arrival_s, prompt_tokens, output_tokens"),
        (b"arrival_s,prompt_tokens,output_tokens\n", "has no requests"),
        (b"\xff\xfe\x00\x01\x02", "trace"),
    ],
)
def test_a_file_that_is_no_trace_is_one_sentence(content, words):
    with pytest.raises(SpecError, match=words):
        read_trace(content)
