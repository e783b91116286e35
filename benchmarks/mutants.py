"""Break the theory's formulas one by one and see whether its tests notice: ``python -m benchmarks.mutants``.

Each mutant changes one place of one module: an operator (+ - * / // < <= > >= == !=, and/or), a choice (min/max, floor/ceil
and their NumPy kin) or a number. Every module is sampled: a few places each, and more of those with many. Survivors are
listed; those that are equal to the original for every valid input, or no formula, stand in ``mutants_equal.tsv`` with the reason,
found by reading. Ends with 1 where the tests notice less of the others than ``LIMIT``. ``--write`` puts the result into docs/mutants.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.mutant_tests import BROKEN, THEORY, Bench, source_of
from benchmarks.mutating import Mutant, mutants
from tests.shared import ROOT

COUNT: Final = 170
LEAST_OF_A_MODULE: Final = 4
LIMIT: Final = 0.95
PAGE: Final = ROOT / "docs" / "mutants.md"
EQUAL: Final = Path(__file__).with_name("mutants_equal.tsv")

MODULES: Final = tuple(sorted(file.stem for file in THEORY.glob("*.py") if file.stem != "__init__"))


def sample(every: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """So many mutants: a few of each module, the rest in proportion to its places. All where ``count`` is 0."""
    if count == 0:
        return [mutant for of_module in every.values() for mutant in of_module]
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    shuffled = {module: chance.sample(places, len(places)) for module, places in every.items()}
    first = {module: places[:LEAST_OF_A_MODULE] for module, places in shuffled.items()}
    rest = [mutant for places in shuffled.values() for mutant in places[LEAST_OF_A_MODULE:]]
    picked = [mutant for places in first.values() for mutant in places]
    return picked + chance.sample(rest, min(max(0, count - len(picked)), len(rest)))


def try_all(picked: Sequence[Mutant], bench: Bench, jobs: int) -> list[Mutant]:
    """Tries mutants, so many at once; tells each; returns the survivors in the order given."""
    waiting, running = list(enumerate(picked)), dict[int, int]()
    survived = set[int]()
    ended = 0

    def end(at: int, word: str, kept: bool) -> None:
        nonlocal ended
        ended += 1
        if kept:
            survived.add(at)
        print(f"{ended}/{len(picked)} {word} {told(picked[at])}", flush=True)

    while waiting or running:
        while waiting and len(running) < jobs:
            at, mutant = waiting.pop(0)
            child = bench.begin(mutant)
            if child is None:
                end(at, "NOT RUN ", kept=True)
            else:
                running[child] = at
        if running:
            child, status = os.wait()
            at = running.pop(child)
            broken = os.waitstatus_to_exitcode(status) == BROKEN
            word = "BROKEN  " if broken else "noticed " if status else "SURVIVED"
            end(at, word, kept=broken or not status)
    return [picked[at] for at in sorted(survived)]


def told(mutant: Mutant) -> str:
    """The mutant on one line."""
    where = f"{mutant.module}.py:{mutant.lines[0]} {mutant.function}"
    return f"{where}: {_flat(mutant.was)}  →  {_flat(mutant.now)}"


def _flat(code: str) -> str:
    return " ".join(code.split())


def equal() -> dict[tuple[str, ...], str]:
    """Mutants that nothing could notice, and why."""
    with EQUAL.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {tuple(row[:5]): row[5] for row in rows if row}


def _reason(mutant: Mutant, known: dict[tuple[str, ...], str]) -> str | None:
    return known.get(tuple(_flat(part) for part in mutant.key))


def page(
    every: dict[str, list[Mutant]], picked: Sequence[Mutant], survivors: Sequence[Mutant], seed: int
) -> str:
    """What docs/mutants.md says."""
    reasons = equal()
    same = [mutant for mutant in survivors if _reason(mutant, reasons)]
    missed = [mutant for mutant in survivors if not _reason(mutant, reasons)]
    tried, lost = Counter(m.module for m in picked), Counter(m.module for m in survivors)
    share = 1 - len(missed) / max(1, len(picked) - len(same))
    lines = [
        "# Do the tests notice a broken formula?",
        "",
        "`python -m benchmarks.mutants --write` writes this page. Each mutant has one operator, choice or number of one module of",
        (
            f"`slmopt/theory` changed. Of {sum(map(len, every.values())):,} places {len(picked)} were tried (seed {seed}), at least "
            f"{LEAST_OF_A_MODULE} of every module."
        ),
        "",
        (
            f"**The tests of `tests/theory` noticed {len(picked) - len(survivors)}; {len(same)} of the others cannot be noticed, for the "
            f"reasons below. That is {share:.1%} of those that could be noticed** (at least {LIMIT:.0%} must be)."
        ),
        "",
        "| module | places | tried | survived |",
        "|---|---|---|---|",
        *(
            f"| {name} | {len(every[name])} | {tried[name]} | {lost[name] or ''} |"
            for name in every
            if every[name]
        ),
        "",
        "## Survivors",
        "",
        *(f"- `{told(mutant)}`: {_reason(mutant, reasons) or 'a test is missing.'}" for mutant in survivors),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Sample mutants, try each, print the survivors and the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="mutants to try (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="at once (default 2)")
    parser.add_argument("--module", choices=MODULES, action="append", help="only these modules")
    parser.add_argument("--write", action="store_true", help="put the result into docs/mutants.md")
    asked = parser.parse_args()
    every = {module: list(mutants(module, source_of(module))) for module in asked.module or MODULES}
    picked = sample(every, asked.count, asked.seed)
    survivors: list[Mutant] = []

    def job(bench: Bench) -> None:
        told = f"{len(bench.items)} tests pass; {len(picked)} mutants of {sum(map(len, every.values()))}"
        print(told, flush=True)
        survivors.extend(try_all(picked, bench, asked.jobs))

    Bench(job).run()
    reasons = equal()
    same = [mutant for mutant in survivors if _reason(mutant, reasons)]
    share = 1 - (len(survivors) - len(same)) / max(1, len(picked) - len(same))
    for mutant in survivors:
        print(f"survivor: {told(mutant)}: {_reason(mutant, reasons) or 'a test is missing'}")
    print(f"{len(picked)} tried, {len(survivors)} survived, {len(same)} of them equal: {share:.1%} noticed")
    if asked.write:
        PAGE.write_text(page(every, picked, survivors, asked.seed), encoding="utf-8")
    return 0 if share >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
