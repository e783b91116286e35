"""What playing the requests says beside the closed form, and why the two differ."""

from __future__ import annotations

import math

from slmopt.advice.goals import Goal, meets
from slmopt.serving.played import Played
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.simulation import ADMISSION

AGREE = 0.1
"""Shares by which both may differ and still be said to agree: what 500 requests leave open."""
ASK = "Play the requests"
HELP = "Simulates 500 requests at this rate, pass by pass, and shows their 95th percentiles beside the closed form's."
CLOSED = "The changes named here are found with the closed form."


def lines(found: Played) -> list[str]:
    """Sentences in Markdown: both figures of each time, then what makes the difference."""
    o, closed = found.outcome, found.closed
    rate = n.trimmed(n.figures(found.rate))
    how = ADMISSION[o.run.policy.admission].lower()
    head = (
        f"**Played**: {o.completed:,} requests at {rate} a second, {how}, {found.slots:,} "
        f"slot{'' if found.slots == 1 else 's'}."
    )
    said = [head, _both("First token at p95", found.ttft_p95_s, closed.ttft_p95_s)]
    if not math.isnan(found.tpot_p95_s):
        said.append(_speeds(found.tpot_p95_s, closed.tpot_p95_s))
    return [*said, *reasons(found)]


def _both(what: str, played: float, closed: float) -> str:
    return f"**{what}**: {_time(played)} played, {_time(closed)} by the closed form{_apart(played, closed)}."


def _speeds(played: float, closed: float) -> str:
    what = f"{pace.name()} at {pace.percentile()}"
    apart = _apart(played, closed, inverse=pace.as_speed())
    return f"**{what}**: {_speed(played)} played, {_speed(closed)} by the closed form{apart}."


def _apart(played: float, closed: float, *, inverse: bool = False) -> str:
    """By how much two times differ; ``inverse``: their inverses, told apart where the times are."""
    if not (math.isfinite(played) and math.isfinite(closed)) or not closed:
        return ""
    share = played / closed - 1.0
    if abs(share) < AGREE:
        return ": they agree"
    if inverse and played:
        share = closed / played - 1.0
    return f": {n.percent(abs(share))} {'more' if share > 0 else 'less'}"


def _time(seconds: float) -> str:
    return n.NEVER if math.isinf(seconds) else f"about {n.seconds(seconds, 2)}"


def _speed(seconds: float) -> str:
    return n.NEVER if math.isinf(seconds) else f"about {pace.shown(seconds, 2)}"


def reasons(found: Played) -> list[str]:
    """Why the two differ here, each with its number; empty where they agree."""
    o, closed, run = found.outcome, found.closed, found.outcome.run
    said = []
    if o.saturated:
        said.append(
            f"Arrivals outrun the server: the line grows by {n.trimmed(n.figures(o.queue_growth_per_s, 2))} requests a second, "
            "so a first token comes later the longer one looks."
        )
    elif closed.saturated is not None:
        said.append(
            "By the closed form this load has no end of waiting; a run is short, so its percentiles would still grow."
        )
    if run.preempted:
        said.append(
            f"Memory ran out {run.preempted:,} time{'' if run.preempted == 1 else 's'}: a sequence lost its cache and came "
            "again, which the closed form does not count."
        )
    apart = [_apart(found.ttft_p95_s, closed.ttft_p95_s), _apart(found.tpot_p95_s, closed.tpot_p95_s)]
    if all("agree" in one or not one for one in apart):
        return said
    said.append(_model(found))
    drawn = run.requests.rate
    if math.isfinite(drawn) and abs(drawn / found.rate - 1.0) > 0.03:
        said.append(
            f"This run drew {n.trimmed(n.figures(drawn))} requests a second by chance in place of "
            f"{n.trimmed(n.figures(found.rate))}."
        )
    return said


def _model(found: Played) -> str:
    """What the closed form leaves out of how these requests are admitted."""
    o, closed = found.outcome, found.closed
    admission = o.run.policy.admission
    mean = n.trimmed(n.figures(o.mean_batch, 2))
    expected = n.trimmed(n.figures(closed.sequences, 2)) if math.isfinite(closed.sequences) else n.UNKNOWN
    together = (
        f"{mean} sequences decoded together while any did; {expected} over all the time by the closed form"
    )
    if admission == "static":
        return (
            f"The closed form takes every group as large as the mean; played, groups grow and shrink with what has arrived, "
            f"and a reply that meets a large group takes longer ({together})."
        )
    if admission == "chunked":
        return (
            "The closed form feeds one prompt at a time in whole chunks; played, several waiting prompts share the tokens of "
            f"a pass, and a pass with few streams feeds more of them ({together})."
        )
    return (
        "The closed form lets prompts pass in turn and takes their time evenly from all streams; played, whoever waits is "
        "prefilled before anyone decodes on, so a stream stands still for each whole prompt that arrives or already waits, and "
        f"a short reply meets none or several ({together})."
    )


def verdict(found: Played, goal: Goal) -> str:
    """Whether a target holds when the requests are played; empty for targets that no queue concerns."""
    value = value_of(found, goal.name)
    if value is None or math.isnan(value):
        return ""
    met = meets(goal.name, value, goal.target)
    first = goal.name == "ttft"
    name, shown = ("First token", _time(value)) if first else (pace.name(), _speed(value))
    at = "p95" if first else pace.percentile()
    return f"{'✓' if met else '✕'} **{name}** played at {at}: {shown}, {'met' if met else 'missed'}."


def value_of(found: Played, name: str) -> float | None:
    """The played 95th percentile of a target's measure; None for measures that it does not give."""
    return {"ttft": found.ttft_p95_s, "tpot": found.tpot_p95_s}.get(name)
