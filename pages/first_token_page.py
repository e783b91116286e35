"""First token: what does the prompt cost, and whom does it stall?"""

from pages.ui import beside, drawn, fields, parts, pins, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import compute_bound_from, hit_curve, longest_prompt
from slmopt.theory.interference import whole
from slmopt.words import arithmetic
from slmopt.words import first_token as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
setup, ceiling = evaluation.setup, evaluation.ceiling
target_s = scenario.target_ttft_s
hits = hit_curve(setup)
all_cached = float(hits.ceiling[-1])
longest: tuple[int | None, int | None] = (None, None)
if target_s is not None:
    longest = (longest_prompt(setup, target_s), longest_prompt(setup, target_s, "slow"))

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(evaluation, compute_bound_from(setup)))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(evaluation, longest, all_cached)])
beside.table()

fields.slider_view("prompt", float(scenario.prompt), place="first_token")
at_once = whole(setup, ceiling.decode_roof, ceiling.prefill_roof)
prompt, hit, gaps = drawn.figures("first-token", scenario, pins.pinned())
chart(prompt)
left, right = side_by_side()
with left:
    chart(hit)
with right:
    chart(gaps)

parts.arithmetic(lambda: arithmetic.first_token(evaluation, at_once))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("Would drafting pay here?", "speculation")
