"""A figure as it is shown or handed over: with its finding, its words for those who do not see it, and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from slmopt.figures import theme


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Picture:
    """One figure of a page or a report; equal only to itself.

    ``key`` is stable and unique, and names its files. ``title`` is the finding, 12 words at most, with `**…**` for its
    numbers; ``alt`` what the picture shows, repeating title and range. ``numbers`` gives the figure's table, when it is
    asked for. ``kinds`` draws the page's one key beside the title. ``height`` and ``phone_height`` are pixels: None is
    the layout's own, and the second serves narrow screens.
    """

    key: str
    title: str
    alt: str
    figure: theme.Figure
    numbers: Callable[[], pd.DataFrame] | None = None
    kinds: tuple[theme.KindName, ...] = ()
    height: int | None = None
    phone_height: int = theme.HEIGHT_PHONE

    @property
    def heading(self) -> str:
        """The title without marks."""
        return self.title.replace("**", "")
