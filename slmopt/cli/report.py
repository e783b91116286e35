"""``report``: a scenario's answers, figures and tables as one file to hand over."""

from __future__ import annotations

import argparse
from typing import Any

from slmopt.cli.arguments import add_scenario_flags
from slmopt.cli.parser import add_json_flag
from slmopt.cli.scores import add_score_flags


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "report",
        help="a scenario as HTML, PowerPoint, Markdown, or all its tables",
        description="Write what limits a model on a device, with figures, assumptions and sources, into one file.",
        allow_abbrev=False,
    )
    add_scenario_flags(parser)
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="ends in .html, .pptx, .md, or .zip (CSV, JSON, Parquet)"
    )
    parser.add_argument(
        "--measured",
        metavar="FILE",
        action="append",
        default=[],
        help="a benchmark file; give it again for more",
    )
    add_score_flags(parser)
    add_json_flag(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> list[str]:
    # Figures and slides take a second to load, for which other commands need not wait.
    from slmopt.cli.report_run import run  # noqa: PLC0415

    return run(options)
