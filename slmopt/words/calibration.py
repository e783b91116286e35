"""What a fit says: its rates with their intervals, how far it can be trusted, and what the rows could not tell."""

from __future__ import annotations

from typing import Final

import numpy as np

from slmopt.measured.calibration import Fit, Rate
from slmopt.measured.calibration_rows import Usable
from slmopt.words import numbers as n
from slmopt.words.measured_rows import short

TERM_NAMES: Final = {
    "bandwidth": "Bandwidth",
    "batched": "Bandwidth, several tokens a pass",
    "matrix": "Matrix rate",
    "attention": "Attention's own rate",
    "fixed": "Fixed time a pass",
}

OVERLAP_WORDS: Final = {
    "products": "reading and multiplying hide one another",
    "single": "reading hides multiplying for one token a pass; with more they follow one another",
    "none": "reading and multiplying follow one another",
}

UNTOLD_WORDS: Final = {
    "batched": "a bandwidth of its own for batches (measure batches 2 to 32)",
    "matrix": "the matrix rate (measure prefill, or large batches)",
    "attention": "attention's own rate (measure long contexts)",
    "fixed": "the fixed time a pass (measure a small model)",
}

FAR: Final = 0.3
"""Error on models left out above which a fit is not to be trusted for another model."""


def title(fit: Fit) -> str:
    """Finding of the figure."""
    return f"The fit predicts rows that it has not seen to **{n.percent(fit.left_out)}**"


def alt(fit: Fit) -> str:
    """The figure for those who do not see it."""
    low, high = float(fit.points.seconds.min()), float(fit.points.seconds.max())
    return (
        f"{title(fit).replace('**', '')}. Measured time of each pass against the time that the fit predicts, "
        f"{n.seconds(low)} to {n.seconds(high)}, with the line where both are equal."
    )


def summary(fit: Fit) -> str:
    """Markdown: errors of the fit, and of what it is better than."""
    parts = [f"**{n.percent(fit.in_sample)}** on the {len(fit.points):,} rows fitted"]
    parts.append(f"**{n.percent(fit.left_out)}** on rows left out")
    if fit.new_model is not None:
        parts.append(f"**{n.percent(fit.new_model)}** on models left out")
    against = []
    if fit.plain is not None:
        against.append(f"the plain ceiling misses by {n.percent(fit.plain)}")
    if fit.fraction is not None:
        against.append(f"its best constant fraction by {n.percent(fit.fraction)}")
    return f"Mean error {', '.join(parts)}{'; ' if against else ''}{', '.join(against)}."


def rate_text(rate: Rate) -> str:
    """A term's value with its unit."""
    return _unit(rate.name, rate.value)


def interval_text(rate: Rate) -> str:
    """The ends of a term's 95 % interval; "at least" where the rows give no upper end."""
    if not np.isfinite(rate.high):
        return f"at least {_unit(rate.name, rate.low)}"
    return f"{_unit(rate.name, rate.low)} to {_unit(rate.name, rate.high)}"


def _unit(name: str, value: float) -> str:
    if name == "fixed":
        return n.seconds(value)
    return n.bytes_per_s(value) if name in ("bandwidth", "batched") else n.flops_per_s(value)


def rate_rows(fit: Fit) -> list[dict[str, str]]:
    """The terms as a table's rows."""
    return [
        {
            "Term": TERM_NAMES[rate.name],
            "Fitted": rate_text(rate),
            "95 % interval": interval_text(rate),
            "": "held at the device's ceiling" if rate.at_ceiling else "",
        }
        for rate in fit.rates
    ]


def notes(fit: Fit, used: Usable) -> list[str]:
    """Sentences about what a reader must know before using the fit; plain text."""
    told = [f"Times join so: {OVERLAP_WORDS[fit.form.overlap]}."]
    if fit.calibration.cache_step > 1:
        told.append(
            f"Cached tokens count in steps of {fit.calibration.cache_step:,}, as llama.cpp attends to them."
        )
    if fit.untold:
        missing = "; ".join(UNTOLD_WORDS[name] for name in fit.untold)
        told.append(f"These rows cannot tell {missing}; fewer terms are fitted.")
    if fit.new_model is None:
        told.append("All rows are of one model, so how well the fit predicts another is not known.")
    elif fit.new_model > FAR:
        told.append(
            f"Models left out are missed by {n.percent(fit.new_model)}: do not trust it for a model that was not measured."
        )
    told += [
        f"Left aside: {count:,} row{'' if count == 1 else 's'} {short(why, 80)}."
        for count, why in used.left_out
    ]
    return told
