"""Streamlit's look into a session's state, one key at a time.

To learn whether one key holds None, each number field, text field and choice has Streamlit (1.67,
`SessionState.filtered_state`) copy the whole state and make every component's value presentable: with the panel's
fields a fifth of a rerun. Here the same property answers with a view that looks up what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streamlit.runtime.state.session_state import SessionState

Whole = Callable[[SessionState], dict[str, Any]]


class View(Mapping[str, Any]):
    """What `filtered_state` holds: a single key is looked up, all of it is copied only for who lists it."""

    def __init__(self, state: SessionState, whole: Whole) -> None:
        self._state, self._whole = state, whole

    def __getitem__(self, key: str) -> Any:
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole(self._state))

    def __len__(self) -> int:
        return len(self._whole(self._state))


def install() -> None:
    """Let every session of this process answer so; once is enough. A Streamlit without that property stays as it is."""
    held: Any = vars(SessionState).get("filtered_state")
    if not isinstance(held, property) or held.fget is None or getattr(held.fget, "views", False):
        return
    whole: Whole = held.fget

    def views(state: SessionState) -> View:
        return View(state, whole)

    views.views = True  # type: ignore[attr-defined]
    SessionState.filtered_state = property(views)  # type: ignore[assignment,method-assign]
