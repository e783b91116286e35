"""What else a machine did while it was measured."""

from __future__ import annotations

import os

import pytest

from slmopt.measured.busy import Busy, Watch, processor_seconds


def test_work_and_stolen_time_count_and_waiting_does_not(tmp_path):
    stat = tmp_path / "stat"
    ticks = os.sysconf("SC_CLK_TCK")
    values = [
        10,
        1,
        5,
        1000,
        500,
        2,
        3,
        4,
        7,
        7,
    ]  # user nice system idle iowait irq softirq steal guest guest_nice
    stat.write_text("cpu  " + " ".join(str(value * ticks) for value in values) + "\ncpu0 1 2 3\n")
    assert processor_seconds(stat) == pytest.approx(10 + 1 + 5 + 2 + 3 + 4)
    stat.write_text("no numbers\n")
    assert processor_seconds(stat) is None
    assert processor_seconds(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("load", "others", "much"),
    [(9.0, 0.05, False), (0.0, 0.2, True), (0.4, None, False), (0.6, None, True), (None, None, False)],
)
def test_others_decide_and_the_load_only_where_they_are_not_told(load, others, much):
    assert Busy(2, load, others).much is much


def test_a_watch_subtracts_what_this_process_took():
    watch = Watch.start()
    sum(range(300_000))
    seen = watch.stop()
    assert seen.cores >= 1
    assert seen.others is None or seen.others >= 0
