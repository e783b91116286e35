"""Measurements: how close does each measured row come to its ceiling, and what is in the way?"""

import streamlit as st

from pages.ui import judging, measured_table, parts, state, uploads
from pages.ui.chart import chart
from slmopt.reports.pictures import measurements as pictures
from slmopt.words import measured_rows

# Its words are known only when the files below have been read.
top = st.container(gap=26)
uploads.uploader()
found = judging.gathered(uploads.shown(), state.current())
said = found.said
if not found.sample:
    state.not_of_the_scenario_alone()
with top:
    parts.scenario_line(said.line)
    parts.answer(said.answer)
    parts.tiles([parts.Tile(*tile) for tile in said.tiles])

if found.groups:
    (shares,) = pictures.pictures(found.rows, found.groups, said.title, said.alt)
    chart(shares)
if said.explanation:
    st.markdown(f":small[{said.explanation}]")

picked = measured_table.table(found)
if picked is not None:
    parts.arithmetic(measured_rows.arithmetic(picked))
parts.data_section()
parts.sources(measured_rows.source_lines(found.rows, sample=found.sample))
parts.next_link("What helps most here, and in which order?", "plan")
