"""How well a calibration foretells what it has not seen, on every machine with enough reference rows.

Per machine and runtime a part of the points is left out, a fit is chosen and made from the others alone, and the part is
predicted: once by points (neighbours in different parts), once by whole models. Beside it stands what the same other
points give as one constant share of the ceiling, the best there is for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks import fit_errors
from benchmarks.accuracy_page import Section, table
from benchmarks.accuracy_references import INVALID, Reference, references
from slmopt.measured.calibration import best_fraction, ceiling_seconds, chosen
from slmopt.measured.calibration_model import predicted
from slmopt.measured.calibration_rows import FitRows, passes, usable
from slmopt.measured.placed import Facts
from slmopt.measured.table import rows_from_records

FEWEST: Final = 10
"""Points of a machine below which it tells little."""

MOST: Final = 40
"""Points of a machine that are taken at most, evenly spaced: no machine outweighs the others."""

PARTS: Final = 5
ROW, MODEL = "a row", "a model"


def section() -> Section:
    """The page's part, and the errors that limits hold."""
    found = left_out(machines())
    text = [
        "## Calibrated estimates of what was left out",
        (
            f"A fifth of a machine's points is left out, a fit is chosen and made from the others alone, and what was left out is "
            f"predicted; likewise with whole models where there are at least three. Beside it: the one share of the ceiling that suits "
            f"the others best. {found['machine'].nunique()} machines with at least {FEWEST} points each, {MOST} at most. "
            "An error is |predicted / measured - 1| of a pass's time."
        ),
        table(
            ("left out", "machine", "points", *_HEADS),
            [*_lines(found, ["out"]), *_lines(found, ["out", "machine"])],
        ),
    ]
    figures: dict[str, float] = {}
    for out, errors in found.groupby("out"):
        what = f"calibrated, {out} left out"
        figures |= {
            f"{what}, median error": float(errors["ours"].median()),
            f"{what}, p90 error": float(errors["ours"].quantile(0.9)),
            f"{what}, share of a constant share's": float(
                errors["ours"].median() / errors["constant"].median()
            ),
        }
    return Section("\n\n".join(text), figures)


_HEADS: Final = ("median error", "p90", "constant share: median", "p90")


def _lines(found: pd.DataFrame, by: list[str]) -> list[tuple[object, ...]]:
    lines = []
    for key, errors in found.groupby(by):
        out, machine = [*key, "all machines"][:2]
        cells = [errors[name].quantile(part) for name in ("ours", "constant") for part in (0.5, 0.9)]
        lines.append((out, machine, len(errors), *(f"{cell:.0%}" for cell in cells)))
    return lines


def left_out(of: Iterable[tuple[str, FitRows]]) -> pd.DataFrame:
    """A line for each point and way of leaving it out: machine, out, ours and constant (absolute relative errors)."""
    parts = [
        errors
        for machine, points in of
        for out, folds in ((ROW, _by_row(points)), (MODEL, _by_model(points)))
        for errors in _errors(machine, out, points, folds)
    ]
    return pd.concat(parts, ignore_index=True)


def machines() -> Iterator[tuple[str, FitRows]]:
    """Device and runtime with their points, where there are enough: the own sweep, then the reference measurements."""
    yield "EPYC, 2 cores · llama.cpp (own sweep)", _some(fit_errors.own_points().rows)
    groups: dict[tuple[str, float | None, str], list[Reference]] = {}
    for found in references(with_shared=True):
        if found.device is not None and found.sized and found.evidence != INVALID:
            key = (found.device.id, found.bandwidth_gbs, found.runtime)
            groups.setdefault(key, []).append(found)
    for (_, bandwidth, runtime), group in groups.items():
        if len(group) < FEWEST:
            continue
        device = group[0].device
        facts = Facts(device=device, overrides={} if bandwidth is None else {"bandwidth_gbs": bandwidth})
        records = [{**one.row, "source_file": "reference", "row": one.ident} for one in group]
        points = usable(passes(rows_from_records(records), facts)).rows
        if len(points) >= FEWEST and not np.isnan(points.bandwidth).any():
            yield f"{device.name if device else ''} · {runtime}", _some(points)


def _some(points: FitRows) -> FitRows:
    if len(points) <= MOST:
        return points
    return points.take(np.linspace(0, len(points) - 1, MOST).round().astype(np.int64))


def _by_row(points: FitRows) -> list[npt.NDArray[np.int64]]:
    return [np.arange(first, len(points), PARTS) for first in range(PARTS)]


def _by_model(points: FitRows) -> list[npt.NDArray[np.int64]]:
    """Whole models, in as many parts; none where there are fewer than three models."""
    names = list(dict.fromkeys(points.model.tolist()))
    parts = min(PARTS, len(names)) if len(names) > 2 else 0
    return [np.flatnonzero(np.isin(points.model, names[first::parts])) for first in range(parts)]


def _errors(
    machine: str, out: str, points: FitRows, folds: list[npt.NDArray[np.int64]]
) -> Iterator[pd.DataFrame]:
    for fold in folds:
        kept = points.take(np.setdiff1d(np.arange(len(points)), fold))
        hidden = points.take(fold)
        form, values, _ = chosen(kept)
        ours = np.abs(predicted(form, values, hidden) / hidden.seconds - 1.0)
        share = best_fraction(ceiling_seconds(kept) / kept.seconds)
        constant = np.abs(ceiling_seconds(hidden) / share / hidden.seconds - 1.0)
        yield pd.DataFrame({"machine": machine, "out": out, "ours": ours, "constant": constant})
