"""Simulated runs are kept by what was asked, and never hold more memory than is set."""

from dataclasses import dataclass

import numpy as np

from pages.ui.simulated_runs import MOST_RUNS, Runs, arrays


@dataclass
class Part:
    values: np.ndarray


@dataclass
class Whole:
    part: Part
    more: np.ndarray
    number: float = 1.0


def a_run(kilobytes: int) -> Whole:
    return Whole(Part(np.zeros(kilobytes * 64)), np.zeros(kilobytes * 64))


def test_arrays_are_counted_through_all_parts():
    assert sum(arrays(a_run(10)).values()) == 10 * 1024
    assert sum(arrays((a_run(10), a_run(5))).values()) == 15 * 1024
    assert arrays("no record") == {}


def test_arrays_that_entries_share_are_counted_once():
    runs, shared = Runs(most_bytes=25 * 1024), a_run(20)
    for key in ("outcome", "its figures", "in other units"):
        runs.get(key, lambda: (shared,))
    assert len(runs) == 3
    runs.get("other", lambda: a_run(10))
    assert len(runs) == 1
    runs.get("more", lambda: a_run(10))
    assert len(runs) == 2


def test_a_run_that_was_asked_before_is_not_made_again():
    runs = Runs()
    made = [runs.get("a", lambda: a_run(1)) for _ in range(2)]
    assert made[0] is made[1]


def test_the_oldest_goes_first_by_number():
    runs = Runs()
    first = runs.get(0, lambda: a_run(1))
    for key in range(1, MOST_RUNS + 1):
        runs.get(key, lambda: a_run(1))
    assert len(runs) == MOST_RUNS
    assert runs.get(0, lambda: a_run(1)) is not first


def test_runs_together_stay_below_the_bytes_that_are_set():
    runs = Runs(most_bytes=25 * 1024)
    first, second = runs.get("first", lambda: a_run(10)), runs.get("second", lambda: a_run(10))
    assert runs.get("first", lambda: a_run(10)) is first
    runs.get("third", lambda: a_run(10))
    assert len(runs) == 2
    assert runs.get("first", lambda: a_run(10)) is first
    assert runs.get("second", lambda: a_run(10)) is not second


def test_the_newest_is_kept_whatever_its_size():
    runs = Runs(most_bytes=25 * 1024)
    runs.get("small", lambda: a_run(1))
    large = runs.get("large", lambda: a_run(500))
    assert len(runs) == 1
    assert runs.get("large", lambda: a_run(500)) is large
