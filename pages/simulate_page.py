"""Simulate: what do users wait for when requests come as they please?"""

from functools import partial

import streamlit as st

from pages.ui import parts, simulating, state
from pages.ui import simulated_panels as panels
from pages.ui import simulated_runs as runs
from pages.ui.chart import chart
from slmopt.figures import simulation as figures
from slmopt.reports import simulation_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving import series
from slmopt.serving.outcome import goodput
from slmopt.specs.base import SpecError
from slmopt.theory.evaluation import evaluate
from slmopt.words import simulation
from slmopt.words import simulation_page as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
parts.scenario_line(scenario_line(scenario))
head = st.container(gap=26)
try:
    asked = simulating.ask(evaluation)
    found = runs.run_all(scenario, asked)
except SpecError as wrong:
    parts.error_box(str(wrong), "slm_sim_error")
    st.stop()
first = found[0]
names = [words.policy_name(one) for one in found]
ttft_s = scenario.target_ttft_s
tpot_s = scenario.target_tpot_s
with head:
    parts.answer(words.compared(*found) if len(found) > 1 else simulation.answer(first))
    parts.tiles([parts.Tile(*tile) for tile in simulation.tiles(first, goodput(first, ttft_s, tpot_s))])

until = series.shared_window(found)
for at, one in enumerate(found):
    stays = series.timeline(one.run, until)
    chart(
        Picture(
            f"simulate_timeline_{at}",
            words.timeline_title(one),
            words.timeline_alt(one, until),
            figures.timeline(stays, until),
            partial(tables.stays, stays),
            kinds=("estimate",) if not at else (),
        )
    )

panels.waits(found, names, ttft_s, tpot_s)
panels.over_time(found, names)
runs.how_many(scenario, asked)

parts.arithmetic([line for one in found for line in words.arithmetic(one)])
parts.data_section()
parts.sources([*source_lines(evaluation), *words.SOURCES])
parts.next_link("What fills the memory, and what would free it?", "memory")
