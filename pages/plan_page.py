"""Plan: what holds this back, which technique first, and which do nothing here?"""

import streamlit as st

from pages.ui import advice, beside, drawn, parts, state
from pages.ui.chart import chart
from slmopt.advice.diagnosis import diagnose
from slmopt.advice.plan import in_view, plan
from slmopt.reports import plan_tables
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic
from slmopt.words import diagnosis as diagnosis_words
from slmopt.words import plan as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
trials = plan(scenario)
observed = advice.observed(scenario)
found = diagnose(scenario, observed)
shown = in_view(trials)
folded = [trial for trial in trials if trial not in shown]

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(trials))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(trials)])
beside.table()

matrix, usual = drawn.figures("plan", scenario)
chart(matrix)

st.markdown("#### What holds it back")
st.markdown("\n".join(f"- {line}" for line in diagnosis_words.sentences(evaluation, found)))
with st.expander("How much better without each part", key="slm_without"):
    st.markdown(diagnosis_words.table_markdown(found))
advice.targets(scenario)
advice.play_requests(scenario)

advice.waterfall(scenario, usual)

st.markdown("#### The articles' order of operations, for this scenario")
st.markdown(
    "\n".join(f"{number}. {line}" for number, line in enumerate(words.steps(evaluation, trials), start=1))
)
st.markdown("#### Which bottleneck each technique attacks")
with st.container(key="slm_bottlenecks"):
    st.markdown(plan_tables.bottlenecks_markdown(evaluation, shown, found))
with st.expander(f"{len(folded)} more: other strengths, other devices, and what changes nothing here"):
    st.markdown(plan_tables.bottlenecks_markdown(evaluation, folded, found))

advice.solve_for(scenario)
advice.formats(scenario)
advice.find(scenario)
advice.checks(scenario, observed)

parts.arithmetic(lambda: arithmetic.plan(evaluation, trials))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("How close does your own benchmark come?", "measurements")
