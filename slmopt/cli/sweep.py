"""``sweep``: a grid of scenarios into a Parquet file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slmopt.cli import inputs
from slmopt.cli.output import as_json, say
from slmopt.cli.parser import UsageError, add_json_flag
from slmopt.cli.simulate import progress_bar
from slmopt.serving.policy import ADMISSIONS
from slmopt.specs.base import SpecError
from slmopt.sweep.grid import Grid, grid
from slmopt.sweep.run import sweep

_FLAGS = {
    "batches": "--batch",
    "contexts": "--context",
    "models": "--model",
    "devices": "--device",
    "requests": "--requests",
    "rate": "--rate",
    "output": "--output",
    "seed": "--seed",
}


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "sweep",
        help="a grid of scenarios: ceilings, estimates, simulations, into a Parquet file",
        description="Every combination of models, devices, formats, batches, contexts and policies, computed once.",
        allow_abbrev=False,
    )
    axes = parser.add_argument_group("the grid (give a flag several values; a value as in estimate)")
    axes.add_argument("--model", metavar="M", nargs="+", required=True)
    axes.add_argument("--device", metavar="D", nargs="+", required=True)
    axes.add_argument("--weights", metavar="W", nargs="+", default=["q4_k_m"])
    axes.add_argument("--kv", metavar="K", nargs="+", default=["f16"])
    axes.add_argument("--batch", metavar="N", nargs="+", type=inputs.whole, default=[1])
    axes.add_argument("--context", metavar="N", nargs="+", type=inputs.whole, default=[2200])
    axes.add_argument("--policy", nargs="+", choices=ADMISSIONS, default=[], help="simulate each, too")
    load = parser.add_argument_group("the simulated traffic")
    load.add_argument("--memory", choices=("paged", "reserved"), default="paged")
    load.add_argument("--output", metavar="N", type=inputs.whole, default=200, help="reply length")
    load.add_argument("--rate", metavar="R", type=inputs.number, help="requests/s (default: all at once)")
    load.add_argument("--requests", metavar="N", type=inputs.whole, default=64)
    load.add_argument("--seed", metavar="S", type=inputs.whole, default=0)
    where = parser.add_argument_group("where it is computed")
    where.add_argument(
        "--out", metavar="FILE", required=True, help="the Parquet file; a stopped sweep goes on"
    )
    where.add_argument(
        "--workers", metavar="N", type=inputs.whole, help="local processes (default: all cores)"
    )
    where.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    if options.workers is not None and not 1 <= options.workers <= 1024:
        raise UsageError(f"--workers = {options.workers}: it must be a whole number between 1 and 1,024.")
    of, out = _grid(options), Path(options.out)
    if out.suffix.lower() not in (".parquet", ".pq"):
        raise UsageError(
            f"--out {inputs.shown(out)}: the file is Parquet, so give a name that ends in .parquet."
        )
    if not out.parent.is_dir():
        raise UsageError(f"--out: the folder {inputs.shown(out.parent)} does not exist.")
    try:
        table = sweep(
            of, out, workers=options.workers, cluster=options.cluster, progress=progress_bar("computing")
        )
    except OSError as error:
        raise SpecError(f"{out.name} could not be written ({error.strerror or error}).") from error
    wrong = table[table["error"] != ""]
    for text, count in wrong["error"].value_counts().head(5).items():
        say(f"warning: {count:,} points: {text}")
    if options.json:
        return as_json({"points": len(table), "failed": len(wrong), "out": str(out), "columns": list(table)})
    return [f"{len(table):,} points in {out}, {len(wrong):,} of them without an answer"]


def _grid(options: argparse.Namespace) -> Grid:
    values = {
        "models": [inputs.model(text) for text in options.model],
        "devices": [inputs.device(text) for text in options.device],
        "weights": [inputs.weights(text) for text in options.weights],
        "caches": [inputs.cache(text) for text in options.kv],
        "batches": options.batch,
        "contexts": options.context,
        "policies": options.policy,
        "memory": options.memory,
        "output": options.output,
        "rate": options.rate,
        "requests": options.requests,
        "seed": options.seed,
    }
    try:
        return grid(values)
    except SpecError as error:
        field, equals, rest = str(error).partition(" = ")
        name = field.partition("[")[0]
        if equals and name in _FLAGS:
            raise SpecError(f"{_FLAGS[name]} = {rest}") from error
        raise
