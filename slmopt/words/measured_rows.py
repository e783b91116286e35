"""How a measured row is called, what a pointer over it reads, and the arithmetic of its share.

Names come from files that anyone may have written. Here they are plain text of bearable length; whoever puts them into
Markdown or HTML escapes them there.
"""

from __future__ import annotations

import math
from typing import Any, Final

import pandas as pd

from slmopt.measured.distinct import texts_in_use
from slmopt.words import numbers as n
from slmopt.words.scenario_line import escape
from slmopt.words.verdicts import VERDICT_WORDS, note_text, reason_list

SIDE_WORDS: Final = {"memory": "▲ memory", "compute": "▼ compute", "link": "↔ link"}

_LONGEST = 28


def short(name: object, longest: int = _LONGEST) -> str:
    """A name on one line and of bearable length, without characters that cannot be seen."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def marked(name: object, longest: int = _LONGEST) -> str:
    """A name for Markdown: nothing in it takes effect."""
    return escape(short(name, longest))


def harmless(name: str) -> str:
    """A name in which no tag can begin, for places that escape nothing."""
    return name.replace("<", "‹").replace(">", "›")


def group_name(model: object, weights: object) -> str:
    """A model and its weights as a row's name."""
    return f"{short(model)} {format_name(weights)}"


def format_name(weights: object) -> str:
    """A weight format without the family that its preset's name adds."""
    return short(str(weights).removesuffix(" (GGUF)"), 14)


def row_name(row: Any) -> str:
    """Model, weights and test of a judged row; its file where the model is not known."""
    return (
        f"{short(row.source_file) if pd.isna(row.model) else group_name(row.model, row.weights)}, {row.test}"
    )


def row_hover(row: Any, name: str) -> tuple[str, ...]:
    """Lines for a pointer over one row."""
    spread = f" ± {n.percent(row.spread)}" if row.spread >= 0.005 else ""
    return (
        f"{name}, {row.test}, measured",
        f"{n.tokens_per_s(row.measured)}{spread}, at most {n.figures(row.ceiling)}",
        f"{n.percent(row.fraction)} of the ceiling{_usual(row.p10, row.p90)}",
        VERDICT_WORDS[str(row.verdict)],
        f"{short(row.source_file, 40)}, {short(row.row)}",
    )


def group_hover(
    rows: int, name: str, ends: tuple[float, float, float], usual: tuple[float, float], *, tenths: bool
) -> tuple[str, ...]:
    """Lines for a pointer over the median of several rows; ``usual``: the medians of what is usual for them."""
    low, middle, high = (n.percent(end) for end in ends)
    reach = f"a tenth below {low}, a tenth above {high}" if tenths else f"from {low} to {high}"
    return (
        f"{name}, median of {rows:,} rows, measured",
        f"{middle} of the ceiling{_usual(*usual)}",
        reach,
    )


def others_hover(
    name: str, count: int, ends: tuple[float, float, float], prompts: tuple[float, float] | None = None
) -> tuple[str, ...]:
    """Lines for a pointer over what others measured with a chip; ``prompts``: the shortest and the longest, of prefill."""
    low, middle, high = (n.percent(end) for end in ends)
    what = "in decode, one sequence"
    if prompts is not None:
        lengths = " to ".join(dict.fromkeys(n.count(length) for length in prompts))
        what = f"in prefill, one prompt of {lengths} tokens, each at its own length"
    return (
        f"Others with {name}, median of {count:,} reference rows",
        f"{middle} of the ceiling {what}",
        f"a tenth below {low}, a tenth above {high}",
    )


def _usual(low: float, high: float) -> str:
    return (
        "" if math.isnan(low) else f"; usual {n.percent(low).removesuffix(n.NBSP + '%')} to {n.percent(high)}"
    )


def arithmetic(row: Any) -> list[str]:
    """Markdown: how the row's ceiling and share came about, for one token of its work.

    The side that binds is work over rate, so its rate is the work times the ceiling.
    """
    where = f"**Row**: {marked(row_name(row), 120)} ({marked(row.source_file, 60)}, {marked(row.row)})"
    reasons = " ".join([*reason_list(row.reasons), note_text(row.notes, row.note)]).strip()
    verdict = f"**Verdict**: {VERDICT_WORDS[str(row.verdict)]}. {marked(reasons, 900)}"
    if math.isnan(row.fraction):
        return [where, f"**Measured**: {n.tokens_per_s(row.measured)}; no ceiling", verdict]
    operations = row.flops_per_s / row.measured
    moved = operations / row.intensity
    work = (
        f"**A token**: {n.bytes_(moved)} moved and {n.flops(operations)} done, {n.figures(row.intensity)} FLOP/byte; "
        f"weights are read once for {_sequences(row.batch)}, {n.count(row.context)} tokens cached in the mean"
    )
    lines = [where, work]
    at_most = f"≤{n.NBSP}{n.tokens_per_s(row.ceiling)}"
    if row.bound == "compute":
        lines.append(
            f"**Ceiling**: {n.flops_per_s(operations * row.ceiling)} / {n.flops(operations)} a token = {at_most}, so compute decides"
        )
    elif row.bound == "link":
        lines.append(f"**Ceiling**: {at_most}, which the link between the devices decides")
    else:
        decides = (
            ", so memory decides"
            if row.bound == "memory"
            else "; no matrix rate is known, so compute may bind before"
        )
        lines.append(
            f"**Ceiling**: {n.bytes_per_s(moved * row.ceiling)} / {n.bytes_(moved)} a token = {at_most}{decides}"
        )
    lines += [
        f"**Share**: measured {n.figures(row.measured)} / {n.figures(row.ceiling)} tokens/s = {n.percent(row.fraction)}",
        f"**Usual**: {n.percent(row.p10)} to {n.percent(row.p90)} with this work, {n.percent(row.p50)} at the median; {marked(row.origin, 200)}",
        verdict,
    ]
    return lines


def _sequences(batch: float) -> str:
    return f"{n.count(batch)} sequence{'' if batch == 1 else 's'}"


def source_lines(rows: pd.DataFrame, *, sample: bool = False) -> list[str]:
    """Markdown: what the ceilings, the usual shares and the measurements rest on."""
    lines = [
        f"**Ceiling**: {marked(name, 60)}, rates as its preset or the panel gives them"
        for name in _few(rows["device"])
    ]
    lines += [f"**Usual**: {marked(name, 200)}" for name in _few(rows["origin"])]
    lines += [f"**Measured**: {marked(name, 60)}" for name in _few(rows["source_file"])]
    if sample:
        lines.append(
            "**Sample**: unmodified output of llama-bench, both cores, random weights of real shapes; the commands stand in "
            "presets/this\\_machine/README\\.md"
        )
    lines += [f"**Converted**: {marked(text, 200)}" for text in _few(rows["conversion"])]
    return lines


def _few(column: pd.Series, most: int = 8) -> list[str]:
    found = texts_in_use(column)
    return found if len(found) <= most else [*found[: most - 1], f"and {len(found) - most + 1:,} more"]
