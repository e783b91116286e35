"""The Simulate page's own fields: policies, slots, rate, lengths, a trace."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import streamlit as st

from pages.ui import state
from slmopt.serving.asked import (
    KINDS,
    NOTHING,
    REQUESTS,
    RESERVED,
    Asked,
    Usual,
    asked,
    choices,
)
from slmopt.serving.played import policy_of
from slmopt.serving.policy import ADMISSIONS
from slmopt.serving.trace import read_trace
from slmopt.serving.traffic import ARRIVAL_KINDS, LENGTH_KINDS, Requests
from slmopt.specs.base import SpecError
from slmopt.theory.evaluation import Evaluation
from slmopt.words import numbers, simulation
from slmopt.words.measured_rows import marked

MOST_REQUESTS: Final = 100_000
MOST_TRACE_MB: Final = 64
# More take longer than a thumb stays at a stop.
_FORESEEN: Final = 1_000
_TRACE = "_slmopt_trace"
_WRONG = "_slmopt_trace_wrong"

# A trace that somebody uploaded: its digest, and its requests.
Trace = tuple[str, Requests] | None


def ask(evaluation: Evaluation) -> tuple[Asked, Trace]:
    """Draw the fields; raises :class:`~slmopt.specs.base.SpecError` where they contradict each other."""
    left, middle, right, last = st.columns(4)
    with left:
        # What the scenario's own server does stands first.
        own = policy_of(evaluation).admission
        kinds = [own, *(kind for kind in KINDS if kind != own)]
        first = st.selectbox("Policy", kinds, key="sim_policy", bind="query-params", format_func=_plain)
    with middle:
        others = [ADMISSIONS[1], NOTHING, *(kind for kind in KINDS if kind != ADMISSIONS[1])]
        beside = st.selectbox("Beside it", others, key="sim_beside", bind="query-params", format_func=_plain)
    with right:
        slots = number_entry("Slots", "sim_slots", Usual(evaluation).slots, most=4096)
    usual = Usual(evaluation, None if slots is None else int(slots))
    with last:
        rate = number_entry("Requests/s", "sim_rate", usual.rate, whole=False, most=1e6)
    entered = {"policy": first, "beside": beside, "slots": usual.chosen_slots, "rate": rate, **_more(usual)}
    chosen = choices({name: value for name, value in entered.items() if value is not None})
    trace: Trace = st.session_state.get(_TRACE)
    if trace is None and chosen.requests <= _FORESEEN:
        state.also_from(chosen.model_dump(mode="json", exclude_defaults=True))
    else:
        state.not_of_the_scenario_alone()
    return asked(evaluation, chosen), trace


def _plain(name: str) -> str:
    admission = name.removesuffix(RESERVED)
    return simulation.ADMISSION.get(admission, admission.capitalize()) + name[len(admission) :]


def number_entry(
    label: str, key: str, usual: float, *, whole: bool = True, most: float, least: float | None = None
) -> float | None:
    """Draw a nullable number and return what it holds; ``usual`` is what counts while it is empty."""
    low = (1 if whole else 1e-6) if least is None else least
    kind: Any = int if whole else float
    held: float | None = st.number_input(
        label,
        min_value=kind(low),
        max_value=kind(most),
        value=None,
        placeholder=numbers.trimmed(numbers.figures(usual, 6)),
        step=1 if whole else None,
        format="%d" if whole else "%.6g",
        key=key,
        bind="query-params",
    )
    return held


def _more(usual: Usual) -> dict[str, Any]:
    """The closed group: lengths, arrivals, budget, seed, a trace."""
    with st.expander(_state(), key="slm_sim_more"):
        first, second, third = st.columns(3)
        with first:
            requests = number_entry("Requests", "sim_requests", REQUESTS, most=MOST_REQUESTS)
            outputs = st.selectbox(
                "Replies",
                [LENGTH_KINDS[3], *LENGTH_KINDS[:3]],
                key="sim_output",
                bind="query-params",
                help="How reply lengths spread around the scenario's output.",
            )
        with second:
            arrivals = st.selectbox("Arrivals", ARRIVAL_KINDS, key="sim_arrivals", bind="query-params")
            prompts = st.selectbox("Prompts", LENGTH_KINDS, key="sim_prompt", bind="query-params")
        with third:
            hit = number_entry("Prompts that hit (0 to 1)", "sim_hit", 1, whole=False, most=1, least=0)
            seed = number_entry("Seed", "sim_seed", 0, most=2**31 - 1, least=0)
            budget = number_entry(
                "Tokens a pass, chunked", "sim_budget", usual.budget, most=1_000_000, least=2
            )
        _trace_field()
        st.markdown(
            ":small[Memory is given out as the panel's cache allocation says; a cached prefix and drafting too.]"
        )
    return {
        "requests": requests,
        "output_kind": outputs,
        "arrivals": arrivals,
        "prompt_kind": prompts,
        "hit_rate": hit,
        "seed": seed,
        "budget": budget,
    }


def _state() -> str:
    trace = st.session_state.get(_TRACE)
    if trace is not None:
        return f"Traffic · {len(trace[1]):,} requests of a trace"
    count = st.session_state.get("sim_requests") or REQUESTS
    return f"Traffic · {int(count):,} requests, {st.session_state.get('sim_arrivals') or ARRIVAL_KINDS[0]}"


def _trace_field() -> None:
    """The field for a trace; what it says stays in the session until it is removed."""
    turn = st.session_state.setdefault("_slmopt_trace_turn", 0)
    key = f"sim_trace_{turn}"
    st.file_uploader(
        "Or a trace: CSV of arrival_s, prompt_tokens, output_tokens",
        key=key,
        max_upload_size=MOST_TRACE_MB,
        on_change=_take_trace,
        args=(key,),
    )
    wrong = st.session_state.get(_WRONG)
    if wrong:
        st.markdown(f"✕ {marked(wrong, 300)}")
    if st.session_state.get(_TRACE) is not None:
        st.button("Remove the trace", on_click=_forget_trace)


def _take_trace(key: str) -> None:
    file = st.session_state.get(key)
    st.session_state[_WRONG] = ""
    if file is None:
        return
    content = file.getvalue()
    try:
        st.session_state[_TRACE] = (hashlib.sha256(content).hexdigest(), read_trace(content, file.name))
    except SpecError as wrong:
        st.session_state[_WRONG] = str(wrong)


def _forget_trace() -> None:
    st.session_state.pop(_TRACE, None)
    st.session_state["_slmopt_trace_turn"] += 1
