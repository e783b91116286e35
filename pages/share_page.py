"""Share: how does this reach someone else, and what comes along?"""

import streamlit as st

from pages.ui import handing, parts, state
from slmopt.theory.evaluation import evaluate
from slmopt.words import share as words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

scenario = state.current()
# No figure of this page follows a thumb.
state.not_of_the_scenario_alone()
own, url = handing.own_records(scenario), handing.address()

parts.scenario_line(scenario_line(scenario))
parts.answer(words.answer(url, own=bool(own)))

with st.container(gap="small"):
    st.markdown("#### Link")
    st.code(handing.link(), language=None, wrap_lines=True)
    notes = words.link_notes(url, uploads=handing.judged() is not None, own=own)
    st.markdown("\n".join(f"- {note}" for note in notes))

with st.container(gap="small"):
    st.markdown("#### Report")
    st.markdown(words.REPORT)
    handing.report_buttons(scenario)
    st.markdown(f":small[{words.PDF}]")

with st.container(gap="small"):
    st.markdown("#### Scenario file")
    st.markdown(words.FILE)
    handing.scenario_file(scenario)

parts.sources(lambda: source_lines(evaluate(scenario)))
parts.next_link("How are these numbers found, and where do they fail?", "method", share=False)
