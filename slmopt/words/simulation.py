"""What a simulated run says: one sentence, tiles, and lines for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from slmopt.serving.outcome import Goodput, Outcome, Weighted
from slmopt.words import numbers as n
from slmopt.words import pace

Tiles = list[tuple[str, str, str, str]]

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "larger_than_memory": "larger than the memory",
        "no_output": "no token asked for",
        "no_prompt": "an empty prompt",
        "negative_time": "a time below 0",
        "no_time": "no time of arrival",
    }
)
ADMISSION: Mapping[str, str] = MappingProxyType(
    {"continuous": "Continuous batching", "static": "Static batches", "chunked": "Chunked prefill"}
)

TTFT_HELP = "From arrival to the first token, the queue included. p95: nineteen of twenty wait no longer."
GAP_HELP = "The wait between two tokens of one reply, prompts of others included."
SLOTS_HELP = "Of the slot-steps that requests held, those that gave a token. A static group keeps its slots to its end."
GOOD_HELP = "Requests that met both targets, of all that arrived."


def spread(values: Weighted) -> str:
    """p50, p95 and p99 of times."""
    return ", ".join(f"p{percent} {n.seconds(values.percentile(percent), 2)}" for percent in (50, 95, 99))


def answer(found: Outcome) -> str:
    """The run in one sentence, the cause first."""
    if not found.completed:
        return f"Nothing could be served: {refused(found)}."
    if found.saturated:
        growth = n.figures(found.queue_growth_per_s, 2)
        return f"Overloaded: the queue grows by about **{growth} requests/s**, so waits have no end."
    first = n.seconds(found.ttft.percentile(95), 2)
    token = pace.shown(found.tpot.percentile(95), 2)
    if pace.as_speed():
        return (
            f"The server keeps up: 95{n.NBSP}% wait at most about **{first}** for the first token "
            f"and get at least about **{token}** after it."
        )
    return (
        f"The server keeps up: 95{n.NBSP}% wait at most about **{first}** for the first token "
        f"and **{token}** for each further one."
    )


def refused(found: Outcome) -> str:
    """How many requests no server could take, and why; empty where all were served."""
    return ", ".join(f"{count:,} {REASONS[why]}" for why, count in found.run.rejected.items())


def tiles(found: Outcome, good: Goodput) -> Tiles:
    """Label, value, note and help of the headline figures."""
    endless = found.saturated
    ttft, gap = found.ttft, found.gap
    first_scale, first_unit = _unit(ttft.percentile(95))
    gap_scale, gap_unit = _unit(gap.percentile(99))
    return [
        (
            f"First token, p95 ({first_unit})",
            n.NEVER if endless else f"≈{n.NBSP}{n.figures(ttft.percentile(95) / first_scale, 2)}",
            "the queue grows without bound"
            if endless
            else f"half within {n.seconds(ttft.percentile(50), 2)}",
            TTFT_HELP,
        ),
        (
            f"Gap between tokens, p99 ({gap_unit})",
            f"≈{n.NBSP}{n.figures(gap.percentile(99) / gap_scale, 2)}",
            f"worst {n.seconds(gap.worst, 2)}",
            GAP_HELP,
        ),
        (
            "Slots at work",
            n.percent(found.slot_utilisation),
            f"{n.figures(found.mean_batch)} of {found.run.policy.slots:,} busy in a step",
            SLOTS_HELP,
        ),
        (
            "Within targets",
            n.percent(good.share),
            f"≈{n.NBSP}{n.tokens_per_s(found.output_tokens_per_s, 2)} in all",
            GOOD_HELP,
        ),
    ]


def _unit(value: float) -> tuple[float, str]:
    """Seconds in a tile's unit, and its name; ms where there is no value."""
    return (1e-3, "ms") if math.isnan(value) else n.time_scale(value, 2)


def report_lines(found: Outcome, good: Goodput | None) -> list[list[str]]:
    """Rows of the terminal's table."""
    run = found.run
    endless = found.saturated
    unbounded = "grows without bound"
    rows = [
        ["requests", f"{found.completed:,} completed, {found.rejected:,} rejected"],
        ["first token", unbounded if endless else f"about {spread(found.ttft)}"],
        ["each further token", f"about {spread(found.tpot)}"],
        ["gap between tokens", f"about {spread(found.gap)}, worst {n.seconds(found.gap.worst, 2)}"],
        ["whole reply", unbounded if endless else f"about {spread(found.e2e)}"],
        ["output of the device", f"about {n.tokens_per_s(found.output_tokens_per_s, 2)}"],
        ["sequences a step", f"{n.figures(found.mean_batch)} of {run.policy.slots:,} slots"],
        ["slots in use", n.percent(found.slot_utilisation)],
        ["cache at its fullest", fullest(found)],
    ]
    if run.preempted:
        rows.append(["preempted", f"{run.preempted:,} times, and computed again"])
    if found.rejected:
        rows.append(["rejected", refused(found)])
    if run.requests.sorted_in:
        rows.append(
            ["trace", f"{run.requests.sorted_in:,} requests stood behind a later one, and were sorted in"]
        )
    if good is not None:
        rows.append(
            ["within the targets", f"{n.percent(good.share)}, {n.figures(good.requests_per_s, 2)} requests/s"]
        )
    return rows


def fullest(found: Outcome) -> str:
    """Cache bytes held at the most, of the memory for them."""
    held = n.bytes_(found.peak_kv_bytes)
    size = found.run.room.size
    return held if size == float("inf") else f"{held} of {n.bytes_(size)}"


def policy_line(found: Outcome) -> str:
    """Policy, memory and rates of the run."""
    p = found.run.policy
    budget = f", {p.token_budget:,} tokens a pass" if p.admission == "chunked" else ""
    rates = "the ceiling's rates" if p.rates == "ceiling" else f"{p.rates} rates of the estimate"
    return f"{ADMISSION[p.admission]}{budget}, {p.memory} cache, {p.slots:,} slots, {rates}"
