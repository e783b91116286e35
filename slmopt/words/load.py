"""What a load on a server says, for people."""

from __future__ import annotations

from slmopt.measured.load_summary import LoadSummary
from slmopt.words import numbers as n

FEWEST_FOR_P95 = 100
"""Requests below which a 95th percentile rests on fewer than five of them."""


def lines(found: LoadSummary) -> list[str]:
    """A level's figures, a line each."""
    told = [
        f"{found.level}: {_count(found.requests, 'request')} in {n.seconds(found.wall_s)}, {found.failures:,} failed",
        f"  first token     {_times(found.ttft)}",
        f"  each further    {_times(found.tpot)}",
        f"  whole request   {_times(found.e2e)}",
        f"  all together    {n.tokens_per_s(found.tokens_per_s)} of output",
    ]
    lengths = [
        f"{n.figures(value)} {what}"
        for value, what in ((found.prompt_tokens, "prompt tokens"), (found.output_tokens, "output tokens"))
        if value is not None
    ]
    if lengths:
        told.append(f"  mean lengths    {', '.join(lengths)}")
    return told + [f"  {text}" for text in notes(found)]


def notes(found: LoadSummary) -> list[str]:
    """What to beware of."""
    told = [f"failed {times:,} times: {why}" for why, times in found.errors[:5]]
    if found.no_usage:
        told.append(
            f"{_count(found.no_usage, 'answer')} told no usage, so their tokens are not known: chunks are not counted as tokens"
        )
    if 0 < found.requests < FEWEST_FOR_P95:
        told.append(
            f"the p95 rests on {_count(max(1, found.requests // 20), 'request')}: measure 100 or more"
        )
    if found.cached_tokens and found.prompt_tokens and found.cached_tokens > 0.05 * found.prompt_tokens:
        told.append(
            f"a prefix cache supplied {n.percent(found.cached_tokens / found.prompt_tokens)} of the prompt tokens"
        )
    if found.drift is not None and found.drift.real:
        way = "slower" if found.drift.change > 0 else "faster"
        told.append(
            f"the last third is {n.percent(abs(found.drift.change))} {way} than the first "
            f"({n.seconds(found.drift.first_s)} to {n.seconds(found.drift.last_s)}): "
            + ("throttling, or a cache that fills" if found.drift.change > 0 else "it was not warm at first")
        )
    return told


def _times(values: tuple[float | None, float | None, float | None]) -> str:
    middle, high, highest = (n.seconds(value) for value in values)
    return f"{middle} at the median, {high} at p95, {highest} at p99"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
