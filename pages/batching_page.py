"""Batching: what does each further sequence bring, and what does it cost?"""

from pages.ui import economy, parts, state
from pages.ui.chart import chart
from pages.ui.fields import slider_view
from pages.ui.layout import side_by_side
from slmopt.figures import batch_sides, batching
from slmopt.figures.named import Named
from slmopt.reports import batch_tables as tables
from slmopt.specs.scenario import Scenario
from slmopt.theory.batch_points import batching_view
from slmopt.theory.evaluation import evaluate
from slmopt.words import batching as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
view = batching_view(evaluation)
shown = [Named("", view)]

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(view))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(view)])

left, right = side_by_side()
with left:
    slider_view("batch", Scenario().batch, place="batching")
with right:
    slider_view("context", scenario.change(context=None).depth, place="batching")

chart(
    batching.throughput(shown),
    title=words.throughput_title(view),
    key="batching_throughput",
    alt=words.throughput_alt(view),
    kinds=("ceiling", "estimate"),
    data=tables.throughput(view),
)
left, right = side_by_side()
with left:
    chart(
        batch_sides.users(shown),
        title=words.user_title(view),
        key="batching_users",
        alt=words.user_alt(view),
        data=tables.users(view),
    )
with right:
    chart(
        batch_sides.steps(shown),
        title=words.step_title(view),
        key="batching_steps",
        alt=words.step_alt(view),
        data=tables.steps(view),
    )

economy.section(scenario, evaluation)

parts.arithmetic([*words.arithmetic(view), *economy.arithmetic(evaluation)])
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("What do users wait for when requests come as they please?", "simulate")
