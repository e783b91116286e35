"""The Plan's sections that ask something of the visitor: order, solve, formats, checklist, search."""

from __future__ import annotations

from typing import cast

import streamlit as st

from pages.ui import parts, simulated_runs
from pages.ui.chart import chart
from pages.ui.judging import JUDGED_KEY, Gathered
from slmopt.advice.checklist import checklist
from slmopt.advice.goals import goals
from slmopt.advice.measures import At
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.observed import Observed, observe
from slmopt.advice.order import stack, target
from slmopt.advice.quality import Scores, best_format, formats_compared
from slmopt.advice.search import Wanted, meeting, search
from slmopt.advice.solve import TARGETS, VARIABLES, Variable, devices_that_meet, solve
from slmopt.readers.score_file import read_scores
from slmopt.reports import advice_tables as tables
from slmopt.reports import search_tables
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import plan as plan_pictures
from slmopt.reports.pictures import quality as quality_pictures
from slmopt.reports.pictures import search as search_pictures
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import checklist as checklist_words
from slmopt.words import goals as goal_words
from slmopt.words import order as order_words
from slmopt.words import pace
from slmopt.words import played as played_words
from slmopt.words import quality as quality_words
from slmopt.words import search as search_words
from slmopt.words import solve as solve_words
from slmopt.words.measured_rows import marked
from slmopt.words.scenario_line import escape

_TASK, _VALID = "score_of_", "valid_of_"
_TICK = "check_"
DEVICE = "device"
_FILE = "quality_file"
_WRONG = "_slmopt_scores_wrong"


def waterfall(scenario: Scenario, usual: Picture) -> None:
    """Gains stacked, for a measure and an order that the visitor chooses; ``usual`` is that of the whole reply, best first."""
    left, right = st.columns([7, 3])
    with left:
        measure = parts.segments("Measure", order_words.measures(), "reply", "plan_measure")
    with right:
        order = parts.segments("Order", order_words.ORDERS, "best", "plan_order")
    found = stack(scenario, measure, order)
    first = (measure, order) == ("reply", "best")
    chart(usual if first else plan_pictures.waterfall(found, target(scenario, measure)))
    if found.steps:
        st.markdown(f":small[{order_words.NOTE}]")
        lines = enumerate(order_words.lines(found), start=1)
        st.markdown("\n".join(f"{at}. {line}" for at, line in lines))


def solve_for(scenario: Scenario) -> None:
    """The input that just meets a target, or the devices that do."""
    section = st.expander("Solve for an input", key="slm_solve", on_change="rerun")
    if not section.open:
        return
    with section:
        asked, name, value, level = st.columns(4)
        with asked:
            variable = st.selectbox(
                "Solve for",
                [*VARIABLES, DEVICE],
                format_func=lambda v: "preset devices" if v == DEVICE else goal_words.INPUTS[v][0],
                key="solve_for",
                persist_state="session",
            )
        # Streamlit also asks for a name outside of this run, where no units are in use.
        names = {t: f"{goal_words.name(of)} ({unit})" for t, (of, _, unit) in TARGETS.items()}
        names["tpot_ms"] = pace.label()
        with name:
            aimed = st.selectbox(
                "Target",
                list(TARGETS),
                index=1,
                format_func=names.__getitem__,
                key="solve_target",
                persist_state="session",
            )
        with value:
            speed = aimed == "tpot_ms" and pace.as_speed()
            # A speed is another number than a time, and kept apart from it.
            usual, key = (50.0, "solve_speed") if speed else (20.0, "solve_value")
            wanted = st.number_input("Value", min_value=0.0, value=usual, key=key, persist_state="session")
        with level:
            compared = st.selectbox(
                "Compared",
                list(solve_words.LEVELS),
                index=2,
                key="solve_level",
                persist_state="session",
                format_func=lambda v: solve_words.LEVELS[v],
            )
        at = cast("At", compared)
        if not wanted > 0:
            parts.error_box("The target's value is 0: give one above 0.", "slm_solve_error")
            return
        if speed:
            wanted = 1e3 / wanted
        if variable == DEVICE:
            found = devices_that_meet(scenario, aimed, wanted, at)
        else:
            found = solve(scenario, cast("Variable", variable), aimed, wanted, at)
        st.markdown(solve_words.sentence(found))
        if found.devices:
            parts.data_table(tables.devices(found), "slmopt-devices.csv")


def formats(scenario: Scenario) -> None:
    """Speed against the visitor's own evaluation of each format."""
    # A label that changed would close the section under the visitor's hands.
    section = st.expander(quality_words.HEAD, key="slm_quality", on_change="rerun")
    if not section.open:
        return
    rows = formats_compared(scenario, entered_scores())
    with section:
        st.markdown(quality_words.ASK)
        st.file_uploader(
            quality_words.FILE,
            type=["csv", "tsv", "txt"],
            max_upload_size=1,
            key=_FILE,
            on_change=_take_scores,
        )
        if wrong := st.session_state.get(_WRONG):
            parts.error_box(marked(wrong, 300), "slm_scores_error")
        for row in rows:
            told, score, valid = st.columns([3, 2, 2], vertical_alignment="bottom")
            told.markdown(quality_words.row(row))
            with score:
                _score("Task score", f"{_TASK}{row.id}", row.name)
            with valid:
                _score("Valid replies (0 to 1)", f"{_VALID}{row.id}", row.name, 1.0)
        left, right = st.columns(2)
        with left:
            st.number_input(
                "Good enough from (task score)", value=None, key="quality_floor", persist_state="session"
            )
        with right:
            _score("Good enough from (valid replies)", "quality_validity_floor", "", 1.0)
        scores = entered_scores()
        judged = formats_compared(scenario, scores)
        st.markdown(quality_words.verdict(judged, best_format(judged), scores))
        picture = quality_pictures.speed_against_quality(judged, scores)
        if picture is not None:
            chart(picture)


def _take_scores() -> None:
    file = st.session_state.get(_FILE)
    st.session_state[_WRONG] = ""
    if file is None:
        return
    try:
        found = read_scores(file.getvalue())
    except SpecError as error:
        st.session_state[_WRONG] = str(error)
        return
    for one in found:
        st.session_state[f"{_TASK}{one.format_id}"] = one.score
        st.session_state[f"{_VALID}{one.format_id}"] = one.valid


def _score(label: str, key: str, of: str, most: float | None = None) -> None:
    st.number_input(
        f"{label}{f', {of}' if of else ''}",
        0.0 if most is not None else None,
        most,
        None,
        key=key,
        persist_state="session",
    )


def entered_scores() -> Scores:
    """What the visitor's own evaluation gave, as far as it was entered."""
    held: dict[str, dict[str, float]] = {_TASK: {}, _VALID: {}}
    for key, value in st.session_state.items():
        for prefix, found in held.items():
            if str(key).startswith(prefix) and isinstance(value, int | float):
                found[str(key).removeprefix(prefix)] = float(value)
    return Scores(
        held[_TASK],
        st.session_state.get("quality_floor"),
        held[_VALID],
        st.session_state.get("quality_validity_floor"),
    )


def checks(scenario: Scenario, observed: Observed | None) -> None:
    """The checklist, filled by the scenario; ticks are the visitor's own and live as long as the session."""
    section = st.expander("Checklist", key="slm_checklist", on_change="rerun")
    if not section.open:
        return
    items = checklist(scenario, observed, entered_scores())
    by_hand = ticked()
    done = sum(item.state == "done" or item.id in by_hand for item in items)
    with section:
        st.markdown(f":small[{done} of {len(items)} done · {checklist_words.LEGEND}]")
        for kind, head in checklist_words.HEADS.items():
            st.markdown(f"**{head}**")
            for item in items:
                if item.kind != kind:
                    continue
                line = escape(checklist_words.line(item))
                if item.state == "done":
                    st.markdown(line)
                else:
                    st.checkbox(line, key=f"{_TICK}{item.id}", persist_state="session")


def ticked() -> frozenset[str]:
    """Ids of the items that the visitor ticked."""
    return frozenset(
        str(key).removeprefix(_TICK)
        for key, value in st.session_state.items()
        if str(key).startswith(_TICK) and value is True
    )


def find(scenario: Scenario) -> None:
    """Devices × formats × techniques that meet the targets; computed only once the section is open."""
    section = st.expander("Search devices and formats", key="slm_search", on_change="rerun")
    if not section.open:
        return
    with section:
        against = parts.segments("Against", search_words.NAMES, "power_w", "search_against")
        found = search(scenario)
        wanted = Wanted.of(scenario)
        rows = meeting(found, wanted, entered_scores())
        st.markdown(search_words.answer(len(found), rows))
        if rows.empty:
            return
        picture = search_pictures.front(rows, against, wanted.tpot_s)
        if picture is None:
            st.markdown(search_words.NO_AXIS[against])
            return
        chart(picture)
        st.markdown(f":small[{search_words.QUALITY}]")
        parts.data_table(search_tables.ranked(rows, against, 50), "slmopt-search.csv")


def targets(scenario: Scenario) -> None:
    """Every target with its verdict, and the smallest changes that meet those that are missed."""
    judged = goals(evaluate(scenario))
    if not judged:
        return
    st.markdown("#### Targets")
    lines = [goal_words.sentence(goal) for goal in judged]
    lines += [goal_words.ways_sentence(goal, ways) for goal, ways in smallest_changes(scenario)]
    if scenario.request_rate is not None and len(lines) > len(judged):
        lines.append(played_words.CLOSED)
    st.markdown("\n".join(f"- {line}" for line in lines))


def play_requests(scenario: Scenario) -> None:
    """Where a rate is given: the 95th percentiles of a simulation, on request, beside the closed form's."""
    if scenario.request_rate is None:
        return
    asked = st.toggle(played_words.ASK, key="plan_play", help=played_words.HELP)
    if not asked:
        return
    try:
        found = simulated_runs.played(scenario)
    except SpecError as wrong:
        parts.error_box(str(wrong), "slm_play_error")
        return
    lines = played_words.lines(found)
    lines += [line for goal in goals(evaluate(scenario)) if (line := played_words.verdict(found, goal))]
    st.markdown("\n".join(f"- {line}" for line in lines))


def observed(scenario: Scenario) -> Observed | None:
    """What uploaded files say of this scenario's model and device; None where none do."""
    judged = st.session_state.get(JUDGED_KEY)
    return observe(judged.rows, resolve(scenario)) if isinstance(judged, Gathered) else None
