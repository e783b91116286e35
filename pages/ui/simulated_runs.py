"""The Simulate page's runs: kept by what was asked, shown with a bar while they take, stopped by the next entry."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import streamlit as st

from pages.ui.simulating import Trace, number_entry
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import simulation as pictures
from slmopt.serving.asked import Asked
from slmopt.serving.outcome import Outcome, outcome
from slmopt.serving.played import Played, play
from slmopt.serving.policy import Policy
from slmopt.serving.replicas import Replicas, replicas
from slmopt.serving.simulate import Progress, simulate
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.words import simulation, simulation_page, units
from slmopt.words.scenario_line import escape

Made = TypeVar("Made")
Watched = Callable[[str, int], Progress]
"""A policy's name and how many requests it serves; what is to hear of its progress."""

MOST_RUNS: Final = 256
MOST_BYTES: Final = 64 << 20
"""What runs that are kept may hold together: ten million decode steps, which a run may have, are 400 MB."""

# Short runs need no bar, and a message costs more than what it reports.
_BAR_EVERY_S: Final = 0.2


class Runs:
    """The last runs by what was asked; shared by all sessions, since a run says nothing about who asked.

    The newest is kept whatever its size, those before it as far as number and bytes allow.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._kept: OrderedDict[object, Any] = OrderedDict()
        self._arrays: dict[object, dict[int, int]] = {}
        # Entries share arrays, such as a run's outcome and the figures of several: each is counted once.
        self._holders: Counter[int] = Counter()
        self._bytes = 0
        self._most_bytes = most_bytes
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: object, make: Callable[[], Made]) -> Made:
        """What was made for that key before, or what ``make`` gives now."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: Made = self._kept[key]
                return found
        made = make()
        with self._lock:
            # Somebody else may have made the same meanwhile.
            self._drop(key)
            self._kept[key] = made
            self._arrays[key] = arrays(made)
            for one, size in self._arrays[key].items():
                self._bytes += 0 if self._holders[one] else size
                self._holders[one] += 1
            while len(self._kept) > 1 and (len(self._kept) > MOST_RUNS or self._bytes > self._most_bytes):
                self._drop(next(iter(self._kept)))
        return made

    def _drop(self, key: object) -> None:
        self._kept.pop(key, None)
        for one, size in self._arrays.pop(key, {}).items():
            self._holders[one] -= 1
            if not self._holders[one]:
                del self._holders[one]
                self._bytes -= size


def arrays(made: object) -> dict[int, int]:
    """Bytes of each array in a record and its parts, by the array's identity."""
    if isinstance(made, np.ndarray):
        return {id(made): made.nbytes}
    parts: Iterable[object] = ()
    if isinstance(made, tuple):
        parts = made
    elif is_dataclass(made):
        parts = (getattr(made, part.name) for part in fields(made))
    found: dict[int, int] = {}
    for part in parts:
        found |= arrays(part)
    return found


RUNS: Final = Runs()
"""The process's runs."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Each policy's outcome on the same requests, and the figures of them all."""

    found: tuple[Outcome, ...]
    pictures: tuple[Picture, ...]


def shown(scenario: Scenario, asked: Asked, trace: Trace, watched: Watched) -> Shown:
    """The runs that are asked for and their figures, in the units in use; raises what a run's ``Progress`` ends it with."""
    of = asked.traffic if trace is None else trace[0]

    def run(one: Policy) -> Outcome:
        drawn = asked.traffic.draw(asked.seed) if trace is None else trace[1]
        watch = watched(simulation.ADMISSION[one.admission], len(drawn))
        return outcome(simulate(scenario, drawn, one, seed=asked.seed, progress=watch))

    def make() -> Shown:
        found = tuple(RUNS.get((scenario, of, one, asked.seed), partial(run, one)) for one in asked.policies)
        return Shown(found, pictures.pictures(found, scenario))

    return RUNS.get((scenario, of, asked.policies, asked.seed, units.now()), make)


def run_all(scenario: Scenario, asked: Asked, trace: Trace) -> Shown:
    """Each policy on the same requests. A bar shows long runs; another entry stops them."""
    bar = _Bar()
    found = shown(
        scenario, asked, trace, lambda name, count: bar.watch(f"{name}: simulating {count:,} requests")
    )
    bar.done()
    return found


def needed(scenario: Scenario, asked: Asked) -> Replicas:
    """Servers that the traffic needs with the first policy, under the scenario's targets."""
    bar = _Bar()

    def make() -> Replicas:
        ttft_s, tpot_s = scenario.target_ttft_s, scenario.target_tpot_s
        watch = bar.watch("Simulating with more and fewer devices")
        return replicas(
            scenario, asked.traffic, asked.policies[0], ttft_s=ttft_s, tpot_s=tpot_s, progress=watch
        )

    found = RUNS.get(("replicas", scenario, asked.traffic, asked.policies[0]), make)
    bar.done()
    return found


def played(scenario: Scenario) -> Played:
    """The scenario's own requests at its rate."""
    bar = _Bar()
    found = RUNS.get(("played", scenario), lambda: play(scenario, progress=bar.watch("Playing the requests")))
    bar.done()
    return found


def how_many(scenario: Scenario, asked: Asked, trace: Trace) -> None:
    """The question how many devices this traffic needs, answered when asked: it takes many runs. A trace has one rate only."""
    if trace is not None:
        return
    with st.container(key="slm_how_many", border=True):
        left, middle, right = st.columns([2, 2, 3], vertical_alignment="bottom")
        with left:
            rate = number_entry(
                "All traffic (requests/s)", "sim_all", 10 * asked.traffic.rate, whole=False, most=1e6
            )
        with middle:
            pressed = st.button("How many devices?", key="sim_how_many", width="stretch")
        with right:
            st.markdown(":small[95 % of the requests should meet both targets of the panel.]")
        total = 10 * asked.traffic.rate if rate is None else rate
        whole = replace(asked, traffic=asked.traffic.model_copy(update={"rate": total}))
        if pressed:
            found = needed(scenario, whole)
            name = escape(resolve(scenario).device.name)
            st.markdown(simulation_page.how_many(found, total, name))


class _Bar:
    """A place on the page, with a bar in it while a run takes long."""

    def __init__(self) -> None:
        self._place = st.empty()
        self._drawn = False

    def watch(self, text: str) -> Progress:
        """What a run is to tell its progress to."""
        last = time.monotonic()

        def watch(share: float) -> bool:
            nonlocal last
            if time.monotonic() - last > _BAR_EVERY_S:
                # Drawing it raises where this session has asked for something else meanwhile, which stops the run.
                self._place.progress(min(1.0, share), text=text)
                self._drawn = True
                last = time.monotonic()
            return True

        return watch

    def done(self) -> None:
        """Take the bar away, if there is one."""
        if self._drawn:
            self._place.empty()
