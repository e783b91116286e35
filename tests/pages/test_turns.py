"""Runs take turns: first come, first served; one that takes long lets the next go on."""

import threading
import time

import pytest

from pages.ui.turns import Turns

PATIENCE_S = 30.0
HOUR_S = 3600.0


class Run(threading.Thread):
    """A run that notes when its turn has come, and keeps it until it is told to end."""

    def __init__(self, turns: Turns, name: str, came: list[str]) -> None:
        super().__init__(daemon=True)
        self.turns, self.called, self.came = turns, name, came
        self.has_turn, self.ends = threading.Event(), threading.Event()

    def run(self) -> None:
        with self.turns.turn():
            self.came.append(self.called)
            self.has_turn.set()
            self.ends.wait(PATIENCE_S)

    def end(self) -> None:
        self.ends.set()
        self.join(PATIENCE_S)
        assert not self.is_alive()


def started(turns: Turns, name: str, came: list[str]) -> Run:
    """A run that has its turn or stands in the queue."""
    waiting = len(turns._waiting)
    run = Run(turns, name, came)
    run.start()
    while len(turns._waiting) <= waiting and not run.has_turn.is_set():
        run.has_turn.wait(0.001)
    return run


def test_first_come_first_served():
    turns, came = Turns(HOUR_S), []
    first = started(turns, "a", came)
    assert first.has_turn.wait(PATIENCE_S)
    others = [started(turns, name, came) for name in "bcd"]
    assert came == ["a"]
    for run in (first, *others):
        assert run.has_turn.wait(PATIENCE_S)
        run.end()
    assert came == ["a", "b", "c", "d"]
    assert not turns._waiting
    assert turns._holder is None


def test_a_long_run_lets_the_next_go_on_and_takes_nothing_from_it():
    turns, came = Turns(0.01), []
    long = started(turns, "long", came)
    assert long.has_turn.wait(PATIENCE_S)
    second = started(turns, "second", came)
    # It never ends its turn, and yet the second has one.
    assert second.has_turn.wait(PATIENCE_S)
    holder = turns._holder
    long.end()
    assert turns._holder is holder
    second.end()
    assert turns._holder is None


def test_a_run_that_fails_ends_its_turn():
    turns = Turns(HOUR_S)
    with pytest.raises(ZeroDivisionError), turns.turn():
        raise ZeroDivisionError
    with turns.turn():
        assert turns._holder is not None
    assert turns._holder is None


def test_many_runs_each_have_one_turn_at_a_time():
    turns, came = Turns(HOUR_S), []
    at_once, most = 0, 0

    def run(name: str) -> None:
        nonlocal at_once, most
        for _ in range(20):
            with turns.turn():
                at_once += 1
                most = max(most, at_once)
                came.append(name)
                # Others run now, if they may.
                time.sleep(0.0001)
                at_once -= 1

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(came) == 160
    assert most == 1
