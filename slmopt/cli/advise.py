"""``advise``: what holds each metric back, which technique gains what, and whether the targets are met."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

from slmopt.advice.checklist import checklist
from slmopt.advice.diagnosis import METRICS, Diagnosis, diagnose
from slmopt.advice.goals import Goal, goals
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.observed import Observed, observe
from slmopt.advice.order import stack
from slmopt.advice.plan import Trial, plan
from slmopt.advice.quality import Scores, best_format, formats_compared
from slmopt.cli.advice_json import advice_json, plain, quality_json, with_played
from slmopt.cli.arguments import add_scenario_flags, as_flags, scenario_from
from slmopt.cli.compare import read_file
from slmopt.cli.estimate import check_finite
from slmopt.cli.inputs import number, whole
from slmopt.cli.output import aligned, as_json, say
from slmopt.cli.parser import add_json_flag
from slmopt.cli.played import add_simulate_flag, played, played_json
from slmopt.cli.scores import add_score_flags, scores_of
from slmopt.measured.compare import compare
from slmopt.measured.placed import Facts
from slmopt.measured.table import concat
from slmopt.serving.played import Played
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.words import checklist as checklist_words
from slmopt.words import diagnosis as diagnosis_words
from slmopt.words import goals as goal_words
from slmopt.words import order as order_words
from slmopt.words import plan as plan_words
from slmopt.words import played as played_words
from slmopt.words import quality as quality_words


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "advise",
        help="what to do, in which order, and what each step gains",
        description="The bottleneck of each metric, every technique's gain as a factor of estimates, and the targets.",
        allow_abbrev=False,
    )
    add_scenario_flags(parser)
    wanted = parser.add_argument_group("targets")
    wanted.add_argument("--ttft-ms", metavar="T", type=number, help="first token within T ms")
    wanted.add_argument("--tpot-ms", metavar="T", type=number, help="each further token within T ms")
    wanted.add_argument("--users", metavar="N", type=whole, help="sequences held at once")
    wanted.add_argument("--tokens-per-s", metavar="R", type=number, help="tokens/s of the device")
    wanted.add_argument(
        "--memory-gb", metavar="GB", type=number, help="all that is held within so much memory"
    )
    wanted.add_argument(
        "--rate", metavar="R", type=number, help="requests a second: times are then p95 with queueing"
    )
    add_simulate_flag(parser)
    add_score_flags(parser)
    parser.add_argument(
        "--measured",
        metavar="FILE",
        nargs="+",
        default=[],
        help="benchmark files of this model on this device: software is named where they are slower than usual",
    )
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    made, assumed = scenario_from(options)
    made = with_targets(made, options)
    evaluation = evaluate(made)
    check_finite(evaluation)
    for warning in evaluation.setup.warnings:
        say(f"warning: {warning}")
    seen = _observed(options.measured, evaluation)
    found, trials, judged = diagnose(made, seen), plan(made), goals(evaluation)
    simulated, scores = played(options, made), scores_of(options)
    if options.json:
        advice = advice_json(evaluation, found, trials, judged)
        if simulated is not None:
            targets = with_played(advice["targets"], simulated)
            advice = {**advice, "simulation": played_json(simulated), "targets": targets}
        items = [
            {"id": item.id, "state": item.state, "text": checklist_words.text(item)}
            for item in checklist(made, seen, scores)
        ]
        if scores is not None:
            advice = {**advice, "quality": quality_json(made, scores)}
        return as_json({**advice, "checklist": items, "assumed": list(assumed)})
    lines = list(_lines(evaluation, found, trials, judged, assumed, simulated))
    return lines if scores is None else [*lines, "", "Quality", *_quality_lines(made, scores)]


def _quality_lines(made: Scenario, scores: Scores) -> list[str]:
    rows = formats_compared(made, scores)
    said = [quality_words.evaluated(row) for row in rows if row.score is not None]
    said.append(quality_words.verdict(rows, best_format(rows), scores))
    return [f"  {plain(line).replace(chr(92), '')}" for line in said]


def _observed(files: list[str], e: Evaluation) -> Observed | None:
    """What measurements say of the scenario; None without any, with a warning where none is of it."""
    if not files:
        return None
    setup = e.setup
    facts = Facts(device=setup.device, model=setup.model, weights=setup.weights, cache_k=setup.cache_k)
    rows = compare(concat([read_file(text) for text in files]).rows, facts).rows
    seen = observe(rows, setup)
    if seen is None:
        say(f"warning: no row is of {setup.model.name} on {setup.device.name}, so the files change nothing")
    return seen


def with_targets(made: Scenario, options: argparse.Namespace) -> Scenario:
    """The scenario with the flags' targets and rate."""
    given = {
        "target_ttft_ms": options.ttft_ms,
        "target_tpot_ms": options.tpot_ms,
        "target_users": options.users,
        "target_tokens_per_s": options.tokens_per_s,
        "target_memory_gb": options.memory_gb,
        "request_rate": options.rate,
    }
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        return made
    try:
        return made.change(**values)
    except SpecError as error:
        text = str(error).replace("target_", "", 1).replace("request_rate", "rate", 1)
        raise SpecError(as_flags(text)) from error


def _lines(
    e: Evaluation,
    found: Diagnosis,
    trials: tuple[Trial, ...],
    judged: tuple[Goal, ...],
    assumed: tuple[str, ...],
    run: Played | None,
) -> Iterator[str]:
    s = e.setup.scenario
    yield "What holds it back"
    for line in diagnosis_words.sentences(e, found):
        yield f"  {plain(line)}"
    if judged:
        yield ""
        yield "Targets"
        yield from (f"  {plain(goal_words.sentence(goal))}" for goal in judged)
        changes = smallest_changes(s)
        yield from (f"  {plain(goal_words.ways_sentence(goal, ways))}" for goal, ways in changes)
        if changes and s.request_rate is not None:
            yield f"  {played_words.CLOSED}"
    if run is not None:
        yield ""
        yield "The same requests, played"
        yield from (f"  {plain(line)}" for line in played_words.lines(run))
        yield from (f"  {plain(line)}" for goal in judged if (line := played_words.verdict(run, goal)))
    yield ""
    yield "The best order here, for the whole reply"
    best = stack(s, "reply", "best")
    yield from (f"  {at}. {plain(line)}" for at, line in enumerate(order_words.lines(best), start=1))
    if not best.steps:
        yield "  No technique of the list shortens a reply here."
    yield ""
    yield "Techniques, each alone (factors of estimates; 1: nothing)"
    told = [trial for trial in trials if trial.gain is not None]
    rows = [["", "first token", "time/token", "tokens/s", "sequences", "memory", "stall", "what"]]
    rows += [_row(trial) for trial in told]
    yield from (f"  {line}" for line in aligned(rows, right=(1, 2, 3, 4, 5, 6)))
    yield ""
    yield "What each belongs to, costs, and after what it stops helping"
    yield from (f"  {plain(plan_words.price(e, trial, found))}" for trial in told)
    idle = [trial for trial in trials if trial.gain is None and not trial.technique.rung_of]
    if idle:
        yield ""
        yield "Nothing to do"
        yield from (f"  {trial.technique.name}: {plain(trial.change.what)}" for trial in idle)
    if assumed:
        yield ""
        yield "Assumed"
        yield from (f"  {note}" for note in assumed)


def _row(trial: Trial) -> list[str]:
    cells = [_cell(plan_words.value(trial, metric)) for metric in (*METRICS, "memory", "gap")]
    condition = f" ({trial.change.assumed})" if trial.change.assumed else ""
    return [trial.technique.name, *cells, f"{trial.change.what}{condition}"]


def _cell(factor: float) -> str:
    if factor == float("inf"):
        return "fits"
    return "–" if math.isnan(factor) else f"{factor:.3g}"
