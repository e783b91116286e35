"""What the checks on a benchmark say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from slmopt.measured.findings import Finding
from slmopt.words import numbers as n
from slmopt.words.measured_rows import short

Values = Mapping[str, float]


def head(found: Sequence[Finding]) -> str:
    """The title of the list."""
    many = len(found) != 1
    return f"{len(found):,} check{'s' if many else ''} on the benchmark itself {'ask' if many else 'asks'} for attention"


def sentence(found: Finding) -> str:
    """One finding, plain text."""
    where = f"{short(found.file, 40)}: " if found.file else ""
    return where + _SENTENCES[found.code](found, found.values)


def _rows(found: Finding) -> str:
    return f"{found.rows:,} row{'' if found.rows == 1 else 's'}"


def _span(v: Values) -> str:
    low, high = n.count(v["low"]), n.count(v["high"])
    return low if low == high else f"{low} to {high}"


_SENTENCES: Final[dict[str, Callable[[Finding, Values], str]]] = {
    "failures": lambda f, v: (
        f"{v['failed']:,.0f} requests failed ({n.percent(v['share'])}) in {_rows(f)}: a speed over the rest flatters a server that refuses work."
    ),
    "empty": lambda f, _: f"{_rows(f)} generated nothing: failures that were counted as successes.",
    "not_measured": lambda f, _: (
        f"{_rows(f)} {'says' if f.rows == 1 else 'say'} that they were computed and not measured: leave them out."
    ),
    "proportional": lambda f, _: (
        f"the speed of {_rows(f)} is exactly proportional to the batch, as no machine's is: likely extrapolated from one of them."
    ),
    "duplicates": lambda f, _: (
        f"{_rows(f)} {'is' if f.rows == 1 else 'are'} there twice, to the last digit: count them once."
    ),
    "prefix": lambda f, v: (
        f"a prefix cache supplied {n.percent(v['share'])} of the prompt in {_rows(f)}: their first token is not that of a new prompt."
    ),
    "queueing": lambda _, v: (
        f"the first token takes {n.figures(v['ratio'])} times as long at {n.count(v['most'])} at once as alone: that is waiting, not prefill."
    ),
    "cold": lambda _, v: (
        f"the first request took {n.figures(v['ratio'])} times as long as the others: a cold start is among what was timed."
    ),
    "warmup": lambda _, v: (
        f"the first request took {n.figures(v['ratio'])} times as long as the others: leave the warm-up out."
    ),
    "cold_rows": lambda f, _: (
        f"{_rows(f)} {'is' if f.rows == 1 else 'are'} of a cold start: no measure of a server that runs."
    ),
    "drift": lambda _, v: (
        f"the last third is {n.percent(abs(v['change']))} {'slower' if v['change'] > 0 else 'faster'} than the first "
        f"({n.seconds(v['first_s'])} to {n.seconds(v['last_s'])} a token): "
        + (
            "it throttles, so burst and sustained speed are two figures."
            if v["change"] > 0
            else "it was not warm at first."
        )
    ),
    "busy": lambda f, v: (
        f"repeats of {_rows(f)} spread by more than 5{n.NBSP}%, one by {n.percent(v['most'])}: the machine was busy; measure again."
    ),
    "p95": lambda f, v: (
        f"a p95 of {v['requests']:,.0f} requests rests on fewer than five of them in {_rows(f)}: {v['least']:,.0f} or more are needed."
    ),
    "p99": lambda f, v: (
        f"a p99 of {v['requests']:,.0f} requests rests on fewer than five of them in {_rows(f)}: {v['least']:,.0f} or more are needed."
    ),
    "context": lambda _, v: (
        f"measured at {_span(v)} tokens of context, and the scenario has {n.count(v['wanted'])}: measure at the lengths that will run."
    ),
    "batch": lambda _, v: (
        f"measured with {_span(v)} at once, and the scenario has {n.count(v['wanted'])}: measure at the load that will run."
    ),
}
