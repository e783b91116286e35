"""What a report says of itself: its headline numbers with their kinds apart, its assumptions, its origin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import escape, sequences, serving_changes

Side = Literal["most", "least"]

KINDS: Final = (
    (
        "ceiling",
        "□",
        "Ceiling",
        "a bound of physics: no honest measurement beats it. Written ≤, ≥, at most, at least.",
    ),
    ("estimate", "○", "Estimate", "what such devices reach, as a band (p10 to p90). Written ≈, about."),
    ("measured", "◆", "Measured", "from a benchmark file or a reference with its source. Written bare."),
)
"""Name, mark, word, meaning."""

NOTHING_MEASURED: Final = "Nothing measured is in this report."


@dataclass(frozen=True, slots=True)
class Fact:
    """A headline number under its kinds, as text; "–" where a kind has none."""

    what: str
    ceiling: str
    estimate: str


def headline(e: Evaluation) -> list[Fact]:
    """First token, time per token, throughput and capacity, ceilings and estimates apart."""
    s = e.setup.scenario
    # The one is a reply's mean, the other a step at the scenario's context.
    at = f" at {s.depth:,} tokens" if pace.as_speed() else ""
    facts = [
        _fact(e, f"First token, {s.prompt:,} prompt tokens", "least", n.seconds, _first_token),
        _fact(e, f"{pace.name()}, {sequences(s.batch)}", pace.side(), pace.shown, _per_token),
        _fact(e, f"Decode speed per user{at}", "most", n.tokens_per_s, lambda p: p.user_tokens_per_s),
    ]
    if s.batch > 1:
        facts.append(
            _fact(e, "Decode speed per device", "most", n.tokens_per_s, lambda p: p.device_tokens_per_s)
        )
    return [*facts, _capacity(e)]


def _first_token(phases: Phases) -> float:
    """Without a matrix rate memory alone bounds a prompt, but estimates none."""
    unknown = math.isnan(float(phases.prefill.compute_s))
    return math.nan if unknown and phases.prefill.kind == "estimate" else float(phases.latency.ttft_s)


def _per_token(phases: Phases) -> float:
    return float(phases.latency.tpot_s)


def _fact(
    e: Evaluation, what: str, side: Side, shown: Callable[..., str], get: Callable[[Phases], float]
) -> Fact:
    best = get(e.ceiling)
    slow, fast = get(e.estimate["slow"]), get(e.estimate["fast"])
    ceiling = n.UNKNOWN if math.isnan(best) else n.bounded(shown(best), "ceiling", side)
    if math.isnan(slow) or math.isnan(fast):
        return Fact(what, ceiling, n.UNKNOWN)
    low, high = (shown(value, 2) for value in ((slow, fast) if side == "most" else (fast, slow)))
    number, _, unit = low.partition(n.NBSP)
    return Fact(
        what, ceiling, n.span(number if high.endswith(f"{n.NBSP}{unit}") and low != high else low, high)
    )


def _capacity(e: Evaluation) -> Fact:
    c, s = e.capacity, e.setup.scenario
    what = f"Sequences that fit, {s.depth:,} tokens each"
    if c.usable is None:
        return Fact(what, n.UNKNOWN, n.UNKNOWN)
    return Fact(
        what, "any number" if c.max_sequences is None else f"at most {n.count(c.max_sequences)}", n.UNKNOWN
    )


def assumptions(e: Evaluation) -> list[str]:
    """Markdown: what the numbers take for granted."""
    setup, s = e.setup, e.setup.scenario
    low, middle, high = setup.factors.bandwidth
    c_low, c_middle, c_high = setup.factors.compute
    lines = [
        "A pass takes at least the larger of its memory time (bytes moved / bandwidth) and its compute time (operations / matrix rate).",
        (
            f"The estimate reaches {n.percent(low)}, {n.percent(middle)}, {n.percent(high)} of the bandwidth and {n.percent(c_low)}, "
            f"{n.percent(c_middle)}, {n.percent(c_high)} of the matrix rate (slow, typical, fast): {escape(setup.factors.origin)}."
        ),
        f"Decode and capacity are taken at {s.depth:,} cached tokens a sequence; the cache is {s.allocation}; engine: {escape(s.engine)}.",
        f"Matrix rate of the estimate: {escape(setup.decode.estimate_type)}, {escape(setup.decode.reason)}.",
        "Queueing, networks and tokenisation are not in the times.",
    ]
    if s.shared_prefix or s.prefix_hit:
        lines.append(
            f"{s.shared_prefix:,} tokens are shared by all sequences, {s.prefix_hit:,} of a prompt are cached already."
        )
    served = serving_changes(s)
    if served:
        lines.append(f"It serves in its own way: {escape(', '.join(served))}.")
    lines += [escape(warning) for warning in setup.warnings]
    if setup.model.assumed:
        lines.append(f"Assumed of the model: {escape('; '.join(setup.model.assumed))}.")
    return lines


def written(moment: datetime) -> str:
    """When a report was made: "2 January 2026, 15:04 UTC"; a moment without a zone is taken for UTC."""
    at = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"
