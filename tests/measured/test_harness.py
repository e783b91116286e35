"""The measuring harness, timed by a clock that the test turns: no waiting, exact figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import SpecError, bench
from slmopt.measured import harness
from slmopt.measured.harness import percentile


class Clock:
    """Stands still until it is told how much time has passed (seconds)."""

    def __init__(self) -> None:
        self.now = 1000.0

    def perf_counter(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    turned = Clock()
    monkeypatch.setattr(harness, "time", turned)
    return turned


Stream = Callable[[tuple[float, ...]], Iterator[str]]


@pytest.fixture
def stream(clock: Clock) -> Stream:
    """A prompt is the seconds before each of its tokens; a negative one passes after the last token."""

    def tokens(gaps: tuple[float, ...]) -> Iterator[str]:
        for gap in gaps:
            clock.wait(abs(gap))
            if gap >= 0:
                yield "token"

    return tokens


COLD = (9.0, 9.0)


def test_times_to_the_first_token_and_between_tokens(stream):
    found = bench(stream, [(0.5, 0.04, 0.06, 0.02)], warmup=0)
    assert found["ttft_p50_ms"] == pytest.approx(500)
    assert found["tpot_p50_ms"] == pytest.approx(40)
    assert found["tokens_per_s"] == pytest.approx(4 / 0.62)
    assert found["wall_s"] == pytest.approx(0.62)
    assert (found["tokens"], found["requests_timed"]) == (4, 1)


def test_warm_up_prompts_are_run_first_and_not_timed(stream, clock):
    seen = []

    def watched(prompt):
        seen.append(prompt)
        return stream(prompt)

    fast = [(0.1, 0.01)] * 3
    found = bench(watched, [COLD, COLD, *fast])
    assert seen == [COLD, COLD, *fast]
    assert found["requests_timed"] == 3
    assert found["ttft_p95_ms"] == pytest.approx(100)
    assert found["wall_s"] == pytest.approx(0.33)
    assert found["tokens_per_s"] == pytest.approx(6 / 0.33)
    assert clock.now == pytest.approx(1000 + 2 * 18 + 0.33)


def test_two_warm_up_prompts_unless_told_otherwise(stream):
    assert bench(stream, [COLD] * 5)["requests_timed"] == 3
    assert bench(stream, [COLD] * 5, warmup=4)["requests_timed"] == 1


def test_percentiles_of_requests_that_were_really_made(stream):
    prompts = [(seconds / 100, 0.01) for seconds in range(1, 21)]
    found = bench(stream, prompts, warmup=0)
    # The median lies between two requests; p95 is the one at index int(0.95 · 20) = 19, as in the article.
    assert found["ttft_p50_ms"] == pytest.approx(105)
    assert found["ttft_p95_ms"] == pytest.approx(200)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_percentile_is_the_articles(values):
    for fraction in (0.0, 0.5, 0.95, 0.99, 1.0):
        expected = sorted(values)[min(len(values) - 1, int(fraction * len(values)))]
        assert percentile(values, fraction) == expected
    assert percentile(values, 0.0) == min(values)
    assert percentile(values, 1.0) == max(values)
    assert percentile([], 0.95) is None


def test_an_empty_stream_has_no_times_and_is_counted(stream):
    found = bench(stream, [(), (-0.3,), (0.5, 0.1)], warmup=0)
    assert found["empty_streams"] == 2
    assert found["requests_timed"] == 3
    assert found["ttft_p50_ms"] == pytest.approx(500)
    # The wall clock ran while they yielded nothing.
    assert found["tokens_per_s"] == pytest.approx(2 / 0.9)


def test_nothing_but_empty_streams_is_an_answer(stream):
    found = bench(stream, [(), ()], warmup=0)
    times = [found[f"{what}_{p}_ms"] for what in ("ttft", "tpot") for p in ("p50", "p95")]
    assert times == [None] * 4
    assert found["tokens"] == 0
    assert found["tokens_per_s"] is None
    assert bench(stream, [(-1.0,)], warmup=0)["tokens_per_s"] == 0


def test_a_single_token_has_a_first_and_no_gap(stream):
    found = bench(stream, [(0.2,), (0.4,)], warmup=0)
    assert found["single_token_streams"] == 2
    assert found["ttft_p50_ms"] == pytest.approx(300)
    assert found["tpot_p50_ms"] is found["tpot_p95_ms"] is None
    mixed = bench(stream, [(0.2,), (0.4, 0.05)], warmup=0)
    assert mixed["tpot_p50_ms"] == pytest.approx(50)


def test_time_after_the_last_token_counts_for_the_request_and_not_for_its_gaps(stream):
    found = bench(stream, [(0.5, 0.1, -2.0)], warmup=0)
    assert found["tpot_p50_ms"] == pytest.approx(100)
    row = found.requests.iloc[0]
    assert row["e2e_ms"] == pytest.approx(2600)


def test_one_row_for_each_timed_request(stream):
    found = bench(stream, [COLD, (0.5, 0.1), (), (0.3,)], warmup=1)
    table = found.requests
    assert isinstance(table, pd.DataFrame)
    assert table["request"].tolist() == [1, 2, 3]
    assert table["tokens"].tolist() == [2, 0, 1]
    assert table["ttft_ms"].tolist() == pytest.approx([500, float("nan"), 300], nan_ok=True)
    assert table["tpot_ms"].tolist() == pytest.approx([100, float("nan"), float("nan")], nan_ok=True)
    assert statistics.median(table["ttft_ms"].dropna()) == found["ttft_p50_ms"]


def test_the_result_is_a_mapping_with_the_articles_keys(stream):
    found = bench(stream, [(0.5, 0.1)], warmup=0)
    assert isinstance(found, Mapping)
    assert {"ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms", "tokens_per_s"} <= set(found)
    assert len(found) == len(dict(found))
    assert "ttft_p50_ms" in repr(found)
    with pytest.raises(KeyError):
        found["ttft"]


def test_peak_memory_is_this_processs_or_unknown(stream, monkeypatch):
    assert bench(stream, [(0.5, 0.1)], warmup=0)["peak_memory_bytes"] > 10e6
    monkeypatch.setitem(__import__("sys").modules, "resource", None)
    assert bench(stream, [(0.5, 0.1)], warmup=0)["peak_memory_bytes"] is None


def test_prompts_may_come_from_a_generator(stream):
    assert bench(stream, (gaps for gaps in [COLD, COLD, (0.5, 0.1)]))["requests_timed"] == 1


def test_a_stream_that_fails_says_so_itself(clock):
    def broken(prompt):
        yield "token"
        raise ConnectionError(f"server gone at {prompt}")

    with pytest.raises(ConnectionError, match="server gone at a"):
        bench(broken, ["a"], warmup=0)


@pytest.mark.parametrize(
    ("prompts", "warmup", "sentence"),
    [
        ([], 2, "0 prompts with warmup = 2 leave none to time: give at least 3."),
        ([COLD, COLD], 2, "2 prompts with warmup = 2 leave none to time: give at least 3."),
        ([COLD], -1, "warmup = -1: it must be 0 or above."),
    ],
)
def test_bad_input_is_named_before_anything_runs(clock, prompts, warmup, sentence):
    def never(_prompt):
        raise AssertionError("nothing should run")

    with pytest.raises(SpecError) as caught:
        bench(never, prompts, warmup)
    assert str(caught.value) == sentence
