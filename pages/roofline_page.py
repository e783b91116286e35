"""Roofline: on which side of the ridge does this model stand, and where does a larger batch take it?"""

import streamlit as st

from pages.ui import parts, state
from pages.ui.chart import chart
from pages.ui.fields import slider_view
from pages.ui.layout import side_by_side
from slmopt.figures import intensity, operators, roofline
from slmopt.figures.named import Named
from slmopt.reports import batch_tables as tables
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.operators import operators_view
from slmopt.theory.roofline_points import roofline_view
from slmopt.words import roofline as words
from slmopt.words.operators import PHASES, operators_alt, operators_title
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
evaluation = evaluate(scenario)
view = roofline_view(evaluation)
shown = [Named("", view)]
# The rows of an upload that Measurements has set against this scenario.
measured = st.session_state.get("_slmopt_measured_points", ())

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(view))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(view)])

preset = resolve(scenario.change(bandwidth_gbs=None, peak_tflops=None))
left, right = side_by_side()
with left:
    slider_view("bandwidth_gbs", preset.device.bandwidth_gbs, place="roofline")
with right:
    slider_view("peak_tflops", words.tflops(preset.decode.ceiling), place="roofline")

chart(
    roofline.roof(shown, measured),
    title=words.roof_title(view),
    key="roofline_roof",
    alt=words.roof_alt(view),
    kinds=("ceiling", "estimate", "measured") if measured else ("ceiling", "estimate"),
    data=tables.roof_points(view, measured),
)
chart(
    intensity.intensities(shown),
    title=words.intensity_title(view),
    key="roofline_intensity",
    alt=words.intensity_alt(view),
    data=tables.intensities(view),
)
phase = st.segmented_control(
    "Operators of",
    list(PHASES),
    default="decode",
    required=True,
    format_func=str.capitalize,
    key="roofline_phase",
    persist_state="session",
)
by_operator = operators_view(evaluation)
found = by_operator.prefill if phase == "prefill" else by_operator.decode
chart(
    operators.shares(found),
    title=operators_title(found, phase or "decode"),
    key="roofline_operators",
    alt=operators_alt(found, phase or "decode"),
    kinds=("ceiling",),
    data=tables.operators(by_operator),
)

parts.arithmetic(words.arithmetic(view))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("What does each further sequence bring, and cost?", "batching")
