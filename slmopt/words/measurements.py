"""What Measurements says about judged rows.

``rows`` is always the table of :func:`slmopt.reports.measurement_tables.joined`. Names come from files that anyone may
have written, so Markdown gets them escaped; tiles, titles and figures take them as plain text and escape what they must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.distinct import distinct, kept, one_of, texts_in_use
from slmopt.measured.medians import median
from slmopt.measured.verdicts import NOISY
from slmopt.words import numbers as n
from slmopt.words.measured_causes import (
    ABOVE,
    NEED_WORDS,
    REASON_SHORT,
    SLOW,
    SLOW_CAUSES,
    count,
    explanation,
    listed,
    top_reason,
)
from slmopt.words.measured_rows import group_name, marked, row_name, short
from slmopt.words.measured_sizes import SIZES, small_and_large
from slmopt.words.timed_names import CARRIED, named

Tiles = list[tuple[str, str, str, str]]
"""Label, value, note and help of each."""

PHASES: Final = ("decode", "serving", "mixed", "prefill")
"""In the order in which an answer is about them."""

PHASE_WORDS: Final = {
    "decode": "decode",
    "prefill": "prefill",
    "serving": "serving",
    "mixed": "whole runs",
}

_NEEDED: Final = [*SIZES, "source_file", "phase", "tool", "p50", "bound", "verdict", "reasons", "origin"]

_FAR_BELOW_USUAL = 0.7


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that the page says about its rows; ``title`` and ``alt`` are empty where no row has a ceiling."""

    line: str
    answer: str
    tiles: Tiles
    title: str
    alt: str
    explanation: str


def said(rows: pd.DataFrame, files: int, needs: Sequence[str] = (), *, sample: bool = False) -> Said:
    """All of it at once, since with many rows it is worth keeping."""
    drawn = bool(rows["fraction"].notna().any())
    rows = rows[[*_NEEDED, *(name for name in ("test", *CARRIED) if name in rows)]]
    finding = title(rows) if drawn else ""
    return Said(
        scenario_line(rows, files, sample=sample),
        answer(rows, needs),
        tiles(rows),
        finding,
        alt(finding) if drawn else "",
        explanation(rows),
    )


def scenario_line(rows: pd.DataFrame, files: int, *, sample: bool) -> str:
    """What the page is about: rows, files, tools, and the devices that they are held against."""
    tools = listed([marked(name) for name in texts_in_use(rows["tool"])], "and")
    parts = [f"{count(len(rows), 'row')}, {count(files, 'file')}{' of ' if tools else ''}{tools}"]
    if sample:
        parts.append("**sample: this project's own sweep on a two-core machine**")
    devices = texts_in_use(rows["device"])
    if devices:
        parts.append(listed([marked(name, 52) for name in devices], "and"))
    lost = len(rows) - int(rows["fraction"].notna().sum())
    if lost and lost < len(rows):
        parts.append(f"**{count(lost, 'row')} without a ceiling**")
    return " · ".join(parts)


def answer(rows: pd.DataFrame, needs: Sequence[str] = ()) -> str:
    """The finding over all rows, cause first."""
    known = kept(rows, rows["fraction"].notna())
    if rows.empty:
        return "Nothing here can be held against a ceiling: no row states a speed of decode or prefill."
    if known.empty:
        return _without_ceiling(rows, needs)
    repeated = known["spread"].notna()
    noisy = int((known["spread"] > NOISY).sum())
    if noisy >= 2 and 2 * noisy > int(repeated.sum()):
        return (
            f"A busy machine blurs these rows: **{noisy:,}** of **{int(repeated.sum()):,}** spread by more than 5{n.NBSP}%, "
            "so repeat them before believing any."
        )
    above = kept(known[["fraction", "reasons"]], known["verdict"] == "above_ceiling")
    if 3 * len(above) >= len(known):
        reached = n.percent(float(above["fraction"].max()))
        return (
            f"{ABOVE.get(top_reason(above), ABOVE[''])[0]}: **{len(above):,}** of **{count(len(known), 'row')}** "
            f"pass{'es' if len(above) == 1 else ''} the ceiling, the farthest at **{reached}**."
        )
    phase = next(name for name in PHASES if (known["phase"] == name).any())
    return _about(known, (known["phase"] == phase).to_numpy(), phase)


def _about(known: pd.DataFrame, where: npt.NDArray[np.bool_], phase: str) -> str:
    """The finding over the rows of one phase, none of them without a ceiling."""
    word = PHASE_WORDS[phase]
    rows = kept(known[[*SIZES, "p50", "bound", "verdict", "reasons"]], where)
    other = _other_side(rows)
    split = small_and_large(rows)
    if split is not None:
        (small, low), (large, high) = split
        return (
            f"Small models lose {word} to software, not {other}: {marked(small, 50)} reaches **{n.percent(low)}** of its "
            f"ceiling, {marked(large, 50)} **{n.percent(high)}**."
        )
    share, typical = median(rows["fraction"]), median(rows["p50"])
    reached, usual = n.percent(share), n.percent(typical)
    middle = "the row reaches" if len(rows) == 1 else "the median row reaches"
    slow = one_of(rows["verdict"], SLOW)
    if 2 * int(slow.sum()) >= len(rows):
        cause = SLOW_CAUSES.get(top_reason(kept(rows[["reasons"]], slow)), "").format(word)
        cause = cause or f"Software holds {word} back, not {other}"
        return f"{cause}: {middle} **{reached}** of its ceiling where **{usual}** is usual."
    if 2 * int((rows["verdict"] == "near_ceiling").sum()) >= len(rows):
        decides = {"memory": "Memory decides", "arithmetic": "Arithmetic decides"}[other]
        return f"{decides} here, so no kernel work will help: {middle} **{reached}** of its {word} ceiling."
    if slow.any():
        at = int(np.argmin((rows["fraction"] / rows["p50"]).where(slow, np.inf).to_numpy()))
        worst = named(known.iloc[[np.flatnonzero(where)[at]]]).iloc[0]
        return (
            f"Software holds {marked(row_name(worst), 70)} back: it reaches **{n.percent(float(worst['fraction']))}** of its ceiling "
            f"where **{n.percent(float(worst['p50']))}** is usual; {middle} **{reached}**."
        )
    if (rows["verdict"] == "unknown").all():
        return f"Nothing decides between memory and arithmetic without a matrix rate: {middle} **{reached}** of what memory allows."
    if share < _FAR_BELOW_USUAL * typical:
        return f"Software likely holds {word} back, within what is usual: {middle} **{reached}** of its ceiling, others **{usual}**."
    return f"Nothing unusual holds {word} back: {middle} **{reached}** of its ceiling, and **{usual}** is usual for such devices."


def _without_ceiling(rows: pd.DataFrame, needs: Sequence[str]) -> str:
    rows_word = f"**{count(len(rows), 'row')}**"
    needs = [need for need in needs if need in NEED_WORDS]
    if needs:
        lacking = listed([f"the {NEED_WORDS[need]}" for need in needs], "and")
        are, it = ("is", "it") if len(needs) == 1 else ("are", "them")
        have = "has" if len(rows) == 1 else "have"
        return f"{lacking[:1].upper()}{lacking[1:]} {are} not known, so {rows_word} {have} no ceiling yet: name {it} below."
    return (
        f"No ceiling can be drawn for {rows_word}: {REASON_SHORT.get(top_reason(rows), 'a fact is missing')}."
    )


def _other_side(rows: pd.DataFrame) -> str:
    return "arithmetic" if 2 * int((rows["bound"] == "compute").sum()) > len(rows) else "memory"


SHARE_HELP: Final = (
    "Measured speed over the ceiling of the work that the row timed. Usual is the median that reference measurements "
    "of the same class of device would reach with that work."
)


def tiles(rows: pd.DataFrame) -> Tiles:
    """Median share with what is usual, rows below typical, above the ceiling, and with a wide spread."""
    known = kept(rows, rows["fraction"].notna())
    phase = next((name for name in PHASES if (known["phase"] == name).any()), "decode")
    main = kept(known[["fraction", "p50", "origin"]], known["phase"] == phase)
    value, note = n.UNKNOWN, "no row has a ceiling yet"
    if len(main):
        value = f"{100 * median(main['fraction']):,.0f}"
        note = f"of the ceiling; usual is {100 * median(main['p50']):,.0f}{usual_for(main)}"
    label = {"decode": "Decode", "prefill": "Prefill", "serving": "Serving", "mixed": "Whole-run"}[phase]
    slow = kept(known[["model", "weights", "reasons"]], one_of(known["verdict"], SLOW))
    above = kept(known[["reasons"]], known["verdict"] == "above_ceiling")
    spread = rows["spread"].to_numpy(dtype=np.float64)
    repeated, wide = bool(np.isfinite(spread).any()), int((spread > NOISY).sum())
    worst = ""
    if wide:
        at = int(np.nanargmax(spread))
        worst = f"{row_name(named(rows.iloc[[at]]).iloc[0])}: ±{n.NBSP}{n.percent(float(spread[at]))}"
    unknown = len(known) == 0
    return [
        (f"{label} rows, median (%)", value, note, SHARE_HELP),
        (
            "Below typical",
            n.UNKNOWN if unknown else count(len(slow), "row"),
            _slow_note(slow) if len(slow) else "" if unknown else "none below the usual band",
            "Slower than all but the slowest tenth of the reference measurements.",
        ),
        (
            "Above the ceiling ✕" if len(above) else "Above the ceiling",
            n.UNKNOWN if unknown else count(len(above), "row"),
            _above_note(above) if len(above) else "" if unknown else "no bound was passed",
            "A row within its own spread of 100 % counts as near the ceiling.",
        ),
        (
            f"Spread above 5{n.NBSP}%",
            count(wide, "row") if repeated else n.UNKNOWN,
            worst or ("repeats agree" if repeated else "the files state no repeats"),
            "Standard deviation of a row's repeats over their mean.",
        ),
    ]


def _slow_note(slow: pd.DataFrame) -> str:
    """The model and format that most slow rows have, and their first reason."""
    codes, first = distinct((slow["model"], slow["weights"]), len(slow))
    most = slow.iloc[first[np.argmax(np.bincount(codes))]]
    return f"{group_name(most['model'], most['weights'])}: {REASON_SHORT.get(top_reason(slow), 'software first')}"


def _above_note(above: pd.DataFrame) -> str:
    return f"likely {REASON_SHORT.get(top_reason(above), 'not as stated')}"


def usual_for(rows: pd.DataFrame) -> str:
    """The class that the usual figures come from, where it is one: "on processors" after a space."""
    classes = {
        origin.rpartition("reference measurements, ")[2].split(", ")[0]
        for origin in texts_in_use(rows["origin"])
    }
    return f" on {classes.pop()}" if len(classes) == 1 and "" not in classes else ""


def title(rows: pd.DataFrame) -> str:
    """Finding of the figure; its names are plain text."""
    known = kept(rows[["phase", "model", "fraction"]], rows["fraction"].notna())
    phases = [name for name in PHASES if (known["phase"] == name).any()]
    parts = {phase: kept(known, known["phase"] == phase) for phase in phases}
    models = texts_in_use(parts["decode"]["model"]) if "decode" in parts else []
    if len(models) == 2:
        decode = parts["decode"]
        ranges = {model: decode[decode["model"] == model] for model in models}
        first, second = sorted(models, key=lambda name: -float(ranges[name]["fraction"].max()))
        return (
            f"{_bare(short(first, 20))} decodes at **{_range(ranges[first])}** of its ceiling, "
            f"{_bare(short(second, 20))} at **{_range(ranges[second])}**"
        )
    first_phase, *others = phases[:2]
    word = PHASE_WORDS[first_phase]
    text = f"{word[:1].upper()}{word[1:]} reach{'' if first_phase == 'mixed' else 'es'} **{_range(parts[first_phase])}** of the ceiling"
    return text + "".join(f", {PHASE_WORDS[other]} **{_range(parts[other])}**" for other in others)


def _range(rows: pd.DataFrame) -> str:
    low, high = (n.percent(float(value)) for value in (rows["fraction"].min(), rows["fraction"].max()))
    return low if low == high else f"{low.removesuffix(n.NBSP + '%')} to {high}"


def alt(finding: str) -> str:
    """The figure for those who do not see it, which begins with its title."""
    return f"{finding.replace('**', '')}. A diamond for each measurement at its share of the ceiling, from 0 to above 100 %."


def _bare(name: str) -> str:
    """A name for a figure's title, which is plain text there and Markdown above its table: signs that begin something become others."""
    return name.translate(_SIGNS)


_SIGNS: Final = str.maketrans("*[]<>`$:@~", "∗()‹›'＄∶＠∼")
