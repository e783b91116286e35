"""Measurements: how close does each measured row come to its ceiling, and what is in the way?"""

import streamlit as st

from pages.ui import asked, measured_table, parts, state, uploads
from pages.ui.chart import chart
from slmopt.figures import measurements as figures
from slmopt.reports import measurement_tables as tables
from slmopt.words import measured_causes, measured_rows, measurements

top = st.container(gap=26)
uploads.uploader()
found = asked.gathered(uploads.shown(), state.current())
rows = found.rows
with top:
    parts.scenario_line(measurements.scenario_line(rows, found.files, sample=found.sample))
    parts.answer(measurements.answer(rows, found.needs))
    parts.tiles([parts.Tile(*tile) for tile in measurements.tiles(rows)])

groups, heads = tables.groups(rows), tables.heads(rows)
if groups:
    chart(
        figures.shares(groups, heads),
        title=measurements.title(rows),
        key="measurement_shares",
        alt=measurements.alt(rows),
        phone_height=figures.phone_height(groups, len(heads)),
        kinds=("ceiling", "estimate", "measured"),
        data=tables.marks_table(groups),
    )
explained = measured_causes.explanation(rows)
if explained:
    st.markdown(f":small[{explained}]")

picked = measured_table.table(found)
if picked is not None:
    parts.arithmetic(measured_rows.arithmetic(picked))
parts.data_section()
parts.sources(measured_rows.source_lines(rows))
parts.next_link("What helps most here, and in which order?", "plan")
