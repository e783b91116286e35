"""Measurements: how close does each measured row come to its ceiling, and what is in the way?"""

import streamlit as st

from pages.ui import (
    checking,
    commands,
    comparing,
    drawn,
    fitting,
    judging,
    mapping,
    measured_table,
    others,
    parts,
    state,
    uploads,
)
from pages.ui.chart import chart
from slmopt.reports.pictures import measurements as pictures
from slmopt.words import measured_rows

# Its words are known only when the files below have been read.
top = st.container(gap=26)
bar = uploads.uploader()
mapping.section()
found = judging.gathered(uploads.shown(), state.current(), bar)
said = found.said
groups = [*found.groups, *others.shown(found)]
more = not found.sample or len(groups) > len(found.groups)
if more:
    state.not_of_the_scenario_alone()
with top:
    parts.scenario_line(said.line)
    parts.answer(said.answer)
    parts.tiles([parts.Tile(*tile) for tile in said.tiles])

if found.groups:
    (shares,) = (
        pictures.pictures(found.rows, groups, said.title, said.alt)
        if more
        else drawn.figures("measurements", state.current())
    )
    chart(shares)
    others.switch(found)
if said.explanation:
    st.markdown(f":small[{said.explanation}]")

picked = measured_table.table(found)
checking.section(found, state.current())
bar.done()
comparing.section(found)
fitting.section(found)
commands.section(state.current())
if picked is not None:
    parts.arithmetic(lambda: measured_rows.arithmetic(picked))
parts.data_section()
parts.sources(lambda: [*measured_rows.source_lines(found.rows, sample=found.sample), *others.sources(found)])
parts.next_link("What helps most here, and in which order?", "plan")
