"""An hour of hostile files: ``make fuzz``, or ``python -m benchmarks.fuzz --minutes 60``.

Runs the properties of tests/fuzz one after the other, each with many new examples, until the time is up. Each runs in a
process of its own whose memory is bounded; one that takes far longer than its examples may is ended and counts as a hang,
with the place where it stood. Ends with 1 where a property fails, hangs or wants more memory.

Where atheris is installed (``pip install atheris``), ``--coverage`` lets it choose the bytes that Hypothesis draws from, so
that examples are led towards lines that none has reached.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

FOLDER = ROOT / "tests" / "fuzz"
MOST_DATA = 3 << 30
EXAMPLES = 400
HANG_S = 900
SLICE_S = 60


@dataclass(frozen=True, slots=True)
class Property:
    """A property of tests/fuzz: its module's name and its own."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}::{self.name}"


def properties(only: str = "") -> list[Property]:
    """All of them, in the order of their files; those whose name contains ``only``."""
    found = []
    for file in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(f"tests.fuzz.{file.stem}")
        for name, value in vars(module).items():
            if name.startswith("test_") and hasattr(value, "hypothesis") and only in f"{file.stem}::{name}":
                found.append(Property(file.stem, name))
    return found


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))


def _command(one: Property, coverage: bool) -> list[str]:
    if coverage:
        return [sys.executable, "-X", "faulthandler", "-m", "benchmarks.fuzz", "--one", str(one)]
    node = f"tests/fuzz/{one.module}.py::{one.name}"
    seed = f"--hypothesis-seed={secrets.randbelow(1 << 31)}"
    return [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "-p", "no:cacheprovider", node, seed]


def try_one(one: Property, coverage: bool) -> str:
    """Runs a property's slice; what went wrong, or an empty text."""
    started = subprocess.Popen(
        _command(one, coverage),
        cwd=ROOT,
        env={**os.environ, "SLMOPT_FUZZ_EXAMPLES": str(EXAMPLES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=_bounded,  # noqa: PLW1509 - a limit of memory can be set nowhere else
    )
    try:
        said, _ = started.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        # Python's fault handler then prints where each thread stands.
        started.send_signal(signal.SIGABRT)
        said, _ = started.communicate()
        return f"HANG after {HANG_S} s\n{_last(said)}"
    return "" if started.returncode == 0 else f"FAILED ({started.returncode})\n{_last(said)}"


def _last(said: bytes) -> str:
    return said.decode("utf-8", "replace")[-6000:]


def _led(one: Property) -> None:
    """In a process of its own: atheris draws the bytes of one property for a slice of time."""
    # Optional; loaded before all that it is to watch.
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["slmopt"]):
        module = importlib.import_module(f"tests.fuzz.{one.module}")
    kept = Path(os.environ.get("SLMOPT_FUZZ_CORPUS", ROOT / "benchmarks" / "results" / "fuzz")) / one.name
    kept.mkdir(parents=True, exist_ok=True)
    atheris.Setup(
        [sys.argv[0], str(kept), f"-max_total_time={SLICE_S}", "-timeout=120", "-rss_limit_mb=3000"],
        getattr(module, one.name).hypothesis.fuzz_one_input,
    )
    atheris.Fuzz()


def _round(minutes: float, tried: list[Property]) -> Iterator[Property]:
    until = time.monotonic() + 60 * minutes
    for one in itertools.cycle(tried):
        if time.monotonic() > until:
            return
        yield one


def main() -> int:
    """Tries all properties in turn until the time is up; 1 where one fails."""
    parser = argparse.ArgumentParser(description="Hostile files for every reader.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", default="", help="properties whose name contains this")
    parser.add_argument("--coverage", action="store_true", help="let atheris lead the examples")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        _led(Property(*asked.one.split("::")))
        return 0
    if asked.coverage and importlib.util.find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install atheris")
    tried = properties(asked.only)
    if not tried:
        parser.error(f"no property's name contains {asked.only!r}")
    slices: Counter[Property] = Counter()
    faults: Counter[Property] = Counter()
    for one in _round(asked.minutes, tried):
        wrong = try_one(one, asked.coverage)
        slices[one] += 1
        faults[one] += bool(wrong)
        print(f"{'FAULT' if wrong else 'ok   '} {one}", flush=True)
        if wrong:
            print(wrong, flush=True)
    each = f"{SLICE_S} s" if asked.coverage else f"{EXAMPLES} examples"
    print(f"{len(tried)} properties, {sum(slices.values())} slices of {each}: {sum(faults.values())} faults")
    return 1 if faults.total() else 0


if __name__ == "__main__":
    sys.exit(main())
