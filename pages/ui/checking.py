"""The section with what is wrong with the benchmark itself; only there where something is."""

from __future__ import annotations

import streamlit as st

from pages.ui.judging import Gathered
from slmopt.measured.checks import MOST_CHECKED, Shape, check, unlike_shape
from slmopt.measured.findings import Finding
from slmopt.specs.scenario import Scenario
from slmopt.words import checks as words
from slmopt.words.measured_rows import marked


def section(found: Gathered, scenario: Scenario) -> None:
    """The closed list of findings."""
    findings = _findings(found.ident, found)
    if not found.sample:
        shape = Shape(scenario.prompt, scenario.output, scenario.batch)
        findings += tuple(unlike_shape(found.read.rows.iloc[:MOST_CHECKED], shape))
    if not findings:
        return
    with st.expander(words.head(findings), key="slm_checks"):
        st.markdown("\n".join(f"- {marked(words.sentence(one), 400)}" for one in findings))


@st.cache_resource(max_entries=16, scope="session", show_spinner=False)
def _findings(ident: str, _found: Gathered) -> tuple[Finding, ...]:
    """What does not depend on the scenario, whose fields move often."""
    del ident
    return check(_found.read.rows)
