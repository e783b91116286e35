"""``probe``: this machine's memory bandwidth and matrix rates, as a device file for the dashboard."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from typing import Any

from slmopt.cli import inputs
from slmopt.cli.fit import write_text
from slmopt.cli.output import aligned, as_json, say
from slmopt.cli.parser import UsageError, add_json_flag
from slmopt.measured.busy import Busy, Watch
from slmopt.measured.probe import MOST_SECONDS, Probed, Sample, device_records, probe
from slmopt.measured.verdicts import NOISY
from slmopt.words import numbers as n

MOST_THREADS = 4096


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "probe",
        help="this machine's memory bandwidth and matrix rates",
        description=(
            "Measure this machine: memory bandwidth past the last cache, and matrix rates by operand type; accelerators too "
            "where PyTorch or MLX is installed. The device file that it writes is loaded on the page Your model, or by "
            "--device FILE. Leave the machine idle meanwhile."
        ),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--seconds", metavar="S", type=inputs.number, default=20.0, help="about how long, a unit (default 20)"
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=inputs.whole,
        help="threads that read memory (default: the cores of this process); products use those that their library takes",
    )
    parser.add_argument("--out", metavar="FILE", help="write the devices as a preset file")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    if not 0 < options.seconds <= MOST_SECONDS:
        raise UsageError(
            f"--seconds = {options.seconds:g}: it must be above 0 and at most {MOST_SECONDS:,.0f}."
        )
    if options.threads is not None and not 1 <= options.threads <= MOST_THREADS:
        raise UsageError(
            f"--threads = {options.threads}: it must be a whole number between 1 and {MOST_THREADS:,}."
        )
    watch = Watch.start()
    units = probe(options.seconds, options.threads, say)
    busy = watch.stop()
    records = device_records(units, dt.datetime.now(tz=dt.UTC), _busy_words(busy))
    if busy.much:
        say(
            f"warning: the machine was busy ({_busy_words(busy)}), so these figures are too low: repeat it when it is idle"
        )
    for unit in units:
        noisy = [sample.name for sample in unit.samples if sample.spread > NOISY]
        if noisy:
            say(
                f"warning: runs of {', '.join(noisy)} differ by more than 5 %: is {unit.name} busy with something else?"
            )
    if options.out is not None:
        write_text(options.out, json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    if options.json:
        return as_json(
            {
                "devices": records,
                "samples": [_sample_json(s) for unit in units for s in unit.samples],
                "machine": {"cores": busy.cores, "load_before": busy.load, "others_cores": busy.others},
            }
        )
    return [*(line for unit in units for line in _lines(unit)), f"Meanwhile: {_busy_words(busy)}."]


def _busy_words(busy: Busy) -> str:
    if busy.others is not None:
        took = f"other programs took {busy.others:.2f} of {busy.cores} cores"
    else:
        took = "what other programs took is not told here"
    return took if busy.load is None else f"{took}, load {busy.load:.2f} before"


def _sample_json(sample: Sample) -> dict[str, Any]:
    return {
        "device": sample.device,
        "test": sample.name,
        "kind": sample.kind,
        "dtype": sample.dtype,
        "size_bytes": sample.size_bytes,
        "threads": sample.threads,
        "runs": len(sample.rates),
        "median": sample.median,
        "best": sample.best,
        "spread": sample.spread,
    }


def _lines(unit: Probed) -> list[str]:
    rows = [["test", "type", "threads", "data", "runs", "median", "best", "spread"]]
    for sample in unit.samples:
        shown = n.bytes_per_s if sample.kind == "bandwidth" else n.flops_per_s
        rows.append(
            [
                sample.name,
                sample.dtype,
                f"{sample.threads:.2g}" if sample.threads else n.UNKNOWN,
                n.bytes_(sample.size_bytes),
                f"{len(sample.rates):,}",
                shown(sample.median),
                shown(sample.best),
                n.percent(sample.spread),
            ]
        )
    return [unit.name, *aligned(rows, right=(2, 3, 4, 5, 6, 7)), ""]
