"""Speculation: would drafting pay here?"""

from functools import partial

import streamlit as st

from pages.ui import acceptance_entry, beside, drawn, parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.advice.drafting import drafting
from slmopt.advice.drafts import checking, ways
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic
from slmopt.words import drafts as draft_words
from slmopt.words import speculation as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

entered = state.current().verify_cost
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

acceptance, length, batch, accepted, cost = drawn.figures("speculation", state.current())
chart(acceptance)
left, right = side_by_side()
with left:
    chart(length)
with right:
    chart(batch)

st.markdown("#### Ways to draft, each at its best length")
st.markdown(draft_words.ways_markdown(ways(drafted.scenario, entered)))
mixture = any(group.moe is not None for group in evaluation.setup.model.groups)
checks = checking(drafted.scenario, entered)
st.markdown(draft_words.checking_line(checks, mixture, entered))
tokenizer = draft_words.tokenizer_line(evaluation.setup)
if tokenizer:
    st.markdown(tokenizer)
memory = draft_words.memory_line(evaluation, evaluate(drafted.scenario.change(draft_tokens=0)).capacity)
if memory:
    st.markdown(memory)
left, right = side_by_side()
with left:
    chart(accepted)
with right:
    chart(cost)
acceptance_entry.printed(evaluation.setup, found.draft_tokens)

parts.arithmetic(partial(arithmetic.speculation, evaluation, found))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("Which technique first?", "plan")
