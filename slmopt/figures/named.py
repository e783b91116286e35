"""Results with a name, so that a figure can overlay several scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Named(Generic[Result]):
    """A result and the letter or name that it goes by in a figure; empty where there is only one."""

    name: str
    result: Result
