"""Overview: what limits this model here?"""

from pages.ui import parts, state
from pages.ui.cases import case_picker
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.figures import overview as figures
from slmopt.figures.named import Named
from slmopt.reports import tables
from slmopt.theory.evaluation import evaluate
from slmopt.words import arithmetic, overview
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
shown = [Named("", evaluation)]

parts.scenario_line(scenario_line(scenario))
parts.answer(overview.answer(evaluation))
parts.tiles([parts.Tile(*tile) for tile in overview.tiles(evaluation)])

chart(
    figures.passes(shown),
    title=overview.step_title(evaluation),
    key="overview_passes",
    alt=overview.step_alt(evaluation),
    kinds=("ceiling", "estimate"),
    phone_height=400,
    data=tables.passes(evaluation),
)
left, right = side_by_side()
with left:
    chart(
        figures.target_shares(shown),
        title=overview.targets_title(evaluation),
        key="overview_targets",
        alt=overview.targets_alt(evaluation),
        data=tables.targets(evaluation),
    )
with right:
    chart(
        figures.memory_boxes(shown),
        title=overview.memory_title(evaluation),
        key="overview_memory",
        alt=overview.memory_alt(evaluation),
        data=tables.memory(evaluation),
    )

case_picker()
parts.arithmetic(arithmetic.overview(evaluation))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("Where does the batch move this model on the roofline?", "roofline")
