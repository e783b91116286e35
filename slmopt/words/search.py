"""What the search says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import escape

AXES = {
    "power_w": ("Power of the device (W)", 1.0),
    "joules_per_token": ("Energy a token at full power (J)", 1.0),
    "price_per_million": ("Price of a million tokens", 1.0),
}
NAMES = {
    "power_w": "power",
    "held_bytes": "memory",
    "joules_per_token": "energy",
    "price_per_million": "price",
}
NO_AXIS = {
    "power_w": "No power is known for any of these devices.",
    "held_bytes": "What is held is not known here.",
    "joules_per_token": "No power is known for any of these devices.",
    "price_per_million": "No price is known: presets carry none. Enter a price per hour under Hardware to rank one device.",
}
_LONGEST = 24


def axis(against: str) -> tuple[str, float]:
    """The title of the search's other axis, and what its quantity is divided by."""
    if against == "held_bytes":
        giga, unit = n.giga()
        return f"Memory held ({unit})", giga
    return AXES[against]


def answer(tried: int, met: pd.DataFrame) -> str:
    """How many combinations meet the targets, and on how many devices."""
    if met.empty:
        return (
            f"None of {tried:,} combinations of device, format and technique meets all targets by the typical estimate: ease "
            "one, or shorten the prompt."
        )
    devices = met["device"].nunique()
    known = met[met["power_w"].notna()].sort_values("power_w")
    least = None if known.empty else _records(known.head(1))[0]
    text = f"**{len(met):,}** of {tried:,} combinations meet the targets, on **{devices:,}** devices"
    if least is None:
        return f"{text}."
    return (
        f"{text}; least power: {escape(str(least['device_name']))} with {escape(str(least['weights']))}, "
        f"{n.trimmed(n.figures(least['power_w']))} W."
    )


QUALITY = "A format without your evaluation is a candidate, not a recommendation."


def title(front: pd.DataFrame, against: str) -> str:
    """The finding."""
    count = front["device"].nunique()
    return f"**{count}** devices are unbeaten on {pace.inner()} and {NAMES[against]}"


def alt(rows: pd.DataFrame, front: npt.NDArray[np.bool_], against: str) -> str:
    """The chart for those who do not see it."""
    best = rows[front].sort_values(against)
    said = "; ".join(
        f"{row['device_name']}, {row['weights']}: {pace.shown(row['tpot_s'], 2)}" for row in _records(best)
    )
    return (
        f"{title(best, against).replace('**', '')}. {len(rows):,} combinations, {pace.inner()} against "
        f"{NAMES[against]}. {said}"
    )


def hovers(rows: pd.DataFrame) -> list[str]:
    """What a pointer over each point reads."""
    return [
        f"<b>{row['device_name']}</b><br>{row['weights']}{', ' + row['techniques'] if row['techniques'] else ''}<br>"
        f"{pace.each(row['tpot_s'], 2)}, first token {_seconds(row['ttft_s'])}<br>"
        f"{n.bytes_(row['held_bytes'])} held"
        for row in _records(rows)
    ]


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def _seconds(value: float) -> str:
    return "not known" if np.isnan(value) else n.seconds(value, 2)


def short(name: str) -> str:
    """A device's name as it fits beside a point."""
    plain = name.removeprefix("NVIDIA ").removeprefix("GeForce ").removeprefix("AMD ").removeprefix("Intel ")
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
