"""``solve``: the input that just meets a target, or the devices that do."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from slmopt.advice.goals import meets
from slmopt.advice.measures import At
from slmopt.advice.solve import TARGETS, VARIABLES, Solution, Variable, devices_that_meet, setter, solve
from slmopt.cli.arguments import add_scenario_flags, scenario_from
from slmopt.cli.estimate import check_finite
from slmopt.cli.inputs import number, shown
from slmopt.cli.output import aligned, as_json
from slmopt.cli.parser import UsageError, add_json_flag
from slmopt.cli.played import add_simulate_flag, played, played_json
from slmopt.serving.played import Played
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import played as played_words
from slmopt.words import solve as words

DEVICE = "device"


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "solve",
        help="the bandwidth, bits, context … that just meets a target",
        description="Bisects one input on the typical estimate (or another level) until the target is just met.",
        allow_abbrev=False,
    )
    add_scenario_flags(parser)
    asked = parser.add_argument_group("what is asked")
    asked.add_argument(
        "--for",
        dest="variable",
        metavar="X",
        required=True,
        choices=(*VARIABLES, DEVICE),
        help=f"{', '.join(VARIABLES)}, or {DEVICE}: the presets that meet the target",
    )
    asked.add_argument(
        "--target", metavar="NAME=VALUE", required=True, help=f"one of {', '.join(TARGETS)}: tpot_ms=20"
    )
    asked.add_argument(
        "--level",
        choices=get_args(At),
        default="typical",
        help="what must meet it: the ceiling, or the estimate's slow, typical (default) or fast level",
    )
    add_simulate_flag(parser)
    asked.add_argument("--rate", metavar="R", type=number, help="requests a second: times are then p95")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    made, assumed = scenario_from(options)
    if options.rate is not None:
        if options.rate <= 0:
            raise UsageError(f"--rate = {options.rate:g}: it must be above 0 requests a second.")
        made = made.change(request_rate=options.rate)
    name, value = _target(options.target)
    check_finite(evaluate(made))
    at: At = options.level
    if options.variable == DEVICE:
        found = devices_that_meet(made, name, value, at)
    else:
        variable: Variable = options.variable
        found = solve(made, variable, name, value, at)
    run = _played(options, made, found)
    if options.json:
        simulated = {} if run is None else {"simulation": _simulated(run, name, value)}
        return as_json({**solution_json(found), **simulated, "assumed": list(assumed)})
    lines = [words.sentence(found)]
    if made.request_rate is not None:
        lines.append(words.CLOSED)
    if run is not None:
        lines += ["", "With it, the requests played", *(f"  {line}" for line in played_words.lines(run))]
        held = "meets" if _meets(run, name, value) else "misses"
        lines.append(f"  Played, it {held} {name} = {value:g}.")
    if found.devices:
        rows = [["device", name], *([ident, f"{reached:.3g}"] for ident, reached in found.devices)]
        lines += ["", *aligned(rows, right=(1,))]
    if assumed:
        lines += ["", "Assumed", *(f"  {note}" for note in assumed)]
    return [line.replace("**", "") for line in lines]


def _played(options: argparse.Namespace, made: Scenario, found: Solution) -> Played | None:
    """The scenario at the value that was found, played; None where that was not asked."""
    if not options.simulate:
        return None
    if TARGETS[found.target[0]][0] not in ("ttft", "tpot"):
        raise UsageError(
            "--simulate shows the first token and the time per token: take ttft_ms or tpot_ms as the target."
        )
    if found.variable == DEVICE or found.value is None:
        return played(options, made)
    variable: Variable = options.variable
    return played(options, setter(made, variable)(found.value))


def _meets(run: Played, name: str, value: float) -> bool:
    measure, scale, _ = TARGETS[name]
    reached = played_words.value_of(run, measure)
    return reached is not None and meets(measure, reached, value * scale)


def _simulated(run: Played, name: str, value: float) -> dict[str, Any]:
    return {**played_json(run), "met": _meets(run, name, value)}


def _target(text: str) -> tuple[str, float]:
    name, equals, given = text.partition("=")
    name = name.strip()
    if not equals or name not in TARGETS:
        raise UsageError(
            f"--target {shown(text)}: give one of {', '.join(TARGETS)} and its value, such as tpot_ms=20."
        )
    try:
        value = number(given.strip())
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--target {name}: {error}.") from error
    if value <= 0:
        raise UsageError(f"--target {name} = {value:g}: it must be above 0.")
    return name, value


def solution_json(found: Solution) -> dict[str, Any]:
    """The contract's keys, and more beside them."""
    name, value = found.target
    listed = [{"id": ident, name: reached} for ident, reached in found.devices]
    return {
        "variable": found.variable,
        "value": [ident for ident, _ in found.devices] if found.variable == DEVICE else found.value,
        "unit": found.unit,
        "target": {name: value},
        "reachable": found.reachable,
        "why": found.why,
        "level": found.at,
        "reached": found.reached,
        "any_value": found.any_value,
        "devices": listed,
    }
