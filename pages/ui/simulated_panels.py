"""The Simulate page's side figures: waits as distributions, and queue and memory over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from slmopt.figures import simulation as figures
from slmopt.figures.named import Named
from slmopt.reports import simulation_tables as tables
from slmopt.reports.picture import Picture
from slmopt.serving.outcome import Outcome
from slmopt.serving.series import series
from slmopt.words import simulation_page as words


def waits(found: Sequence[Outcome], names: Sequence[str], ttft_s: float | None, tpot_s: float | None) -> None:
    """First tokens and gaps, a line for each policy."""
    shown = _named(found, names)
    left, right = side_by_side()
    with left:
        ttft = [Named(one.name, one.result.ttft) for one in shown]
        title = words.first_title(found, ttft_s)
        chart(
            Picture(
                "simulate_ttft",
                title,
                f"{title}. Share of requests against the wait for their first token, for {' and '.join(names)}.",
                figures.waits(ttft, "First token", "Requests that wait no longer (%)", ttft_s),
                partial(tables.distribution, ttft),
            )
        )
    with right:
        gaps = [Named(one.name, one.result.gap) for one in shown]
        title = words.gap_title(found)
        chart(
            Picture(
                "simulate_gaps",
                title,
                f"{title}. Share of tokens against the wait since the one before, for {' and '.join(names)}.",
                figures.waits(gaps, "Gap between tokens", "Tokens that wait no longer (%)", tpot_s),
                partial(tables.distribution, gaps),
            )
        )


def over_time(found: Sequence[Outcome], names: Sequence[str]) -> None:
    """The queue, and the memory for caches."""
    times = [Named(one.name, series(one.result.run)) for one in _named(found, names)]
    left, right = side_by_side()
    with left:
        title = words.queue_title(found)
        chart(
            Picture(
                "simulate_queue",
                title,
                f"{title}. Requests that wait over time, for {' and '.join(names)}.",
                figures.queue(times),
                partial(tables.over_time, times),
            )
        )
    with right:
        title = words.memory_title(found)
        chart(
            Picture(
                "simulate_memory",
                title,
                f"{title}. Cache held over time, for {' and '.join(names)}.",
                figures.memory(times, found[0].run.pool.size),
                partial(tables.requests, found[0]),
            )
        )


def _named(found: Sequence[Outcome], names: Sequence[str]) -> list[Named[Outcome]]:
    """Outcomes with their policies' names; a single one needs none."""
    return [Named(name if len(found) > 1 else "", one) for name, one in zip(names, found, strict=True)]
