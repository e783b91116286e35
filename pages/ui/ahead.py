"""The figures of a page at other values of one field: what the browser asks for while a slider is in use.

Everything an answer needs is in the question, so that any copy of the server can give it, and nobody's session is read.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pages.ui import drawn, pins, simulated_runs, turns
from pages.ui.chart import payload
from slmopt.figures.named import Named
from slmopt.reports import pictures
from slmopt.reports.picture import Picture
from slmopt.serving.asked import Choices, asked, choices
from slmopt.serving.simulate import Cancelled
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import units

# An own model of many unlike layers is the largest thing that a scenario carries.
_LARGEST = 1_000_000
_MOST_VALUES = 4
# A run that takes longer comes too late for the thumb.
_LONGEST_RUN_S = 0.5


SIMULATE = "simulate"
FORESEEN = frozenset({*drawn.PAGES, SIMULATE})
"""Pages whose figures follow from the scenario, or from it and a few choices of the page's own."""


async def ahead(request: Request) -> Response:
    """`{"page", "field", "scenario", "values"}` in; out, for each value in turn, figures by key as the page sends them.

    Beside them may stand `pinned`, scenarios by letter, and `choices`, what a page adds of its own. A value that makes no
    valid scenario has no figures. What cannot be read is answered with 400 and one sentence.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST:
            return _refused(f"A question may have {_LARGEST:,} bytes; this one has more.")
    try:
        asked = json.loads(body)
        page, field = str(asked["page"]), str(asked["field"])
        held, values = dict(asked["scenario"]), list(asked["values"])
        pinned = {str(name): dict(one) for name, one in asked.get("pinned", {}).items()}
        own = dict(asked.get("choices", {}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _refused("Ask with a JSON object of page, field, scenario, values and pinned scenarios.")
    if page not in FORESEEN or field not in Scenario.model_fields:
        return _refused(f"Known are the pages {', '.join(sorted(FORESEEN))} and the scenario's fields.")
    if len(values) > _MOST_VALUES or len(pinned) > len(pins.LETTERS):
        return _refused(f"Ask for {_MOST_VALUES} values and {len(pins.LETTERS)} pinned scenarios at most.")
    try:
        beside = [Named(name, _valid(one)) for name, one in pinned.items()]
        chosen = choices(own)
    except SpecError as wrong:
        return _refused(f"Pinned scenario or choices: {wrong}")
    read_in = units.chosen(asked.get("sizes"), asked.get("speed"))
    answer = await run_in_threadpool(_answer, page, held, field, values, beside, chosen, read_in)
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(gzip.compress(answer, 3), headers={**headers, "Content-Encoding": "gzip"})
    return Response(answer, headers=headers)


def foreseen(
    page: str,
    held: Mapping[str, Any],
    field: str,
    values: Sequence[Any],
    pinned: pictures.Pinned = (),
    chosen: Choices | None = None,
) -> list[dict[str, str]]:
    """The page's figures by key, as the browser is sent them, for each value of the field beside what else is held."""
    return [
        {one.key: payload(one).decode() for one in _drawn(page, {**held, field: value}, pinned, chosen)}
        for value in values
    ]


def _drawn(
    page: str, values: Mapping[str, Any], pinned: pictures.Pinned, chosen: Choices | None
) -> Sequence[Picture]:
    try:
        scenario = _valid(values)
        return (
            _played(scenario, chosen or Choices())
            if page == SIMULATE
            else drawn.figures(page, scenario, pinned)
        )
    except (SpecError, Cancelled):
        return ()


def _played(scenario: Scenario, chosen: Choices) -> Sequence[Picture]:
    end = time.monotonic() + _LONGEST_RUN_S
    question = asked(evaluate(scenario), chosen)
    return simulated_runs.shown(
        scenario, question, None, lambda _, __: lambda _: time.monotonic() < end
    ).pictures


def _valid(values: Mapping[str, Any]) -> Scenario:
    asked = scenario(dict(values))
    resolve(asked)
    return asked


def _answer(
    page: str,
    held: Mapping[str, Any],
    field: str,
    values: Sequence[Any],
    pinned: pictures.Pinned,
    chosen: Choices,
    read_in: units.Units,
) -> bytes:
    found = []
    for value in values:
        # A turn for each: whoever waits for a page goes between them.
        with turns.TURNS.turn(), units.using(read_in):
            found += foreseen(page, held, field, [value], pinned, chosen)
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode()


def _refused(why: str) -> Response:
    return JSONResponse({"error": why}, status_code=400)


def _route() -> Route:
    # Streamlit puts its own routes below its base path, and those of others where they say.
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return Route(f"/{base}/ahead" if base else "/ahead", ahead, methods=["POST"])


ROUTE = _route()
