"""Figures of Simulate: who held which slot, waits as distributions, queue and memory over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import simulation as figures
from slmopt.figures.named import Named
from slmopt.reports import simulation_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving.outcome import Outcome
from slmopt.serving.series import Series, series, shared_window, timeline
from slmopt.specs.scenario import Scenario
from slmopt.words import simulation_page as words


def timelines(found: Sequence[Outcome]) -> list[Picture]:
    """One for each policy, on a common axis."""
    until = shared_window(list(found))
    drawn = []
    for at, one in enumerate(found):
        stays = timeline(one.run, until)
        drawn.append(
            Picture(
                f"simulate_timeline_{at}",
                words.timeline_title(one),
                words.timeline_alt(one, until),
                figures.timeline(stays, until),
                partial(tables.stays, stays),
                kinds=("estimate",) if not at else (),
            )
        )
    return drawn


def waits(found: Sequence[Outcome], scenario: Scenario) -> tuple[Picture, Picture]:
    """First tokens and gaps, a line for each policy, beside the scenario's targets."""
    ttft = [Named(one.name, one.result.ttft) for one in _named(found)]
    gaps = [Named(one.name, one.result.gap) for one in _named(found)]
    first, gap, who = words.first_title(found, scenario.target_ttft_s), words.gap_title(found), _who(found)
    return (
        Picture(
            "simulate_ttft",
            first,
            f"{first}. Share of requests against the wait for their first token, for {who}.",
            figures.waits(ttft, "First token", "Requests that wait no longer (%)", scenario.target_ttft_s),
            partial(tables.distribution, ttft),
        ),
        Picture(
            "simulate_gaps",
            gap,
            f"{gap}. Share of tokens against the wait since the one before, for {who}.",
            figures.waits(
                gaps, "Gap between tokens", "Tokens that wait no longer (%)", scenario.target_tpot_s
            ),
            partial(tables.distribution, gaps),
        ),
    )


def over_time(found: Sequence[Outcome]) -> tuple[Picture, Picture]:
    """The queue, and the memory for caches."""
    times: list[Named[Series]] = [Named(one.name, series(one.result.run)) for one in _named(found)]
    queue, memory, who = words.queue_title(found), words.memory_title(found), _who(found)
    return (
        Picture(
            "simulate_queue",
            queue,
            f"{queue}. Requests that wait over time, for {who}.",
            figures.queue(times),
            partial(tables.over_time, times),
        ),
        Picture(
            "simulate_memory",
            memory,
            f"{memory}. Cache held over time, for {who}.",
            figures.memory(times, found[0].run.room.size),
            partial(tables.requests, found[0]),
        ),
    )


def pictures(found: Sequence[Outcome], scenario: Scenario) -> tuple[Picture, ...]:
    """All of them, from top to bottom."""
    return (*timelines(found), *waits(found, scenario), *over_time(found))


def _who(found: Sequence[Outcome]) -> str:
    return " and ".join(words.policy_name(one) for one in found)


def _named(found: Sequence[Outcome]) -> list[Named[Outcome]]:
    """Outcomes with their policies' names; a single one needs none."""
    return [Named(words.policy_name(one) if len(found) > 1 else "", one) for one in found]
