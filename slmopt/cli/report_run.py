"""What ``report`` does; apart from its flags, since figures and slides take a second to load."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from slmopt.cli.arguments import scenario_from
from slmopt.cli.estimate import check_finite
from slmopt.cli.inputs import read_bytes
from slmopt.cli.output import as_json, say
from slmopt.cli.scores import scores_of
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_many
from slmopt.measured.placed import Facts
from slmopt.measured.text import MAX_BYTES
from slmopt.reports.measured_part import measured_part
from slmopt.reports.report import report
from slmopt.reports.report_files import form_of
from slmopt.reports.report_sections import Measured, Own
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    form = form_of(options.out)
    made, assumed = scenario_from(options)
    evaluation = evaluate(made)
    check_finite(evaluation)
    for warning in evaluation.setup.warnings:
        say(f"warning: {warning}")
    found = _measured(options.measured, made) if options.measured else None
    own = Own(scores=scores_of(options))
    content = form.write(report(made, evaluation, found, date=datetime.now(UTC), assumed=assumed, own=own))
    try:
        Path(options.out).write_bytes(content)
    except OSError as error:
        raise SpecError(f"--out {options.out}: it cannot be written ({error.strerror}).") from error
    if options.json:
        return as_json(
            {"file": options.out, "form": form.name, "bytes": len(content), "assumed": list(assumed)}
        )
    return [f"{options.out}: {form.name}, {len(content):,} bytes", *assumed]


def _measured(names: list[str], made: Scenario) -> Measured:
    """The files' rows against their ceilings; the scenario's model, formats and device serve rows that name none."""
    files = [(Path(name).name, read_bytes(Path(name), MAX_BYTES)) for name in names]
    read = read_many(files)
    judged = compare(read.rows, Facts.of(made))
    if judged.rows.empty:
        why = f": {str(read.skipped['why'].iloc[0]).rstrip('.')}" if len(read.skipped) else ""
        raise SpecError(f"--measured: no row of {', '.join(names)} can be judged{why}.")
    return measured_part(read, judged, len(files))
