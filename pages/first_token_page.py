"""First token: what does the prompt cost, and whom does it stall?"""

from pages.ui import fields, parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.figures import first_token as figures
from slmopt.figures.named import Named
from slmopt.reports import first_token_tables as tables
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import compute_bound_from, hit_curve, longest_prompt, prompt_curve
from slmopt.theory.interference import CHUNKS, chunked, whole
from slmopt.words import arithmetic
from slmopt.words import first_token as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
setup, ceiling = evaluation.setup, evaluation.ceiling
target_s = None if scenario.target_ttft_ms is None else scenario.target_ttft_ms / 1e3
hits = hit_curve(setup)
all_cached = float(hits.ceiling[-1])
longest: tuple[int | None, int | None] = (None, None)
if target_s is not None:
    longest = (longest_prompt(setup, target_s), longest_prompt(setup, target_s, "slow"))

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(evaluation, compute_bound_from(setup)))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(evaluation, longest, all_cached)])

fields.slider_view("prompt", float(scenario.prompt), place="first_token")
curve = prompt_curve(setup)
ttft = float(ceiling.latency.ttft_s)
chart(
    figures.against_prompt([Named("", curve)], (float(scenario.prompt), ttft), target_s),
    title=words.prompt_title(evaluation),
    key="first_token_prompt",
    alt=f"{words.prompt_title(evaluation)}. First token in ms against prompt length, ceiling and estimate.",
    kinds=("ceiling", "estimate"),
    data=tables.curve(curve, "prompt_tokens"),
)
left, right = side_by_side()
with left:
    title = words.hit_title(evaluation, float(hits.ceiling[0]), all_cached)
    chart(
        figures.against_hit(hits, (float(scenario.prefix_hit), ttft)),
        title=title,
        key="first_token_hit",
        alt=f"{title}. First token against the prompt tokens that are cached, 0 to {scenario.prompt - 1:,}.",
        data=tables.curve(hits, "cached_tokens"),
    )
with right:
    step = float(ceiling.decode.seconds)
    at_once = whole(setup, ceiling.decode_roof, ceiling.prefill_roof)
    pieces = [chunked(setup, ceiling.prefill_roof, size) for size in CHUNKS if size < at_once.chunk]
    rows = words.gap_rows(at_once, pieces)
    chart(
        figures.gaps(rows, step),
        title=words.gap_title(at_once, step),
        key="first_token_gaps",
        alt=f"{words.gap_title(at_once, step)}. Longest gap between tokens, whole prompt and chunks.",
        data=tables.gaps(rows),
    )

parts.arithmetic(arithmetic.first_token(evaluation, at_once))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("Would drafting pay here?", "speculation")
