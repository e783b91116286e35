"""``estimate``: ceiling and estimate of both phases, and what memory holds."""

from __future__ import annotations

import argparse
import math
from typing import Any

from slmopt.cli.arguments import add_scenario_flags, as_flags, scenario_from
from slmopt.cli.estimate_text import estimate_lines
from slmopt.cli.output import as_json, say
from slmopt.cli.parser import add_json_flag
from slmopt.cli.phases import evaluation_json
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation, evaluate


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "estimate",
        help="what limits a model on a device: ceilings, estimates, capacity",
        description="Ceilings and estimates of decode and prefill, what memory holds, and what speculation gains.",
        allow_abbrev=False,
    )
    add_scenario_flags(parser)
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    made, assumed = scenario_from(options)
    evaluation = _evaluated(made)
    check_finite(evaluation)
    for warning in evaluation.setup.warnings:
        say(f"warning: {warning}")
    if options.json:
        return as_json({**evaluation_json(evaluation), "assumed": list(assumed)})
    return estimate_lines(evaluation, assumed)


def _evaluated(made: Scenario) -> Evaluation:
    """What follows from the scenario; an error names the flag of a field."""
    try:
        return evaluate(made)
    except SpecError as error:
        raise SpecError(as_flags(str(error))) from error


def check_finite(evaluation: Evaluation) -> None:
    """Refuse inputs whose times overflow or vanish. Raises :class:`SpecError`."""
    for phase in (evaluation.ceiling, evaluation.typical):
        for step in (phase.decode, phase.prefill):
            if not (math.isfinite(float(step.seconds)) and float(step.seconds) > 0):
                raise SpecError(
                    "The numbers are too large or too small to compute with: give a size, a bandwidth and a length "
                    "that a machine could have."
                )
