"""Batching: what does each further sequence bring, and what does it cost?"""

from pages.ui import beside, drawn, economy, parts, pins, state
from pages.ui.chart import chart
from pages.ui.fields import slider_view
from pages.ui.layout import side_by_side
from slmopt.specs.scenario import Scenario
from slmopt.theory.batch_points import batching_view
from slmopt.theory.evaluation import evaluate
from slmopt.words import batching as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
view = batching_view(evaluation)

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(view))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(view)])
beside.table()

left, right = side_by_side()
with left:
    slider_view("batch", Scenario().batch, place="batching")
with right:
    slider_view("context", scenario.change(context=None).depth, place="batching")

throughput, users, steps, *economical = drawn.figures("batching", scenario, pins.pinned())
chart(throughput)
left, right = side_by_side()
with left:
    chart(users)
with right:
    chart(steps)

economy.section(evaluation, economical)

parts.arithmetic(lambda: [*words.arithmetic(view), *economy.arithmetic(evaluation)])
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("What do users wait for when requests come as they please?", "simulate")
