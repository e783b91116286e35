"""``--simulate`` of ``advise`` and ``solve``: the scenario's requests played, beside the closed form."""

from __future__ import annotations

import argparse
import math
from typing import Any

from slmopt.cli.parser import UsageError
from slmopt.cli.simulate import progress_bar
from slmopt.serving.played import Played, play
from slmopt.specs.scenario import Scenario


def add_simulate_flag(parser: argparse.ArgumentParser) -> None:
    """The flag."""
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="play 500 requests at --rate as well, and show their 95th percentiles beside the closed form's",
    )


def played(options: argparse.Namespace, made: Scenario) -> Played | None:
    """The run that was asked for; None where none was."""
    if not options.simulate:
        return None
    if made.request_rate is None:
        raise UsageError("--simulate needs --rate: how many requests arrive a second.")
    return play(made, progress=progress_bar("simulating"))


def played_json(found: Played) -> dict[str, Any]:
    """Both figures of each time in seconds; null where a wait has no end."""
    o, closed = found.outcome, found.closed
    return {
        "requests": o.completed,
        "rate": found.rate,
        "policy": o.run.policy.model_dump(),
        "ttft_p95_s": _finite(found.ttft_p95_s),
        "tpot_p95_s": _finite(found.tpot_p95_s),
        "gap_p95_s": _finite(found.gap_p95_s),
        "mean_batch": _finite(o.mean_batch),
        "saturated": o.saturated,
        "closed_form": {
            "ttft_p95_s": _finite(closed.ttft_p95_s),
            "tpot_p95_s": _finite(closed.tpot_p95_s),
            "sequences": _finite(closed.sequences),
            "saturated": closed.saturated,
        },
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
