"""Load on a server: so many requests at once, or so many a second at random; warm-up, a cold run, and a sustained mode.

Requests at a rate arrive as a Poisson process (exponential gaps, seeded), whether or not earlier ones have been answered;
the wait of a request that finds no free thread is told in its row, and no row begins its clock before it was sent.
"""

from __future__ import annotations

import datetime as dt
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, TypeAlias

from slmopt.measured.load_file import ROW, VERSION, LoadFile
from slmopt.measured.load_prompts import Prompts
from slmopt.measured.stream_client import Endpoint, Timing, request

MOST_IN_FLIGHT: Final = 1024


@dataclass(frozen=True, slots=True)
class Level:
    """One load: ``concurrency`` requests in flight, or ``rate`` a second (one of the two).

    It ends after ``requests``, or after ``seconds`` where those are given.
    """

    concurrency: int | None = None
    rate: float | None = None
    requests: int | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        """The level as rows name it."""
        return f"rate {self.rate:g}" if self.rate is not None else f"concurrency {self.concurrency}"


@dataclass
class Progress:
    """What has been done of a level, for whoever shows it."""

    level: Level
    done: int = 0
    failed: int = 0
    tokens: int = 0
    started: float = field(default_factory=time.perf_counter)

    def take(self, timing: Timing) -> None:
        """Count a request that ended."""
        self.done += 1
        self.failed += bool(timing.error)
        self.tokens += timing.output_tokens or 0


_Jobs: TypeAlias = "queue.SimpleQueue[tuple[int, float] | None]"
"""Request numbers with the times at which they were due; None ends a thread."""


class Runner:
    """Runs levels against an endpoint, each row written as its request ends; ``show`` is called after every one."""

    def __init__(
        self,
        endpoint: Endpoint,
        prompts: Prompts,
        output_tokens: int,
        file: LoadFile,
        show: Callable[[Progress], None],
    ) -> None:
        self.endpoint, self.prompts, self.output_tokens = endpoint, prompts, output_tokens
        self.file, self.show = file, show
        self._lock = threading.Lock()
        self._begin = time.perf_counter()
        self._flying = 0
        self._stop = threading.Event()

    def stop(self) -> None:
        """No further request is sent."""
        self._stop.set()

    def alone(self, kind: str, number: int) -> Timing:
        """One request by itself: of the warm-up, or the cold one."""
        timing = self._send(kind, Level(concurrency=1), number, 0.0)
        self.prompts.learn(self.prompts.prompt(number), timing.prompt_tokens)
        return timing

    def level(self, level: Level) -> Progress:
        """All requests of a level that the file does not hold yet, for what is left of its time.

        The level's clock goes on where the file's rows of it end, so that the pause between is no part of the measurement.
        """
        first, last = self.file.spans.get(level.name, (0.0, 0.0))
        progress = Progress(level)
        if level.seconds is not None:
            if last - first >= level.seconds:
                return progress
            level = replace(level, seconds=level.seconds - (last - first))
        if level.name in self.file.spans:
            self._begin = time.perf_counter() - last
        work = self._closed_loop if level.rate is None else self._open_loop
        try:
            work(level, progress)
        except KeyboardInterrupt:
            self.stop()
            raise
        return progress

    def _closed_loop(self, level: Level, progress: Progress) -> None:
        """So many users, each of whom sends the next request when the last is answered."""
        source = _Source(self._numbers(level), level.seconds, self._stop)
        threads = [
            threading.Thread(target=self._user, args=(level, source, progress), daemon=True)
            for _ in range(level.concurrency or 1)
        ]
        for thread in threads:
            thread.start()
        _joined(threads)

    def _open_loop(self, level: Level, progress: Progress) -> None:
        """Requests at the times of a Poisson process, each on the next free thread."""
        jobs: _Jobs = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._work, args=(level, jobs, progress), daemon=True)
            for _ in range(min(MOST_IN_FLIGHT, level.requests or MOST_IN_FLIGHT))
        ]
        for thread in threads:
            thread.start()
        self._arrivals(level, jobs)
        for _ in threads:
            jobs.put(None)
        _joined(threads)

    def _numbers(self, level: Level) -> Iterator[int]:
        """Request numbers that are still to be done."""
        every = count() if level.requests is None else iter(range(level.requests))
        return (number for number in every if (level.name, number) not in self.file.done)

    def _user(self, level: Level, source: _Source, progress: Progress) -> None:
        for number in source:
            self._one(level, number, 0.0, progress)

    def _arrivals(self, level: Level, jobs: _Jobs) -> None:
        """Hand out request numbers at the times of a Poisson process."""
        assert level.rate is not None
        begin = time.perf_counter()
        for number, after in zip(self._numbers(level), arrivals(level.rate, self.prompts.seed), strict=False):
            due = begin + after
            if self._stop.is_set() or (level.seconds is not None and after > level.seconds):
                return
            while (left := due - time.perf_counter()) > 0 and not self._stop.wait(min(left, 0.2)):
                pass
            jobs.put((number, due))

    def _work(self, level: Level, jobs: _Jobs, progress: Progress) -> None:
        while (job := jobs.get()) is not None:
            number, due = job
            if not self._stop.is_set():
                self._one(level, number, time.perf_counter() - due, progress)

    def _one(self, level: Level, number: int, waited: float, progress: Progress) -> None:
        timing = self._send("timed", level, number, waited)
        with self._lock:
            progress.take(timing)
            self.show(progress)

    def _send(self, kind: str, level: Level, number: int, waited: float) -> Timing:
        prompt = self.prompts.prompt(number)
        with self._lock:
            self._flying += 1
            flying = self._flying
        at, started = time.perf_counter() - self._begin, dt.datetime.now(tz=dt.UTC)
        try:
            timing = request(self.endpoint, prompt, self.output_tokens)
        finally:
            with self._lock:
                self._flying -= 1
        self.file.write(_row(kind, level, number, at, started, waited, flying, timing))
        return timing


def arrivals(rate: float, seed: int) -> Iterator[float]:
    """Seconds from the beginning to each arrival of a Poisson process, the same for the same seed."""
    rng = random.Random(f"arrivals {seed}")  # noqa: S311 - load, no secrets
    at = 0.0
    while True:
        at += rng.expovariate(rate)
        yield at


class _Source:
    """Request numbers for several threads, until there are none, time is up or the run is stopped."""

    def __init__(self, numbers: Iterator[int], seconds: float | None, stop: threading.Event) -> None:
        self._numbers, self._stop = numbers, stop
        self._until = None if seconds is None else time.perf_counter() + seconds
        self._lock = threading.Lock()

    def __iter__(self) -> _Source:
        return self

    def __next__(self) -> int:
        late = self._until is not None and time.perf_counter() >= self._until
        if self._stop.is_set() or late:
            raise StopIteration
        with self._lock:
            return next(self._numbers)


def _joined(threads: list[threading.Thread]) -> None:
    """Wait in short steps, so that an interrupt is heard."""
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)


def _row(
    kind: str,
    level: Level,
    number: int,
    at: float,
    started: dt.datetime,
    waited: float,
    flying: int,
    timing: Timing,
) -> dict[str, Any]:
    return {
        ROW: VERSION,
        "kind": kind,
        "level": level.name,
        "concurrency": level.concurrency,
        "rate": level.rate,
        "request": number,
        "started": started.isoformat(timespec="milliseconds"),
        "at_s": round(at, 6),
        "waited_s": round(waited, 6),
        "in_flight": flying,
        **{
            name: round(value, 7) if isinstance(value, float) else value
            for name, value in timing.as_dict().items()
        },
    }
