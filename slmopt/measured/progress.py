"""How far the reading of a long file is, for whoever shows it; without a listener nothing is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_listener: ContextVar[Callable[[float], None] | None] = ContextVar("slmopt_progress", default=None)


@contextmanager
def telling(listener: Callable[[float], None]) -> Iterator[None]:
    """While this is open ``listener`` hears the share that is read, from 0 to 1, in the thread that opened it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def counted(parts: Iterable[T], count: int) -> Iterator[T]:
    """The parts as they come, each told as one of ``count``."""
    listener = _listener.get()
    for number, part in enumerate(parts, 1):
        if listener is not None:
            listener(min(1.0, number / max(count, 1)))
        yield part


def waited(futures: Iterable[Future[Any]], share: Callable[[], float]) -> None:
    """Wait until all are done, and tell meanwhile how far they are."""
    listener = _listener.get()
    futures = list(futures)
    while wait(futures, timeout=None if listener is None else 0.1).not_done:
        if listener is not None:
            listener(min(1.0, share()))
