"""Why measured rows lie where they do: short words for the reasons of :mod:`slmopt.measured.verdicts`, and what rows ask for.

``rows`` is the table of :func:`slmopt.reports.measurement_tables.joined`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from slmopt.measured.distinct import kept
from slmopt.words import numbers as n
from slmopt.words.measured_rows import marked

SLOW: Final = ("below_typical", "far_below")

_MOST_LISTED = 4


def top_reason(rows: pd.DataFrame) -> str:
    """The reason that comes first for most of these rows; empty where none has one."""
    firsts: dict[str, int] = {}
    for codes, number in _counts(rows):
        first = codes.split("|")[0]
        firsts[first] = firsts.get(first, 0) + number
    firsts.pop("", None)
    # Of equally many the first by name, whatever order the rows have.
    return min(firsts, key=lambda name: (-firsts[name], name), default="")


def _counts(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """The joined reason codes of rows and how many rows have each, most first."""
    counts = rows["reasons"].value_counts()
    return [(str(codes), int(number)) for codes, number in counts.items() if number]


ABOVE: Final = {
    "fast_kernels": ("Kernels faster than the stated matrix rate are likely", "faster kernels than the rate"),
    "active_experts": ("Experts that are read only in part are likely", "experts read in part"),
    "speculation": ("Undeclared speculation is likely", "undeclared speculation"),
    "prefix_cache": ("A prefix cache is likely", "a prefix cache"),
    "cache_resident": ("Weights that stay in the processor's cache are likely", "weights that stay in cache"),
    "more_devices": ("More devices than the file states are likely", "more devices than stated"),
    "wrong_input": (
        "Bandwidth, rate or file are likely not those that ran",
        "another bandwidth, rate or file",
    ),
    "skipped_work": ("Work that the run left out is likely", "skipped work"),
    "": ("Something is not as stated", "something is not as stated"),
}
"""Causes of rows above their ceiling: as the beginning of an answer, and short."""

SLOW_CAUSES: Final = {
    "short_pass": "Fixed time in each short pass holds {} back",
    "short_prompt": "Prompts too short for the matrix units hold {} back",
    "offload": "Layers in main memory hold {} back",
    "batch_kernels": "The kernels that serve batches hold {} back",
    "queueing": "Queueing and others' prefills hold {} back",
}

REASON_SHORT: Final = {
    **{name: words[1] for name, words in ABOVE.items() if name},
    "no_length": "prompt lengths are not stated",
    "unlike_devices": "several different devices shared the work",
    "no_rate": "no matrix rate is known for this device",
    "short_pass": "fixed time in short passes",
    "short_prompt": "short prompts",
    "offload": "layers in main memory",
    "batch_kernels": "kernels for batches",
    "queueing": "queueing",
    "threads": "software first",
    "kernels": "software first",
    "power": "power or heat",
}


def explanation(rows: pd.DataFrame) -> str:
    """Markdown: why rows pass 100 %, or else what the slow ones ask for."""
    known = kept(rows[["fraction", "verdict", "reasons", "bound"]], rows["fraction"].notna())
    above = kept(known, known["verdict"] == "above_ceiling")
    if len(above):
        return f"**Why {count(len(above), 'row')} pass{'es' if len(above) == 1 else ''} 100{n.NBSP}%:** {_why_above(above)}"
    slow = kept(known, known["verdict"].isin(SLOW))
    if len(slow):
        causes = list(dict.fromkeys(REASON_LONG[code] for code in _codes(slow) if code in REASON_LONG))
        return f"**What slow rows ask for:** software first, not hardware: {'; '.join(causes[:_MOST_LISTED])}. Change one, measure again."
    return ""


def _why_above(above: pd.DataFrame) -> str:
    causes = [ABOVE[code][1] for code in _codes(above) if code in ABOVE]
    first, others = causes[:1], causes[1:3]
    text = f"likely {first[0] if first else 'something is not as stated'}"
    text += f"; else {listed(others, 'or')}." if others else "."
    if (above["bound"] == "compute").any():
        text += " Where you know the device's rate, choose it in the panel and enter the rate under Hardware: the ceiling follows."
    return text


REASON_LONG: Final = {
    "short_pass": "fewer launches (graphs, fused kernels)",
    "short_prompt": "longer prompts",
    "offload": "all layers in the device's memory",
    "batch_kernels": "kernels that serve batches",
    "queueing": "less queueing",
    "threads": "as many threads as cores",
    "kernels": "kernels for this device and format",
    "power": "full power on a quiet machine",
}


def _codes(rows: pd.DataFrame) -> list[str]:
    """Reason codes of the rows, those of the most rows first."""
    return list(dict.fromkeys(code for codes, _ in _counts(rows) for code in codes.split("|") if code))


NEED_WORDS: Final = {
    "device": "device",
    "model": "model",
    "weights": "weight format",
    "batch": "batch size",
}


def asking(lacking: Mapping[str, int]) -> str:
    """Markdown over the fields for what files lack."""
    told = [f"the {NEED_WORDS[kind]} of {count(rows, 'row')}" for kind, rows in lacking.items() if rows]
    return f"**The files leave open {listed(told, 'and')}.** What you choose holds for those rows only."


def misfit(model: str, params: float, name: str, counted: float) -> str:
    """Markdown: why a chosen model is not taken for its rows."""
    if math.isnan(counted):
        return f"{marked(model)} is not taken for {marked(name, 60)}, whose shape is another."
    own, stated = (n.figures(value / 1e9) for value in (params, counted))
    return (
        f"{marked(model)} has {own} billion parameters and {marked(name, 60)} counts {stated} billion, so it is not "
        "the model that ran: choose another."
    )


def host_asked(rows: int) -> str:
    """Markdown: what lets rows with layers in main memory be held against both memories."""
    return (
        f"**{count(rows, 'row')} kept layers in main memory**, whose bandwidth is not known, so the ceiling is the card's alone: "
        "choose the card and its host in the panel under Layers on the card."
    )


UNLISTED: Final = "Not listed? Choose a device like yours in the panel, enter its bandwidth and rate under Hardware, then use the scenario's device."


def left_out(rows: int) -> str:
    """Title of the list of rows that are not judged."""
    return f"{count(rows, 'row')} left out, with the reason"


def asked_label(kind: str, names: Sequence[str]) -> str:
    """Markdown: the label of a field; several names share one."""
    what = {"device": "Device", "model": "Model", "weights": "Weights"}[kind]
    if len(names) > 1:
        return (
            f"{what} of {len(names):,} others: {marked(', '.join(name or 'unnamed' for name in names), 60)}"
        )
    return f"{what} of {marked(names[0], 60)}" if names[0] else f"{what} of rows that name none"


def count(number: int, what: str) -> str:
    """A number of things: "1 row", "28 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(parts: Sequence[str], word: str) -> str:
    """Some things in one sentence; of many the first, and how many more."""
    if len(parts) > _MOST_LISTED:
        parts = [*parts[: _MOST_LISTED - 1], f"{len(parts) - _MOST_LISTED + 1} more"]
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)
