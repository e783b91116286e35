"""Results with a name, so that a figure can overlay several scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Named(Generic[Result]):
    """A result and the letter or name that it goes by in a figure; empty where there is only one."""

    name: str
    result: Result


PRESENT = "now"
"""The name of the present scenario where others stand beside it."""


def beside(result: Result, pinned: Sequence[Named[Result]]) -> list[Named[Result]]:
    """The present result first, nameless where it stands alone, then the pinned ones."""
    return [Named(PRESENT if pinned else "", result), *pinned]


PRESENT_WIDTH, PINNED_WIDTH = 5.0, 2.0
"""Line widths [px]: where a pinned scenario's line lies on the present one's, both can be seen."""


def stroke(index: int) -> float:
    """The width of a line by its place among several scenarios; the present one is the first."""
    return PRESENT_WIDTH if index == 0 else PINNED_WIDTH


def together(names: Sequence[str], heights: Sequence[float], share: float = 0.05) -> list[tuple[str, int]]:
    """One label for lines that end within a share of one another: its words, and whose end it stands at."""
    labels: list[tuple[str, int]] = []
    for at, (name, height) in enumerate(zip(names, heights, strict=True)):
        for place, (words, first) in enumerate(labels):
            if abs(height - heights[first]) <= share * abs(heights[first]):
                labels[place] = (f"{words}, {name}", first)
                break
        else:
            labels.append((name, at))
    return labels
