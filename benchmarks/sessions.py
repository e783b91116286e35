"""Many visitors at once: how long the server takes to answer a moved slider, over real WebSockets.

    python -m benchmarks.sessions [--sessions N] [--seconds S] [--copies N] [--page NAME] [--each-page]
    python -m benchmarks.sessions --soak [--minutes M]

Each session comes with a scenario of its own, waits a second, moves a slider by one stop, and so on; while it does so it
asks for the figures ahead that a browser asks for. A sample runs from the message that asks for a run to the message that
says that it has finished, at the visitor's end. Visitors live in a process of their own; how busy both sides are is told
beside the times, since on few cores they take time from each other. The floor is a bare app of one slider and one chart.

One copy of the dashboard computes on one core; a copy for each core is what docs/deployment.md advises for many visitors,
who then stay at their copy as behind a balancer. The limit is held against those; one copy alone is told beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import psutil

from benchmarks import soak
from benchmarks.streamlit_client import Rerun, Visitor
from tests.browser.pages import URL_PATHS, name
from tests.browser.server import Server, running

SESSIONS = 30
# Numbers of those who only make a server ready: far from those of who is measured.
_READY_FROM = 10_000
SECONDS = 30.0
LIMIT_P95_MS = 150.0
LIMIT_KB = 60.0
FLOOR = "benchmarks/floor_app.py"
# Pages whose answer no slider moves.
WITHOUT = {"share", "method"}
_PAUSE_S = 1.0
# Visitors take hold of their sliders one after the other in the first part of the time.
_BEGUN_WITHIN = 0.3


@dataclass(slots=True)
class Load:
    """What the visitors of a server saw; seconds."""

    sessions: int
    opened: list[float] = field(default_factory=list)
    reruns: dict[str, list[Rerun]] = field(default_factory=dict)
    ahead: list[float] = field(default_factory=list)
    ahead_bytes: int = 0
    server_share: float = 0.0
    client_share: float = 0.0

    def all(self) -> list[Rerun]:
        """Reruns of all pages."""
        return [one for of_page in self.reruns.values() for one in of_page]


def p95_ms(seconds: Sequence[float]) -> float:
    """95 % are below, interpolated between neighbours; milliseconds."""
    return 1e3 * statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def pages(only: Sequence[str] | None = None) -> list[str]:
    """Addresses of the pages with a slider, or of those asked for."""
    return [path for path in URL_PATHS if (name(path) in only if only else name(path) not in WITHOUT)]


async def _visit(
    server: Server, page: str, number: int, load: Load, begun: asyncio.Barrier, starts: float, until: float
) -> None:
    chance = np.random.default_rng(number)
    began = time.perf_counter()
    async with Visitor.arrive(server.address, page, scenario_of(number)) as visitor:
        load.opened.append(time.perf_counter() - began)
        await begun.wait()
        began = time.perf_counter()
        await asyncio.sleep(starts)
        taken = load.reruns.setdefault(page, [])
        while time.perf_counter() - began < until:
            taken.append(await visitor.move())
            await asyncio.sleep(_PAUSE_S * chance.uniform(0.8, 1.2))
        await visitor.leave_slider()
        load.ahead += visitor.ahead_seconds
        load.ahead_bytes += visitor.ahead_bytes


def scenario_of(number: int) -> str:
    """The link by which a visitor comes: nobody's figures are those of another, so nobody has them drawn before."""
    return f"prompt={1000 + 37 * number}"


def place(number: int, pages: int, servers: int) -> tuple[int, int]:
    """On which page and at which server a session is, so that servers have equally many and pages are at all of them."""
    return number % pages, (number + number // math.lcm(pages, servers)) % servers


async def _visit_all(
    servers: Sequence[Server], paths: Sequence[str], sessions: int, seconds: float, first: int
) -> Load:
    load = Load(sessions)
    begun = asyncio.Barrier(sessions + 1)
    async with asyncio.TaskGroup() as group:
        for number in range(sessions):
            starts = _BEGUN_WITHIN * seconds * number / sessions
            page, server = place(number, len(paths), len(servers))
            group.create_task(
                _visit(servers[server], paths[page], first + number, load, begun, starts, seconds)
            )
            await asyncio.sleep(0.05)
        busy = [psutil.Process(), *(psutil.Process(server.pid) for server in servers)]
        await begun.wait()
        for one in busy:
            one.cpu_percent()
        await asyncio.sleep(seconds)
        load.client_share, *shares = (one.cpu_percent() / 100 for one in busy)
        load.server_share = sum(shares)
    return load


def measure(
    servers: Sequence[Server], paths: Sequence[str], sessions: int, seconds: float, first: int = 0
) -> Load:
    """Sessions spread evenly over the pages at these addresses and over the servers, each moving a slider for this long.

    ``first`` is the number of the first of them; each has the scenario of its number.
    """
    return asyncio.run(_visit_all(servers, paths, sessions, seconds, first))


def _line(what: str, reruns: Sequence[Rerun], load: Load | None = None) -> str:
    times = [one.seconds for one in reruns]
    told = (
        f"  {what:<14}{len(reruns):7}{1e3 * statistics.median(times):8.0f}{p95_ms(times):8.0f}{1e3 * max(times):8.0f}"
        f"{statistics.mean(one.received_bytes for one in reruns) / 1e3:10.1f}"
        f"{max(one.received_bytes for one in reruns) / 1e3:8.1f}"
    )
    if load is None:
        return told
    ahead = f"{len(load.ahead):7}{p95_ms(load.ahead):8.0f}" if len(load.ahead) > 1 else ""
    return f"{told}{load.server_share:9.0%}{load.client_share:9.0%}{ahead}"


def _kept(what: str, reruns: Sequence[Rerun]) -> bool:
    """Whether both limits hold; what is missed is told."""
    slow = p95_ms([one.seconds for one in reruns])
    large = max(one.received_bytes for one in reruns) / 1e3
    if slow >= LIMIT_P95_MS:
        print(f"    {what}: p95 of {slow:.0f} ms is not below {LIMIT_P95_MS:g} ms")
    if large >= LIMIT_KB:
        print(f"    {what}: {large:.0f} kB of messages for a rerun; the limit is {LIMIT_KB:g} kB")
    return slow < LIMIT_P95_MS and large < LIMIT_KB


def report(
    sessions: int = SESSIONS,
    seconds: float = SECONDS,
    only: Sequence[str] | None = None,
    each: bool = False,
    copies: int | None = None,
) -> bool:
    """Prints times and sizes of the floor, of one copy of the dashboard, and of ``copies`` (default: one a core).

    Sessions are spread over the pages; with ``each`` all of them are on one page after the other. Returns whether the
    copies keep the limits.
    """
    copies = cores() if copies is None else copies
    if unknown := set(only or ()) - {name(path) for path in URL_PATHS}:
        raise SystemExit(f"no page {', '.join(sorted(unknown))}: there are {', '.join(map(name, URL_PATHS))}")
    paths = pages(only)
    print(
        f"{sessions} sessions over WebSockets on {cores()} cores: each moves a slider, pauses for a second, and so on for "
        f"{seconds:g} s"
    )
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5 * cores():
        print(f"  The machine is busy (load {os.getloadavg()[0]:.1f}): times are longer than they need be.")
    print(f"(limits: p95 {LIMIT_P95_MS:g} ms, {LIMIT_KB:g} kB of messages a rerun; busy: shares of one core)")
    print(
        f"  {'':<14}{'reruns':>7}{'median':>8}{'p95':>8}{'most':>8} ms{'kB':>7}{'most':>8}{'server':>9}{'visitors':>9}"
        f"{'ahead':>7}{'p95':>8} ms"
    )
    with running(FLOOR) as server:
        floor = measure([server], [""], sessions, seconds)
        print(_line("the floor", floor.all(), floor))
    kept = True
    for count in sorted({1, copies}):
        print(f"  {count} {'copy' if count == 1 else 'copies'}, {sessions / count:g} sessions each")
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(running("app.py")) for _ in range(count)]
            for server in servers:
                # What a page needs once a server is no visitor's wait.
                measure([server], paths, len(paths), 0.1, _READY_FROM)
            good = _report(servers, [[path] for path in paths] if each else [paths], sessions, seconds)
        kept = good if count == copies else kept
    return kept


def _report(servers: Sequence[Server], parts: Sequence[Sequence[str]], sessions: int, seconds: float) -> bool:
    """One line a page and one for all of each part; returns whether the limits are kept."""
    kept = True
    for part in parts:
        load = measure(servers, part, sessions, seconds)
        for path in part if len(part) > 1 else ():
            print(_line(name(path), load.reruns[path]))
        what = name(part[0]) if len(part) == 1 else "all pages"
        print(_line(what, load.all(), load))
        for path in part if len(part) > 1 else ():
            kept = _kept(name(path), load.reruns[path]) and kept
        kept = _kept(what, load.all()) and kept
    return kept


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> int:
    """Runs what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(description="Times the server's answers to many visitors at once.")
    parser.add_argument(
        "--sessions", type=int, default=SESSIONS, help=f"visitors at once (default {SESSIONS})"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of moving (default {SECONDS:g})")
    parser.add_argument("--copies", type=int, help="of the dashboard (default: one a core)")
    parser.add_argument("--page", action="append", help="only this page; may be repeated")
    parser.add_argument("--each-page", action="store_true", help="all sessions on one page after the other")
    parser.add_argument(
        "--soak", action="store_true", help="watch the server's memory while visitors come and go"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="of the soak (default 60)")
    asked = parser.parse_args()
    if asked.copies is not None and asked.copies < 1:
        parser.error(f"--copies {asked.copies}: give 1 or more")
    if asked.soak:
        return 0 if soak.report(asked.sessions, asked.minutes) else 1
    return 0 if report(asked.sessions, asked.seconds, asked.page, asked.each_page, asked.copies) else 1


if __name__ == "__main__":
    sys.exit(main())
