"""Overview: what limits this model here?"""

from pages.ui import beside, drawn, guide, parts, pins, state
from pages.ui.cases import case_picker
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic, overview
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)

guide.steps()
parts.scenario_line(scenario_line(scenario))
parts.answer(overview.answer(evaluation))
parts.tiles([parts.Tile(*tile) for tile in overview.tiles(evaluation)])
beside.table()

main, targets, memory = drawn.figures("overview", scenario, pins.pinned())
chart(main)
left, right = side_by_side()
with left:
    chart(targets)
with right:
    chart(memory)

case_picker()
parts.arithmetic(lambda: arithmetic.overview(evaluation))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("Where does the batch move this model on the roofline?", "roofline")
guide.again()
