"""Simulate: what do users wait for when requests come as they please?"""

import streamlit as st

from pages.ui import parts, simulating, state
from pages.ui import simulated_runs as runs
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.serving.outcome import goodput
from slmopt.specs.base import SpecError
from slmopt.theory.evaluation import evaluate
from slmopt.words import simulation
from slmopt.words import simulation_page as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines


def page() -> None:
    """The fields, then what they bring; or what is wrong with them."""
    scenario = state.current()
    evaluation = evaluate(scenario)
    parts.scenario_line(scenario_line(scenario))
    head = st.container(gap=26)
    try:
        asked, trace = simulating.ask(evaluation)
        shown = runs.run_all(scenario, asked, trace)
    except SpecError as wrong:
        state.not_of_the_scenario_alone()
        parts.error_box(str(wrong), "slm_sim_error")
        return
    found = shown.found
    first = found[0]
    with head:
        parts.answer(words.compared(*found) if len(found) > 1 else simulation.answer(first))
        good = goodput(first, scenario.target_ttft_s, scenario.target_tpot_s)
        parts.tiles([parts.Tile(*tile) for tile in simulation.tiles(first, good)])

    *timelines, ttft, gaps, queue, memory = shown.pictures
    for picture in timelines:
        chart(picture)
    for pair in ((ttft, gaps), (queue, memory)):
        for place, picture in zip(side_by_side(), pair, strict=True):
            with place:
                chart(picture)
    runs.how_many(scenario, asked, trace)

    parts.arithmetic(lambda: [line for one in found for line in words.arithmetic(one)])
    parts.data_section()
    parts.sources(lambda: [*source_lines(evaluation), *words.SOURCES])
    parts.next_link("What fills the memory, and what would free it?", "memory")


page()
