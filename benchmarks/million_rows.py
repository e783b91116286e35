"""`bench rows`: files of a million rows, from bytes to the drawn Measurements page, each kind in a fresh process.

For every stage the seconds and the most memory above the idle process, the file's own bytes counted. The page is the real
one, run by Streamlit's own test driver: a first run that reads, judges and draws, and the rerun after it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.million_files import KINDS

ROWS: Final = 1_000_000
LIMIT_S: Final = 3.0
LIMIT_MB: Final = 1000.0
LIMIT_RERUN_S: Final = 0.3


def memory_mb(name: str) -> float:
    """A line of this process's memory as Linux counts it (``VmRSS``: now, ``VmHWM``: at most), in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"this system does not tell {name}")


class Stages:
    """Seconds and memory above ``idle_mb`` of each stage, in order."""

    def __init__(self) -> None:
        self.idle_mb = memory_mb("VmRSS")
        self.found: dict[str, tuple[float, float, float]] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what runs inside."""
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        begin, worked = time.perf_counter(), time.process_time()
        yield
        took, worked = time.perf_counter() - begin, time.process_time() - worked
        self.found[name] = (took, worked, memory_mb("VmHWM") - self.idle_mb)


def _package(path: Path) -> Stages:
    """The stages without a page."""
    from slmopt.measured.checks import check  # noqa: PLC0415 - what is imported counts as idle
    from slmopt.measured.compare import compare  # noqa: PLC0415
    from slmopt.measured.detect import read_benchmark  # noqa: PLC0415
    from slmopt.reports import measured_groups, measurement_tables  # noqa: PLC0415
    from slmopt.reports.pictures import measurements as pictures  # noqa: PLC0415
    from slmopt.words import measurements as words  # noqa: PLC0415

    _small(path, lambda content: compare(read_benchmark(path.name, content).rows))
    stages = Stages()
    with stages.stage("read, normalise"):
        read = read_benchmark(path.name, path.read_bytes())
    with stages.stage("judge"):
        judged = compare(read.rows)
    with stages.stage("aggregate"):
        rows = measurement_tables.joined(read.rows, judged)
        said = words.said(rows, 1, judged.needs)
        groups = measured_groups.groups(rows)
        listed = measurement_tables.listed(rows)
        check(read.rows)
    with stages.stage("draw the figure"):
        pictures.pictures(rows, groups, said.title, said.alt)
    if len(rows) < len(read.rows) or not len(listed):
        raise RuntimeError(f"{len(rows):,} of {len(read.rows):,} rows were judged")
    return stages


def _page(path: Path) -> Stages:
    """The page: what a visitor waits for after the upload, and when they change something."""
    from streamlit.testing.v1 import AppTest  # noqa: PLC0415

    app = AppTest.from_file(str(Path(__file__).parents[1] / "pages" / "ui" / "main.py"), default_timeout=300)
    app.run()
    app.switch_page("../measurements_page.py").run()
    _small(path, lambda content: app.file_uploader[0].upload(path.name, content).run())
    next(button for button in app.button if button.label == "Remove all").click().run()
    stages = Stages()
    with stages.stage("page after the upload"):
        app.file_uploader[0].upload(path.name, path.read_bytes()).run()
    with stages.stage("page again"):
        app.run()
    if app.exception:
        raise RuntimeError(str(app.exception))
    return stages


def _small(path: Path, use: Callable[[bytes], Any]) -> None:
    """What is loaded once for the first file of a process, by a file of few rows."""
    write = next(write for name, write in KINDS.values() if name == path.name)
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / path.name
        write(few, 50)
        use(few.read_bytes())


def measure(part: str, path: Path) -> dict[str, tuple[float, float, float]]:
    """The stages of a file in a fresh process: seconds, seconds of processors, and MB above idle."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.million_rows", part, str(path)],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    return {name: tuple(told) for name, told in json.loads(done.stdout.splitlines()[-1]).items()}


def report() -> bool:
    """Prints the stages of every kind of file; returns whether all are within the limits."""
    print(
        f"Files of {ROWS:,} rows; limits: {LIMIT_S:g} s from the upload to the drawn page, {LIMIT_RERUN_S * 1e3:.0f} ms a rerun, "
        f"{LIMIT_MB:,.0f} MB above idle, the file's bytes among them"
    )
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for kind, (name, write) in KINDS.items():
            path = Path(folder) / name
            write(path, ROWS)
            print(f"  {kind}, {path.stat().st_size / 1e6:,.0f} MB")
            for part in ("package", "page"):
                for stage, (seconds, worked, most_mb) in measure(part, path).items():
                    limit_s = LIMIT_RERUN_S if stage == "page again" else LIMIT_S
                    good = seconds < limit_s and most_mb < LIMIT_MB
                    kept = kept and good
                    print(
                        f"    {stage:<24}{seconds:7.2f} s ({worked:5.2f} s of processors){most_mb:8,.0f} MB"
                        f"{'' if good else '   missed'}"
                    )
            path.unlink()
    return kept


def main() -> int:
    """One file's stages as JSON, for the process that asks."""
    parser = argparse.ArgumentParser(description="Stages of one file, as JSON.")
    parser.add_argument("part", choices=["package", "page"])
    parser.add_argument("path", type=Path)
    asked = parser.parse_args()
    print(json.dumps((_page if asked.part == "page" else _package)(asked.path).found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
