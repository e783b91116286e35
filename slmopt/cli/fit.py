"""``fit``: a machine's real rates from benchmark files, for estimates that start from them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slmopt.cli import inputs
from slmopt.cli.compare import add_fact_flags, facts_of, read_files
from slmopt.cli.output import aligned, as_json, say
from slmopt.cli.parser import add_json_flag
from slmopt.measured.calibration import Fit, calibrate
from slmopt.measured.calibration_rows import Usable, passes, usable
from slmopt.specs.base import SpecError
from slmopt.words import calibration as words
from slmopt.words.calibrated import measured_range


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "fit",
        help="a machine's real rates from benchmark files",
        description="Fit bandwidth, matrix rate, attention's rate and fixed time to the rows of benchmark files.",
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="what a benchmark tool wrote")
    add_fact_flags(parser)
    parser.add_argument("--out", metavar="FILE", help="write the fit as JSON, for estimate --fit FILE")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    facts = facts_of(options)
    read = read_files(options.files)
    used = usable(passes(read.rows, facts))
    fit = calibrate(used.rows)
    if options.out is not None:
        write_text(options.out, fit.calibration.model_dump_json(indent=2) + "\n")
    if options.json:
        return as_json(fit_json(fit, used))
    return _lines(fit, used)


def write_text(name: str, text: str) -> None:
    """Write a small file; :class:`SpecError` where it cannot be written."""
    try:
        Path(name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(
            f"--out {inputs.shown(Path(name))} cannot be written ({why}): give another path."
        ) from None
    say(f"wrote {name}")


def fit_json(fit: Fit, used: Usable) -> dict[str, Any]:
    """The fit, its errors, its terms with intervals (SI units), its points."""
    rows = fit.points
    return {
        "device": used.device,
        "calibration": fit.calibration.model_dump(),
        "errors": {
            "in_sample": fit.in_sample,
            "row_left_out": fit.left_out,
            "model_left_out": fit.new_model,
            "ceiling": fit.plain,
            "constant_fraction": fit.fraction,
        },
        "terms": [
            {
                "name": rate.name,
                "value": rate.value,
                "low": rate.low,
                "high": rate.high,
                "at_ceiling": rate.at_ceiling,
            }
            for rate in fit.rates
        ],
        "untold": list(fit.untold),
        "notes": words.notes(fit, used),
        "rows": [
            {"point": str(label), "measured_s": took, "predicted_s": said}
            for label, took, said in zip(
                rows.label, rows.seconds.tolist(), fit.predicted_s.tolist(), strict=True
            )
        ],
    }


def _lines(fit: Fit, used: Usable) -> list[str]:
    table = [[row["Term"], row["Fitted"], row["95 % interval"], row[""]] for row in words.rate_rows(fit)]
    return [
        f"{used.device}: {words.summary(fit).replace('**', '')}",
        "",
        *aligned([["term", "fitted", "95 % interval", ""], *table]),
        "",
        f"measured: {measured_range(fit.calibration)}",
        *words.notes(fit, used),
    ]
