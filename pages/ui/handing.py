"""What is handed over: the link, reports, the scenario file; and what a page says that was opened by such a link."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from pages.ui import measures, restore
from pages.ui.advice import entered_scores, ticked
from pages.ui.judging import JUDGED_KEY, Gathered
from slmopt.reports import measurement_tables as tables
from slmopt.reports.report import report
from slmopt.reports.report_files import FORMS, Form
from slmopt.reports.report_sections import Measured, Own
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import SCHEMA_VERSION, Scenario
from slmopt.specs.scenario_file import from_file, to_file
from slmopt.words import share as words
from slmopt.words import units
from slmopt.words.measured_rows import marked

# In a link whose sender had files; no field of the scenario has this name.
_FILES: Final = "files"
_UPLOAD: Final = "scenario_file"
_RESTORED: Final = "_slmopt_restored"
_LARGEST_MB: Final = 5


def judged() -> Gathered | None:
    """The visitor's own rows as the page Measurements last judged them; None where there are none."""
    found = st.session_state.get(JUDGED_KEY)
    return found if isinstance(found, Gathered) else None


def address() -> str:
    """The dashboard's address as the browser has it; empty where that is not known."""
    return str(st.context.url or "")


def own_records(scenario: Scenario) -> list[str]:
    """Names of the scenario's records that no preset has."""
    held = (scenario.model, scenario.device, scenario.weights, scenario.draft_model)
    return [record.name for record in held if record is not None and not isinstance(record, str)]


def link() -> str:
    """The address of the Overview with the whole scenario in it, and a mark where files stay behind."""
    root = address().rstrip("/").rpartition("/")[0]
    others = {
        name: st.query_params[name]
        for name in st.query_params
        if name not in (*Scenario.model_fields, _FILES)
    }
    asked = {**others, **restore.address(), "v": str(SCHEMA_VERSION)}
    for key in measures.KEYS:
        asked.pop(key, None)
    asked |= units.now().unusual
    if judged() is not None:
        asked[_FILES] = "1"
    return f"{root}/overview?{urlencode(asked)}"


def arrival() -> None:
    """Say what a link left behind; nothing where this session has files of its own, or the link left none."""
    if _FILES in st.query_params and judged() is None:
        with st.container(key="slm_arrival", border=True):
            st.markdown(f"◐ {words.LEFT_FILES}")


def report_buttons(scenario: Scenario) -> None:
    """A button for each form; the file is written only when asked for."""
    found = judged()
    for column, (ending, form) in zip(st.columns(len(FORMS), gap="small"), FORMS.items(), strict=True):
        with column:
            st.download_button(
                form.name,
                data=_writer(form, scenario, found, own()),
                file_name=f"slmopt-report{ending}",
                mime=form.mime,
                key=f"report{ending}",
                on_click="ignore",
                icon=":material/download:",
                help=form.about,
                width="stretch",
            )


def own() -> Own:
    """What the visitor ticked and entered on the Plan."""
    scores = entered_scores()
    return Own(ticked(), scores if scores.task else None)


def _writer(form: Form, scenario: Scenario, found: Gathered | None, known: Own) -> Callable[[], bytes]:
    # The file is written in a thread of its own, which knows nothing of this run's units.
    read_in = units.now()

    def write() -> bytes:
        measured = None
        if found is not None:
            table = tables.download(found.rows, found.read.rows)
            measured = Measured(found.rows, tuple(found.groups), found.said, table)
        with units.using(read_in):
            return form.write(report(scenario, measured=measured, date=datetime.now(UTC), own=known))

    return write


def scenario_file(scenario: Scenario) -> None:
    """The scenario down and up, and what came of the last one that was opened."""
    st.download_button(
        "Download scenario",
        data=lambda: to_file(scenario),
        file_name="slmopt-scenario.json",
        mime="application/json",
        key="scenario_down",
        on_click="ignore",
        icon=":material/download:",
    )
    st.file_uploader(
        "Open a scenario file", type=["json"], max_upload_size=_LARGEST_MB, key=_UPLOAD, on_change=_take
    )
    for sentence in st.session_state.get(_RESTORED, ()):
        st.markdown(sentence)


def _take() -> None:
    file = st.session_state.get(_UPLOAD)
    if file is None:
        st.session_state[_RESTORED] = ()
        return
    try:
        found = from_file(file.getvalue())
    except SpecError as error:
        st.session_state[_RESTORED] = (f"✕ {marked(error, 300)}",)
        return
    lost = [marked(sentence, 400) for sentence in found.lost] + restore.take(found.scenario)
    st.session_state[_RESTORED] = (words.taken(len(lost)), *(f"- {sentence}" for sentence in lost))
