"""Memory: what fills it, and how many sequences fit?"""

import streamlit as st

from pages.ui import fields, parts, state
from pages.ui import held as holding
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.advice.what_ifs import engine_holdings, memory_what_ifs
from slmopt.figures import memory as figures
from slmopt.figures.named import Named
from slmopt.reports import memory_tables as tables
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import context_curve, longest_context
from slmopt.words import arithmetic
from slmopt.words import memory as words
from slmopt.words.engines import rule_lines
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
setup = evaluation.setup
cases = [
    (words.what_if_name(name, evaluate(case)), evaluate(case)) for name, case in memory_what_ifs(scenario)
]
rows = [(name, case.capacity) for name, case in cases]

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(evaluation))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(evaluation, longest_context(setup, scenario.batch))])

chart(
    figures.what_ifs([Named(name, capacity) for name, capacity in rows]),
    title=words.what_if_title(rows),
    key="memory_what_ifs",
    alt=f"{words.what_if_title(rows)}. A bar for each change: weights, sequences now, room for more.",
    kinds=("ceiling",),
    data=tables.what_ifs(rows),
)
left, right = side_by_side()
curve = context_curve(setup)
lines = [
    ("as now", curve.sequences),
    *((name, context_curve(case.setup).sequences) for name, case in cases[1:4]),
]
with left:
    fields.slider_view("context", float(scenario.prompt + scenario.output), place="memory")
    chart(
        figures.against_context(curve.context, [Named(*one) for one in lines], curve.now),
        title=words.context_title(evaluation, curve.now[1], curve.doubled),
        key="memory_context",
        alt=f"{words.context_title(evaluation, curve.now[1], curve.doubled)}. Sequences that fit against context.",
        data=tables.against_context(curve.context, lines),
    )
held = engine_holdings(scenario)
with right:
    chart(
        figures.holdings([Named(*row) for row in held]),
        title=words.paging_title(held[1][1], held[0][1]),
        key="memory_paging",
        alt=f"{words.paging_title(held[1][1], held[0][1])}. Requests held under each allocation and engine.",
        data=tables.holdings(held),
    )
if rules := rule_lines(evaluation.capacity):
    st.markdown(words.engine_heading(evaluation))
    st.markdown("\n".join(f"- {line}" for line in rules))

holding.section(scenario, setup)

parts.arithmetic(arithmetic.capacity_lines(evaluation))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("What does a long prompt cost the first token?", "first-token")
