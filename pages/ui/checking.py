"""The section with what is wrong with the benchmark itself; only there where something is."""

from __future__ import annotations

import streamlit as st

from pages.ui.judging import Gathered
from slmopt.measured.checks import Finding, Shape, check
from slmopt.specs.scenario import Scenario
from slmopt.words import checks as words
from slmopt.words.measured_rows import marked


def section(found: Gathered, scenario: Scenario) -> None:
    """The closed list of findings."""
    shape = None if found.sample else Shape(scenario.prompt, scenario.output, scenario.batch)
    findings = _findings(found.ident, shape, found)
    if not findings:
        return
    with st.expander(words.head(findings), key="slm_checks"):
        st.markdown("\n".join(f"- {marked(words.sentence(one), 400)}" for one in findings))


@st.cache_resource(max_entries=16, scope="session", show_spinner=False)
def _findings(ident: str, shape: Shape | None, _found: Gathered) -> tuple[Finding, ...]:
    del ident
    return check(_found.read.rows, shape)
