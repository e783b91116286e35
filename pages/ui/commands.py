"""The closed section with commands that check the scenario, and those that start its engine."""

from __future__ import annotations

import streamlit as st

from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import commands as words
from slmopt.words.measured_rows import marked


def section(scenario: Scenario) -> None:
    """Draws nothing but its title until it is opened."""
    closed = st.expander("Commands that would check this scenario", key="slm_commands", on_change="rerun")
    if not closed.open:
        return
    evaluation = evaluate(scenario)
    with closed:
        st.markdown("**Measure it**")
        for command in words.checks(evaluation):
            _shown(command)
        st.markdown("**Start it**")
        for command in words.launches(evaluation):
            _shown(command)
        st.markdown("\n".join(f"- :small[{marked(text, 300)}]" for text in words.notes(evaluation)))


def _shown(command: words.Command) -> None:
    st.markdown(f":small[{marked(command.what, 120)}]")
    st.code(command.text, language="bash", wrap_lines=True)
