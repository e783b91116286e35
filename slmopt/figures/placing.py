"""Round ranges, widths of text and the axes as drawn. Lengths in px."""

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.figures.theme import Spec

# A figure over the page's whole width beside the panel, and the same on a phone.
WIDE_PX = 1040
PHONE_PX = 358
# Mean width of a character of Source Sans at 13 px, bold ones a little more.
_CHARACTER_PX = 6.3
_LINE_PX = 17
_STOPS = (1.0, 2.0, 5.0, 10.0)
_ENDS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis as drawn: limits as data values, length in px."""

    low: float
    high: float
    length: float
    log: bool = True

    def px(self, value: float) -> float:
        """The distance from the axis's start."""
        if self.log:
            return self.length * math.log(value / self.low) / math.log(self.high / self.low)
        return self.length * (value - self.low) / (self.high - self.low)

    def all_px(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The distances of many values."""
        if self.log:
            return self.length * np.log(values / self.low) / math.log(self.high / self.low)
        return self.length * (values - self.low) / (self.high - self.low)

    def value(self, px: float) -> float:
        """The value at that distance."""
        share = px / self.length
        return (
            float(self.low * (self.high / self.low) ** share)
            if self.log
            else self.low + share * (self.high - self.low)
        )


def stop_below(value: float) -> float:
    """The largest of … 1, 2, 5, 10, 20 … that is not above the value."""
    decade = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return max(stop * decade for stop in _STOPS if stop * decade <= value * (1 + 1e-9))


def stop_above(value: float) -> float:
    """The smallest of … 1, 2, 5, 10, 20 … that is not below the value."""
    return _first_above(value, _STOPS)


def round_above(value: float) -> float:
    """The smallest round end of a linear axis that is not below the value."""
    return _first_above(value, _ENDS)


def _first_above(value: float, steps: Sequence[float]) -> float:
    decade = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return min(step * decade for step in steps if step * decade >= value * (1 - 1e-9))


def decade_below(value: float) -> float:
    """The power of ten at or below the value."""
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def decade_above(value: float) -> float:
    """The power of ten at or above the value."""
    return float(10.0 ** math.ceil(math.log10(value) - 1e-9))


@lru_cache(maxsize=4096)
def width(text: str) -> float:
    """About how wide the text is drawn: its longest line, tags left out."""
    return max(len(re.sub(r"<[^>]*>", "", line)) for line in text.split("<br>")) * _CHARACTER_PX


def folded(text: str, px: float) -> str:
    """The text in lines of whole words, each about as wide as ``px`` at most where its words allow."""
    room = max(1, int(px / _CHARACTER_PX))
    return "<br>".join(textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)) or text


def shortened(text: str, px: float) -> str:
    """As many of the text's first words as are about ``px`` wide, the first one at least; "…" where some are left out."""
    if width(text) <= px:
        return text
    kept, *more = text.split(" ")
    for word in more:
        if width(f"{kept} {word}…") > px:
            break
        kept = f"{kept} {word}"
    return f"{kept.rstrip(',(')}…"


def height(text: str) -> float:
    """About how high the text is drawn."""
    return (text.count("<br>") + 1) * _LINE_PX


def apart(positions: Sequence[float], gap: float = _LINE_PX) -> list[float]:
    """Shifts that keep labels at least ``gap`` apart, moved as little as their order allows."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    blocks: list[tuple[float, list[int]]] = []
    for index in order:
        block = (positions[index], [index])
        # Labels that would touch share the middle of where they belong.
        while blocks and block[0] - blocks[-1][0] < gap * (len(block[1]) + len(blocks[-1][1])) / 2:
            before = blocks.pop()
            members = [*before[1], *block[1]]
            block = (sum(positions[member] for member in members) / len(members), members)
        blocks.append(block)
    shifts = [0.0] * len(positions)
    for centre, members in blocks:
        for place, member in enumerate(members):
            shifts[member] = centre + (place - (len(members) - 1) / 2) * gap - positions[member]
    return shifts


def clusters(positions: Sequence[float], gap: float) -> list[list[int]]:
    """Neighbours closer than ``gap``, as lists of indices from the lowest position up."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    found: list[list[int]] = []
    for index in order:
        if found and positions[index] - positions[found[-1][-1]] < gap:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def plot_width(margin: Spec, *, phone: bool = False) -> float:
    """Width of the plot itself between these margins."""
    return float((PHONE_PX if phone else WIDE_PX) - margin["l"] - margin["r"])


def plot_height(whole: int, margin: Spec) -> float:
    """Height of the plot itself between these margins."""
    return float(whole - margin["t"] - margin["b"])


def left_margin(top: float) -> int:
    """Room for the ticks of an axis up to this value."""
    return max(48, round(12 + 6.2 * len(f"{top:,.0f}")))


def both(words: Callable[[bool], Sequence[Spec]]) -> tuple[list[Spec], Spec]:
    """The notes for wide screens and those for phones (``words(True)``), and what shows a phone its own."""
    wide = [{**word, "name": f"wide {index}"} for index, word in enumerate(words(False))]
    phone = [{**word, "name": f"phone {index}", "visible": False} for index, word in enumerate(words(True))]
    return [*wide, *phone], {"annotations[wide *].visible": False, "annotations[phone *].visible": True}
