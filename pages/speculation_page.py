"""Speculation: would drafting pay here?"""

import streamlit as st

from pages.ui import beside, parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.advice.drafting import drafting
from slmopt.reports.pictures import speculation as pictures
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic
from slmopt.words import speculation as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

drafted = drafting(state.current())
evaluation = evaluate(drafted.scenario)
found = evaluation.typical.speculation
assert found is not None, "a scenario that drafts has all that speculation needs"

parts.scenario_line(scenario_line(drafted.scenario))
parts.answer(words.answer(evaluation, found))
if drafted.assumed:
    st.markdown(words.assumed_line(drafted.assumed))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(found, evaluation.ceiling.speculation)])
beside.table()

acceptance, length, batch = pictures.pictures(evaluation, found)
chart(acceptance)
left, right = side_by_side()
with left:
    chart(length)
with right:
    chart(batch)

parts.arithmetic(arithmetic.speculation(evaluation, found))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("Which technique first?", "plan")
