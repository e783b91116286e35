"""``--scores``: the user's own evaluation of weight formats, which ``advise`` and ``report`` hold as a gate."""

from __future__ import annotations

import argparse
from pathlib import Path

from slmopt.advice.quality import Scores
from slmopt.cli.inputs import number, read_bytes
from slmopt.cli.parser import UsageError
from slmopt.readers.score_file import read_scores

_LARGEST = 1 << 20


def add_score_flags(parser: argparse.ArgumentParser) -> None:
    """The file and what is good enough."""
    gate = parser.add_argument_group("quality (your own evaluation: no format is called best without one)")
    gate.add_argument("--scores", metavar="FILE", help="a CSV of format, score and (optional) valid")
    gate.add_argument("--score-floor", metavar="X", type=number, help="the task score that is good enough")
    gate.add_argument(
        "--valid-floor", metavar="X", type=number, help="the share of valid replies that is good enough"
    )


def scores_of(options: argparse.Namespace) -> Scores | None:
    """What the flags say; None without a file."""
    if options.scores is None:
        if options.score_floor is not None or options.valid_floor is not None:
            raise UsageError("--score-floor and --valid-floor need --scores, a file of your evaluation.")
        return None
    found = read_scores(read_bytes(Path(options.scores), _LARGEST))
    return Scores(
        {one.format_id: one.score for one in found},
        options.score_floor,
        {one.format_id: one.valid for one in found if one.valid is not None},
        options.valid_floor,
    )
