"""Scenarios side by side: their figures, and how each stands against the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slmopt.figures.named import Named
from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.comparison import about, differences


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of one scenario: its bound; and its typical estimate, with how that stands against the first scenario's."""

    text: str
    against: str


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario: its letter, what it is or what differs from the first, and its figures in the order of :func:`heads`."""

    name: str
    about: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class _Metric:
    """A figure of a phase's ceiling, and its gain as a ratio of estimates: ratios of bounds bound nothing."""

    head: str
    of: Callable[[Phases], float]
    show: Callable[[float, int], str]
    sign: str
    better: str
    worse: str
    less: bool


def _metrics() -> tuple[_Metric, ...]:
    return (
        _Metric("First token", lambda p: float(p.latency.ttft_s), n.seconds, "≥", "faster", "slower", True),
        _Metric(
            pace.name(),
            lambda p: float(p.latency.tpot_s),
            pace.shown,
            pace.ceiling_sign(),
            "faster",
            "slower",
            True,
        ),
        _Metric("Device", lambda p: p.device_tokens_per_s, n.tokens_per_s, "≤", "more", "less", False),
    )


def heads() -> tuple[str, ...]:
    """What a row's figures are of."""
    return (*(metric.head for metric in _metrics()), "Sequences that fit")


def rows(shown: Sequence[Named[Evaluation]]) -> list[Row]:
    """A row for each scenario; the first is what the others are held against."""
    first = shown[0].result
    made = [_row(shown[0].name, about(first.setup.scenario), first, None)]
    made += [
        _row(one.name, differences(first.setup.scenario, one.result.setup.scenario), one.result, first)
        for one in shown[1:]
    ]
    return made


def _row(name: str, described: str, e: Evaluation, first: Evaluation | None) -> Row:
    cells = [_cell(metric, e, first) for metric in _metrics()]
    fit = e.capacity.max_sequences
    then = None if first is None else first.capacity.max_sequences
    against = _factor(fit, then, "more", "fewer", less=False)
    return Row(name, described, (*cells, Cell(n.UNKNOWN if fit is None else n.count(fit), against)))


def _cell(metric: _Metric, e: Evaluation, first: Evaluation | None) -> Cell:
    text = f"{metric.sign}{n.NBSP}{metric.show(metric.of(e.ceiling), 3)}"
    typical = metric.of(e.typical)
    then = None if first is None else metric.of(first.typical)
    gain = _factor(typical, then, metric.better, metric.worse, less=metric.less)
    about_it = f"≈{n.NBSP}{metric.show(typical, 2)}" if math.isfinite(typical) else ""
    return Cell(text, ", ".join(part for part in (about_it, gain) if part))


def _factor(value: float | None, then: float | None, better: str, worse: str, *, less: bool) -> str:
    """How a value stands against another: "2.00× faster", "the same", or nothing where one is not known or zero."""
    if not value or not then:
        return ""
    gain = then / value if less else value / then
    if abs(gain - 1) < 0.005:
        return "the same"
    return f"{n.factor(max(gain, 1 / gain))} {better if gain > 1 else worse}"
