"""What the quality gate says: nothing is best until the visitor's own evaluation has passed it."""

from __future__ import annotations

from slmopt.advice.quality import FormatRow, Scores
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import escape

HEAD = "Quality by format"
FILE = "Or a CSV of format, score, valid"

ASK = (
    "Enter what your own evaluation gave for each format: the task's score, and the share of replies in the right format. "
    "Nothing is assumed, and no format is called best without it."
)


def row(found: FormatRow) -> str:
    """A format and what it gives here, as a small line."""
    fits = "" if found.fits is not False else ", does not fit"
    mark = {True: " ✓", False: " ✕", None: ""}[found.passes]
    now = " (now)" if found.now else ""
    return (
        f"**{escape(found.name)}**{now}{mark}  \n:small[{n.bytes_(found.file_bytes)}, about "
        f"{pace.each(found.tpot_s, 2)}{fits}]"
    )


def evaluated(found: FormatRow) -> str:
    """A format with its score, and what it gives here, as a sentence of a report."""
    mark = {True: "✓ ", False: "✕ ", None: ""}[found.passes]
    valid = "" if found.validity is None else f", {n.percent(found.validity)} of its replies valid"
    fits = "" if found.fits is not False else ", which does not fit"
    return (
        f"{mark}**{escape(found.name)}** scores {n.trimmed(n.figures(found.score))} on your task{valid}: "
        f"{n.bytes_(found.file_bytes)}, about {pace.each(found.tpot_s, 2)}{fits}."
    )


def verdict(rows: tuple[FormatRow, ...], best: FormatRow | None, scores: Scores) -> str:
    """Which format is the fastest that passes; or what is missing to say so."""
    if not scores.task:
        return "No format is best yet: nobody entered an evaluation."
    if scores.floor is None:
        return "No format is best yet: say which score is good enough."
    if best is None:
        unknown = [row for row in rows if row.score is not None and row.passes is None]
        if unknown:
            return "No format is best yet: enter the share of valid replies, too."
        return "None of the formats that you evaluated is good enough and fits."
    now = next((row for row in rows if row.now), None)
    gain = ""
    if now is not None and not best.now and best.tpot_s < now.tpot_s:
        gain = f", about {n.factor(now.tpot_s / best.tpot_s)} as fast as {escape(now.name)}"
    faster = [
        row for row in rows if row.passes is None and row.fits is not False and row.tpot_s < best.tpot_s
    ]
    open_ = f" Faster and not evaluated: {', '.join(escape(row.name) for row in faster)}." if faster else ""
    return f"**{escape(best.name)}** is the fastest that passes your evaluation{gain}.{open_}"


def title(rows: tuple[FormatRow, ...], best: FormatRow | None) -> str:
    """Finding of speed against quality."""
    if best is None:
        return "Speed against quality: no format is called best yet"
    return f"{best.name} is the fastest of {len(rows)} evaluated formats that passes"
