"""An hour of visitors who come, move, wander, upload and leave: `python -m benchmarks.sessions --soak`.

The server's memory is sampled all the while. Caches fill and modules are loaded first, so the slope is taken after the
warm-up: the median of the slopes between all pairs of samples (Theil and Sen), which single jumps do not move.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import psutil
from scipy.stats import theilslopes  # type: ignore[import-untyped]
from websockets.exceptions import WebSocketException

from benchmarks.plain_http import AppError
from benchmarks.streamlit_client import Visitor
from tests.browser.pages import URL_PATHS, name
from tests.browser.server import Server, running

LIMIT_MB_PER_MINUTE = 1.0
# Closed sessions are kept for two minutes, in case their browser comes back.
WARM_UP = 1 / 3
_SAMPLE_S = 30.0
_PAUSE_S = 1.0
_STAY_S = (60.0, 240.0)
_WANDER, _UPLOAD = 0.08, 0.1
_UPLOADS_AT = "measurements"
_SEED = 8


@dataclass(slots=True)
class Soak:
    """What was done, what failed, and the server's memory: minutes since the start and megabytes."""

    done: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    minutes: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def slope(self) -> tuple[float, float, float]:
        """Megabytes a minute after the warm-up, and the ends of its 95 % interval."""
        minutes, megabytes = np.array(self.minutes), np.array(self.megabytes)
        warm = minutes >= WARM_UP * minutes[-1]
        found = theilslopes(megabytes[warm], minutes[warm])
        return float(found.slope), float(found.low_slope), float(found.high_slope)


def upload(chance: np.random.Generator) -> tuple[str, bytes]:
    """A small benchmark file that no other visitor has."""
    rows = int(chance.choice([5, 40, 2000], p=[0.6, 0.35, 0.05]))
    speeds = chance.uniform(1, 100, rows)
    lines = [f"Llama-3.2-1B,Q4_K_M,decode,{speed:.4f},128,{chance.integers(1, 512)}" for speed in speeds]
    head = "model,weights,phase,tokens_per_s,prompt_tokens,output_tokens"
    return f"run-{chance.integers(1 << 40)}.csv", "\n".join([head, *lines, ""]).encode()


async def _visitor(server: Server, number: int, soak: Soak, until: float) -> None:
    """Sessions one after the other, each for a few minutes."""
    chance = np.random.default_rng([_SEED, number])
    while time.monotonic() < until:
        stays = time.monotonic() + chance.uniform(*_STAY_S)
        page = str(chance.choice(URL_PATHS))
        try:
            async with Visitor.arrive(server.address, page) as visitor:
                soak.done["sessions"] += 1
                while time.monotonic() < min(stays, until):
                    await _act(visitor, chance, soak)
                    await asyncio.sleep(_PAUSE_S * chance.uniform(0.5, 1.5))
        except (AppError, OSError, TimeoutError, WebSocketException) as error:
            # One visitor's fault must not end the hour; all are told, and fail it.
            soak.faults[f"{page or name(page)}: {type(error).__name__}: {error}"[:300]] += 1
            await asyncio.sleep(_PAUSE_S)


async def _act(visitor: Visitor, chance: np.random.Generator, soak: Soak) -> None:
    if visitor.page == _UPLOADS_AT and visitor.uploads and chance.random() < _UPLOAD:
        await visitor.upload(*upload(chance))
        soak.done["uploads"] += 1
    elif visitor.slider() is None or chance.random() < _WANDER:
        await visitor.go(str(chance.choice(URL_PATHS)))
        soak.done["pages changed"] += 1
    else:
        await visitor.move()
        soak.done["sliders moved"] += 1


async def _watch(server: Server, soak: Soak, until: float) -> None:
    process = psutil.Process(server.pid)
    began = time.monotonic()
    while time.monotonic() < until:
        await asyncio.sleep(min(_SAMPLE_S, max(0.0, until - time.monotonic())))
        memory = process.memory_info().rss / 1e6
        soak.minutes.append((time.monotonic() - began) / 60)
        soak.megabytes.append(memory)
        print(
            f"  {soak.minutes[-1]:6.1f} min{memory:9.1f} MB{process.num_threads():6} threads"
            f"{soak.done['sessions']:7} sessions{soak.done['sliders moved']:8} moves{soak.done['uploads']:6} uploads",
            flush=True,
        )


async def _soak(server: Server, sessions: int, minutes: float) -> Soak:
    soak = Soak()
    until = time.monotonic() + 60 * minutes
    async with asyncio.TaskGroup() as group:
        group.create_task(_watch(server, soak, until))
        for number in range(sessions):
            group.create_task(_visitor(server, number, soak, until))
            await asyncio.sleep(0.2)
    return soak


def report(sessions: int, minutes: float) -> bool:
    """Prints the samples and the slope; returns whether memory is flat and no visitor met a fault."""
    print(f"{sessions} sessions for {minutes:g} minutes; limit: {LIMIT_MB_PER_MINUTE:g} MB a minute")
    with running("app.py") as server:
        soak = asyncio.run(_soak(server, sessions, minutes))
    slope, low, high = soak.slope()
    done = ", ".join(f"{count:,} {what}" for what, count in soak.done.items())
    print(f"  {done}")
    print(f"  slope after the warm-up: {slope:+.2f} MB a minute (95 %: {low:+.2f} to {high:+.2f})")
    for told, count in soak.faults.most_common():
        print(f"  FAULT, {count} times: {told}")
    return slope < LIMIT_MB_PER_MINUTE and not soak.faults
