"""Speculation: would drafting pay here?"""

import numpy as np
import streamlit as st

from pages.ui import parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.advice.drafting import drafting
from slmopt.figures import speculation as figures
from slmopt.reports import speculation_tables as tables
from slmopt.theory.evaluation import evaluate
from slmopt.theory.speculation_curves import speculation_curves
from slmopt.words import arithmetic
from slmopt.words import speculation as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

drafted = drafting(state.current())
evaluation = evaluate(drafted.scenario)
setup = evaluation.setup
found = evaluation.typical.speculation
assert found is not None, "a scenario that drafts has all that speculation needs"
most = evaluation.capacity.max_sequences
curves = speculation_curves(setup, evaluation.typical.decode_roof, float(most or 0))
losing = curves.by_batch < 1.0
loses_from = float(curves.batch[int(np.argmax(losing))]) if losing.any() and not losing[0] else None

parts.scenario_line(scenario_line(drafted.scenario))
parts.answer(words.answer(evaluation, found))
if drafted.assumed:
    st.markdown(words.assumed_line(drafted.assumed))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(found, evaluation.ceiling.speculation)])

chart(
    figures.by_acceptance(curves, found),
    title=words.acceptance_title(found),
    key="speculation_acceptance",
    alt=f"{words.acceptance_title(found)}. Speed-up against acceptance, 0 to 1, for several draft lengths.",
    kinds=("estimate",),
    data=tables.by_acceptance(curves),
)
left, right = side_by_side()
with left:
    chart(
        figures.by_length(curves, found),
        title=words.length_title(found),
        key="speculation_length",
        alt=f"{words.length_title(found)}. Speed-up and expected tokens against draft length, 0 to 16.",
        data=tables.by_length(curves),
    )
with right:
    title = words.batch_title(
        float(curves.by_batch[0]), float(curves.by_batch[-1]), float(curves.batch[-1]), loses_from
    )
    chart(
        figures.by_batch(curves, drafted.scenario.batch, found.speedup, most),
        title=title,
        key="speculation_batch",
        alt=f"{title}. Speed-up against sequences at once.",
        data=tables.by_batch(curves),
    )

parts.arithmetic(arithmetic.speculation(evaluation, found))
parts.data_section()
parts.sources(source_lines(evaluation))
parts.next_link("Which technique first?", "plan")
