"""Memory: what fills it, and how many sequences fit?"""

import streamlit as st

from pages.ui import beside, drawn, fields, parts, pins, state
from pages.ui import held as holding
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import longest_context
from slmopt.words import arithmetic
from slmopt.words import memory as words
from slmopt.words.engines import rule_lines
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
setup = evaluation.setup

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(evaluation))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(evaluation, longest_context(setup, scenario.batch))])
beside.table()

what_ifs, context, paging, *others = drawn.figures("memory", scenario, pins.pinned())
chart(what_ifs)
fields.slider_view("context", float(scenario.prompt + scenario.output), place="memory")
left, right = side_by_side()
with left:
    chart(context)
with right:
    chart(paging)
for other in others:
    chart(other)
if rules := rule_lines(evaluation.capacity):
    st.markdown(words.engine_heading(evaluation))
    st.markdown("\n".join(f"- {line}" for line in rules))

holding.section(scenario, setup)

parts.arithmetic(lambda: arithmetic.capacity_lines(evaluation))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("What does a long prompt cost the first token?", "first-token")
