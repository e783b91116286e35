"""``simulate``: requests over time on a server with slots and memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from slmopt.cli import inputs
from slmopt.cli.arguments import add_scenario_flags, scenario_from
from slmopt.cli.output import aligned, as_json, say
from slmopt.cli.parser import UsageError, add_json_flag
from slmopt.serving.outcome import Goodput, Outcome, goodput, outcome, percentiles
from slmopt.serving.policy import ADMISSIONS, SLOTS, Policy, policy
from slmopt.serving.replicas import Replicas, replicas
from slmopt.serving.simulate import simulate
from slmopt.serving.trace import read_trace
from slmopt.serving.traffic import ARRIVAL_KINDS, LENGTH_KINDS, Requests, Traffic, traffic
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.words import simulation as words
from slmopt.words.simulation_page import how_many

Made = TypeVar("Made")

MOST_BYTES = 256 << 20
_FLAGS = {
    "rate": "--rate",
    "requests": "--requests",
    "burst": "--burst",
    "hit_rate": "--hit-rate",
    "slots": "--batch",
    "token_budget": "--token-budget",
    "prompt.mean": "--prompt",
    "prompt.spread": "--spread",
    "output.mean": "--output",
    "output.spread": "--spread",
}


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "simulate",
        help="requests over time: first tokens, gaps, queue, memory, slots",
        description="Serve requests pass by pass: what users wait for, and what the slots and the memory do.",
        allow_abbrev=False,
    )
    add_scenario_flags(parser)
    add_traffic_flags(parser)
    add_json_flag(parser)
    parser.set_defaults(command=run)


def add_traffic_flags(parser: argparse.ArgumentParser) -> None:
    """Arrivals, lengths, admission and targets."""
    came = parser.add_argument_group("traffic")
    came.add_argument("--rate", metavar="R", type=inputs.number, help="requests/s that arrive")
    came.add_argument("--requests", metavar="N", type=inputs.whole, help="how many arrive")
    came.add_argument(
        "--trace", metavar="FILE", help="CSV of arrival_s, prompt_tokens, output_tokens instead"
    )
    came.add_argument("--arrivals", choices=ARRIVAL_KINDS, help="how they arrive (default: poisson)")
    came.add_argument(
        "--burst", metavar="N", type=inputs.whole, help="requests at once, with --arrivals bursts"
    )
    came.add_argument("--prompt-kind", choices=LENGTH_KINDS, help="how prompts spread around --prompt")
    came.add_argument("--output-kind", choices=LENGTH_KINDS, help="how replies spread around --output")
    came.add_argument("--spread", metavar="X", type=inputs.number, help="how far: 0 to 1, or σ of lognormal")
    came.add_argument(
        "--hit-rate", metavar="X", type=inputs.number, help="share that finds --prefix-hit cached"
    )
    came.add_argument("--seed", metavar="S", type=inputs.whole, help="another draw (default: 0)")
    serve = parser.add_argument_group("server (slots: --batch; cache: --memory)")
    serve.add_argument(
        "--policy",
        choices=ADMISSIONS,
        help="how requests are admitted (default: as the scenario batches and feeds prompts: continuous)",
    )
    serve.add_argument("--token-budget", metavar="N", type=inputs.whole, help="tokens a pass, with chunked")
    serve.add_argument(
        "--rates",
        choices=("slow", "typical", "fast", "ceiling"),
        help="what devices reach (default: typical), or the ceiling",
    )
    serve.add_argument("--ttft-ms", metavar="T", type=inputs.number, help="target for the first token")
    serve.add_argument("--tpot-ms", metavar="T", type=inputs.number, help="target for each further one")
    serve.add_argument(
        "--replicas", action="store_true", help="how many devices --rate needs under the targets"
    )


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    made, assumed = scenario_from(options)
    chosen = policy_from(options, made)
    seed = _seed(options)
    requests, drawn_from = _requests(options, made, seed)
    needed = _replicas(options, made, chosen, drawn_from)
    found = outcome(simulate(made, requests, chosen, seed=seed, progress=progress_bar("simulating")))
    if options.batch is None:
        assumed = (*assumed, f"--batch is not given: {chosen.slots} slots are assumed")
    for warning in found.run.setup.warnings:
        say(f"warning: {warning}")
    if options.json:
        return as_json({**outcome_json(found, options), **_replicas_json(needed), "assumed": list(assumed)})
    lines = _lines(found, options, assumed)
    if needed is not None and drawn_from is not None:
        name = found.run.setup.device.name
        lines[1:1] = [how_many(needed, drawn_from.rate, name).replace("**", "")]
    return lines


def policy_from(options: argparse.Namespace, made: Scenario) -> Policy:
    """The policy of the flags; errors speak of flags."""
    own = "static" if made.batching == "static" else "chunked" if made.prefill_chunk_tokens else "continuous"
    slots = SLOTS if options.batch is None else options.batch
    budget = options.token_budget
    if budget is None and made.prefill_chunk_tokens is not None:
        budget = made.prefill_chunk_tokens + slots * (1 + made.draft_tokens)
    values = {
        "admission": options.policy or own,
        "memory": made.allocation,
        "slots": slots,
        "token_budget": budget,
        "rates": options.rates or "typical",
    }
    return spoken(lambda: policy({name: value for name, value in values.items() if value is not None}))


def _replicas(
    options: argparse.Namespace, made: Scenario, chosen: Policy, drawn_from: Traffic | None
) -> Replicas | None:
    if not options.replicas:
        return None
    if drawn_from is None:
        raise UsageError("--replicas needs --rate and --requests: a trace has one rate only.")
    if options.ttft_ms is None and options.tpot_ms is None:
        raise UsageError("--replicas needs a target: give --ttft-ms, --tpot-ms or both.")
    ttft_s, tpot_s = _targets(options)
    shown = progress_bar("counting devices")
    return replicas(made, drawn_from, chosen, ttft_s=ttft_s, tpot_s=tpot_s, progress=shown)


def _replicas_json(needed: Replicas | None) -> dict[str, Any]:
    if needed is None:
        return {}
    low, high = needed.span or (None, None)
    values = {
        "needed": needed.middle,
        "low": low,
        "high": high,
        "share": needed.share,
        "draws": len(needed.needed),
    }
    return {"replicas": values}


def _targets(options: argparse.Namespace) -> tuple[float | None, float | None]:
    """Targets in seconds."""
    ttft_s, tpot_s = (None if ms is None else ms / 1e3 for ms in (options.ttft_ms, options.tpot_ms))
    return ttft_s, tpot_s


def _requests(options: argparse.Namespace, made: Scenario, seed: int) -> tuple[Requests, Traffic | None]:
    """The requests, and the traffic that they are drawn from; None for a trace."""
    if options.trace is not None:
        if options.rate is not None or options.requests is not None:
            raise UsageError("--trace brings its own requests: leave out --rate and --requests.")
        path = Path(options.trace)
        return read_trace(inputs.read_bytes(path, MOST_BYTES), path.name), None
    if options.rate is None or options.requests is None:
        raise UsageError("Give --rate (requests/s) and --requests (how many), or --trace FILE.")
    spread = {} if options.spread is None else {"spread": options.spread}
    values = {
        "kind": options.arrivals,
        "rate": options.rate,
        "requests": options.requests,
        "burst": options.burst,
        "hit_rate": options.hit_rate,
        "prompt": {"kind": options.prompt_kind or "fixed", "mean": made.prompt, **spread},
        "output": {"kind": options.output_kind or "fixed", "mean": made.output, **spread},
    }
    drawn = spoken(lambda: traffic({name: value for name, value in values.items() if value is not None}))
    return drawn.draw(seed), drawn


def _seed(options: argparse.Namespace) -> int:
    seed = 0 if options.seed is None else int(options.seed)
    if not 0 <= seed < 2**63:
        raise UsageError(f"--seed = {seed}: it must be a whole number of at least 0.")
    return seed


def spoken(make: Callable[[], Made]) -> Made:
    """What ``make`` gives, its errors naming flags."""
    try:
        return make()
    except SpecError as error:
        field, equals, rest = str(error).partition(" = ")
        if equals and field in _FLAGS:
            raise SpecError(f"{_FLAGS[field]} = {rest}") from error
        raise


def progress_bar(what: str) -> Callable[[float], bool] | None:
    """A line on stderr that grows, where a person looks at it; None where the output goes to a file."""
    if not sys.stderr.isatty():
        return None

    def shown(share: float) -> bool:
        end = "\n" if share >= 1 else ""
        sys.stderr.write(f"\r{what} {'█' * int(30 * share):<30} {share:4.0%}{end}")
        sys.stderr.flush()
        return True

    return shown


def outcome_json(found: Outcome, options: argparse.Namespace) -> dict[str, Any]:
    """The contract's keys. Waits that grow with the length of the run are null, and ``saturated`` says why."""
    waits = {"ttft_s": percentiles(found.ttft), "e2e_s": percentiles(found.e2e)}
    if found.saturated:
        waits = {name: dict.fromkeys(values, float("nan")) for name, values in waits.items()}
    run = found.run
    values: dict[str, Any] = {
        "completed": found.completed,
        "rejected": found.rejected,
        "ttft_s": waits["ttft_s"],
        "tpot_s": percentiles(found.tpot),
        "gap_s": {**percentiles(found.gap), "max": found.gap.worst},
        "e2e_s": waits["e2e_s"],
        "output_tokens_per_s": found.output_tokens_per_s,
        "mean_batch": found.mean_batch,
        "slot_utilisation": found.slot_utilisation,
        "peak_kv_bytes": found.peak_kv_bytes,
        "saturated": found.saturated,
        "queue_growth_per_s": found.queue_growth_per_s if found.saturated else 0.0,
        "kept_slot_steps": found.kept_slot_steps,
        "idle_slot_steps": found.idle_slot_steps,
        "preempted": run.preempted,
        "rejected_why": dict(run.rejected),
        "makespan_s": found.makespan_s,
        "kind": "ceiling" if run.policy.rates == "ceiling" else "estimate",
        "policy": run.policy.model_dump(),
    }
    if options.ttft_ms is not None or options.tpot_ms is not None:
        good = _goodput(found, options)
        values["goodput"] = {
            "share": good.share,
            "requests_per_s": good.requests_per_s,
            "tokens_per_s": good.tokens_per_s,
        }
    return values


def _goodput(found: Outcome, options: argparse.Namespace) -> Goodput:
    return goodput(found, *_targets(options))


def _lines(found: Outcome, options: argparse.Namespace, assumed: tuple[str, ...]) -> list[str]:
    targets = options.ttft_ms is not None or options.tpot_ms is not None
    rows = words.report_lines(found, _goodput(found, options) if targets else None)
    lines = [words.answer(found).replace("**", ""), "", *aligned([["", words.policy_line(found)], *rows])]
    if assumed:
        lines += ["", "Assumed", *(f"  {note}" for note in assumed)]
    return lines
