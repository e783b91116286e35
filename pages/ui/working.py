"""How far a long file is: one bar for reading, judging and drawing, gone when the page stands."""

from __future__ import annotations

from typing import Final

import streamlit as st

LONG_BYTES: Final = 4_000_000
LONG_ROWS: Final = 100_000
"""Less than this is done before a bar could be read."""

# Where each stage begins on the bar; a file's reading is about half of the whole.
READING: Final = (0.0, 0.5)
JUDGING: Final = (0.5, 0.9)
DRAWING: Final = (0.9, 1.0)


class Bar:
    """The bar's place on the page, empty until a stage is told."""

    def __init__(self) -> None:
        self._slot = st.empty()
        self._stands = False

    def tell(self, stage: tuple[float, float], share: float, text: str) -> None:
        """A stage is done to this share, from 0 to 1; ``text`` is Markdown."""
        begin, end = stage
        self._slot.progress(begin + (end - begin) * min(max(share, 0.0), 1.0), text)
        self._stands = True

    def done(self) -> None:
        """The page stands."""
        if self._stands:
            self._slot.empty()
