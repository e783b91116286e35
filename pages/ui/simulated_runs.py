"""The Simulate page's runs: kept by what was asked, shown with a bar while they take, stopped by the next entry."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import streamlit as st

from pages.ui.simulating import Trace, number_entry
from slmopt.serving.asked import Asked
from slmopt.serving.outcome import Outcome, outcome
from slmopt.serving.played import Played, play
from slmopt.serving.policy import Policy
from slmopt.serving.replicas import Replicas, replicas
from slmopt.serving.simulate import Progress, simulate
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.words import simulation, simulation_page
from slmopt.words.scenario_line import escape

Made = TypeVar("Made")

MOST_RUNS: Final = 8
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
        self._sizes: dict[object, int] = {}
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
            self._kept[key] = made
            self._kept.move_to_end(key)
            self._sizes[key] = array_bytes(made)
            while len(self._kept) > 1 and (
                len(self._kept) > MOST_RUNS or sum(self._sizes.values()) > self._most_bytes
            ):
                gone, _ = self._kept.popitem(last=False)
                del self._sizes[gone]
        return made


def array_bytes(made: object) -> int:
    """Bytes of all arrays in a record and its parts."""
    if isinstance(made, np.ndarray):
        return made.nbytes
    if is_dataclass(made):
        return sum(array_bytes(getattr(made, part.name)) for part in fields(made))
    return 0


@st.cache_resource(show_spinner=False)
def runs() -> Runs:
    """The process's runs."""
    return Runs()


def run_all(scenario: Scenario, asked: Asked, trace: Trace) -> list[Outcome]:
    """Each policy on the same requests. A bar shows long runs; another entry stops them."""
    of = asked.traffic if trace is None else trace[0]
    found = []
    place = st.empty()
    for chosen in asked.policies:
        name = simulation.ADMISSION[chosen.admission]

        def make(chosen: Policy = chosen, name: str = name) -> Outcome:
            drawn = asked.traffic.draw(asked.seed) if trace is None else trace[1]
            watch = _bar(place, f"{name}: simulating {len(drawn):,} requests")
            return outcome(simulate(scenario, drawn, chosen, seed=asked.seed, progress=watch))

        found.append(runs().get((scenario, of, chosen, asked.seed), make))
    place.empty()
    return found


def needed(scenario: Scenario, asked: Asked) -> Replicas:
    """Servers that the traffic needs with the first policy, under the scenario's targets."""
    place = st.empty()

    def make() -> Replicas:
        ttft_s, tpot_s = scenario.target_ttft_s, scenario.target_tpot_s
        watch = _bar(place, "Simulating with more and fewer devices")
        return replicas(
            scenario, asked.traffic, asked.policies[0], ttft_s=ttft_s, tpot_s=tpot_s, progress=watch
        )

    found = runs().get(("replicas", scenario, asked.traffic, asked.policies[0]), make)
    place.empty()
    return found


def played(scenario: Scenario) -> Played:
    """The scenario's own requests at its rate."""
    place = st.empty()
    found = runs().get(
        ("played", scenario), lambda: play(scenario, progress=_bar(place, "Playing the requests"))
    )
    place.empty()
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


def _bar(place: Any, text: str) -> Progress:
    drawn = time.monotonic()

    def watch(share: float) -> bool:
        nonlocal drawn
        if time.monotonic() - drawn > _BAR_EVERY_S:
            # Drawing it raises where this session has asked for something else meanwhile, which stops the run.
            place.progress(min(1.0, share), text=text)
            drawn = time.monotonic()
        return True

    return watch
