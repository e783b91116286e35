"""Roofline: on which side of the ridge does this model stand, and where does a larger batch take it?"""

from pages.ui import beside, drawn, judging, parts, pins, state
from pages.ui.chart import chart
from pages.ui.fields import slider_view
from pages.ui.layout import side_by_side
from slmopt.reports.pictures import roofline as pictures
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.roofline_points import roofline_view
from slmopt.words import roofline as words
from slmopt.words.operators import PHASES
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
view = roofline_view(evaluation)
measured = judging.measured_points()
if measured:
    state.not_of_the_scenario_alone()

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(view))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(view)])
beside.table()

preset = resolve(scenario.change(bandwidth_gbs=None, peak_tflops=None))
left, right = side_by_side()
with left:
    slider_view("bandwidth_gbs", preset.device.bandwidth_gbs, place="roofline")
with right:
    slider_view("peak_tflops", words.tflops(preset.decode.ceiling), place="roofline")

roof, intensity, *operators = drawn.figures("roofline", scenario, pins.pinned())
if measured:
    roof, intensity = pictures.pictures(view, measured, pins.results(lambda s: roofline_view(evaluate(s))))
chart(roof)
chart(intensity)
phase = parts.segments(
    "Operators of", {name: name.capitalize() for name in PHASES}, "decode", "roofline_phase"
)
chart(operators[list(PHASES).index(phase)])

parts.arithmetic(lambda: words.arithmetic(view))
parts.data_section()
parts.sources(lambda: source_lines(evaluation))
parts.next_link("What does each further sequence bring, and cost?", "batching")
