"""Plan: which technique first, and which do nothing here?"""

import streamlit as st

from pages.ui import beside, parts, state
from pages.ui.chart import chart
from slmopt.advice.plan import plan
from slmopt.reports import plan_tables
from slmopt.reports.pictures import plan as pictures
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic
from slmopt.words import plan as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
trials = plan(scenario)

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(trials))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(trials)])
beside.table()

(matrix,) = pictures.pictures(trials)
chart(matrix)

st.markdown("#### The order of operations, for this scenario")
st.markdown(
    "\n".join(f"{number}. {line}" for number, line in enumerate(words.steps(evaluation, trials), start=1))
)
st.markdown("#### Which bottleneck each technique attacks")
with st.container(key="slm_bottlenecks"):
    st.markdown(plan_tables.bottlenecks_markdown(trials))

parts.arithmetic(arithmetic.plan(evaluation, trials))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("How close does your own benchmark come?", "measurements")
