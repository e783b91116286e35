"""A machine's real rates from measured rows: effective bandwidth, matrix rate, attention's own rate, fixed time a pass.

>>> points = usable(passes(read.rows, Facts(device="epyc-2core")))      # doctest: +SKIP
>>> fit = calibrate(points.rows)                                        # doctest: +SKIP
>>> scenario.change(calibration=fit.calibration)                        # doctest: +SKIP

Every form of :mod:`slmopt.measured.calibration_model` is tried: times that hide one another or follow one another, with
and without a second bandwidth for batches, a matrix rate, attention's own rate and a fixed time. The one that predicts
best what was left out is taken, and of nearly equal ones the one with the fewest terms; a term that the rows cannot tell
from nothing is not fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student  # type: ignore[import-untyped]

from slmopt.measured.calibration_model import OPTIONAL, TERMS, Form, able, forms, predicted, solve, told
from slmopt.measured.calibration_rows import FitRows
from slmopt.specs.base import SpecError
from slmopt.specs.calibration import Calibration
from slmopt.theory.roof import Roof, pass_time

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEWEST: Final = 4
"""Points below which nothing is fitted."""

MOST_FOLDS: Final = 120
"""Up to so many points each is left out alone; of more, so many equal parts."""

TRIAL_FOLDS: Final = 5
CLOSE: Final = 1.03
"""Of forms whose error is within this factor of the best, the one with fewest terms is taken."""

TOLD: Final = 0.6
"""Standard error over value above which a term is not told apart from nothing."""

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Rate:
    """A fitted term: its value in SI units (bytes/s, FLOP/s, seconds) and the ends of its 95 % interval.

    An end is infinite or zero where the rows do not bound it. ``at_ceiling`` where the device's own bound held it back.
    """

    name: str
    value: float
    low: float
    high: float
    at_ceiling: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fit with what it is worth. Errors are mean absolute relative ones; None where they cannot be computed.

    ``in_sample`` of the points fitted; ``left_out`` of points that were not in the fit that predicts them; ``new_model`` of
    models none of whose points were. ``plain`` is the error of the ceiling itself, ``fraction`` that of the best
    constant fraction of it (on points left out). ``untold`` are terms that the rows could have but do not tell.
    """

    calibration: Calibration
    form: Form
    points: FitRows
    rates: tuple[Rate, ...]
    predicted_s: Floats
    in_sample: float
    left_out: float
    new_model: float | None
    plain: float | None
    fraction: float | None
    untold: tuple[str, ...]

    @property
    def residuals(self) -> Floats:
        """Predicted over measured time, less 1, at each point."""
        return self.predicted_s / self.points.seconds - 1.0


def calibrate(points: FitRows) -> Fit:
    """The fit of these points; :class:`SpecError` where there are too few."""
    if len(points) < FEWEST:
        raise SpecError(
            f"{len(points)} point{'' if len(points) == 1 else 's'} of decode or prefill: at least {FEWEST} different ones are "
            "needed for a fit; measure more models, formats, batches or contexts."
        )
    form, values, untold = chosen(points)
    fitted = predicted(form, values, points)
    rows_out, row_values = _left_out(form, points, values, list(_folds(len(points), MOST_FOLDS)))
    models = list(_by_model(points))
    models_out, model_values = _left_out(form, points, values, models) if len(models) > 1 else (None, None)
    best = model_values if model_values is not None and len(models) >= FEWEST else row_values
    rates = _rates(form, values, best, points)
    in_sample = float(np.mean(np.abs(fitted / points.seconds - 1.0)))
    left = float(np.mean(rows_out))
    return Fit(
        calibration=_calibration(form, values, points, left),
        form=form,
        points=points,
        rates=rates,
        predicted_s=fitted,
        in_sample=in_sample,
        left_out=left,
        new_model=None if models_out is None else float(np.mean(models_out)),
        plain=_plain(points),
        fraction=_fraction(points),
        untold=untold,
    )


def chosen(points: FitRows) -> tuple[Form, Floats, tuple[str, ...]]:
    """The form that predicts best what is left out, its numbers, and the terms that the points do not tell.

    At least ``FEWEST`` points are needed.
    """
    folds = list(_folds(len(points), TRIAL_FOLDS))
    models = list(_by_model(points))
    if len(models) >= FEWEST - 1:
        # What is wanted of a fit is mostly a model that was not measured.
        folds += models
    tried: list[tuple[float, Form, Floats]] = []
    refused: set[str] = set()
    for form in forms(points):
        if len(points) < len(form.terms) + 2:
            continue
        values = solve(form, points)
        unsure = {name for name, error in told(form, values, points).items() if error > TOLD}
        if unsure:
            refused |= unsure & set(OPTIONAL)
            if unsure & set(OPTIONAL):
                continue
        errors, _ = _left_out(form, points, values, folds)
        tried.append((float(np.mean(errors)), form, values))
    best = min(error for error, _, _ in tried)
    near = [entry for entry in tried if entry[0] <= CLOSE * best]
    _, form, values = min(near, key=lambda entry: (len(entry[1].terms), entry[0]))
    refused |= set(OPTIONAL) - set(able(points))
    return form, values, tuple(name for name in OPTIONAL if name in refused and name not in form.terms)


def _left_out(form: Form, points: FitRows, values: Floats, folds: list[Ints]) -> tuple[Floats, list[Floats]]:
    """Absolute relative error of each point, predicted by the fit without its fold; and the numbers of those fits."""
    errors = np.full(len(points), np.nan)
    found: list[Floats] = []
    for fold in folds:
        kept = np.setdiff1d(np.arange(len(points)), fold)
        if not len(kept):
            continue
        fitted = solve(form, points.take(kept), values)
        found.append(fitted)
        few = points.take(fold)
        errors[fold] = np.abs(predicted(form, fitted, few) / few.seconds - 1.0)
    return errors[np.isfinite(errors)], found


def _folds(count: int, most: int) -> Iterator[Ints]:
    """Positions in at most ``most`` parts, neighbours in different ones."""
    parts = min(count, most)
    for first in range(parts):
        yield np.arange(first, count, parts)


def _by_model(points: FitRows) -> Iterator[Ints]:
    for name in dict.fromkeys(points.model.tolist()):
        yield np.flatnonzero(points.model == name)


def _rates(form: Form, values: Floats, without: list[Floats], points: FitRows) -> tuple[Rate, ...]:
    """Each term with the interval that the jackknife gives: the fits without a part, their spread times parts less 1."""
    parts = np.array(without)
    count = len(parts)
    variance = (count - 1) / count * np.sum((parts - parts.mean(axis=0)) ** 2, axis=0)
    reach = float(student.ppf(0.5 + LEVEL / 2, max(count - 1, 1))) * np.sqrt(variance)
    floors = (points.bandwidth, points.bandwidth, points.peak, points.peak)
    told_rates = []
    for at, name in enumerate(TERMS):
        if name not in form.terms:
            continue
        value, low, high = (
            float(end) for end in (values[at], values[at] - reach[at], values[at] + reach[at])
        )
        if name == "fixed":
            told_rates.append(Rate(name, value, max(low, 0.0), high))
            continue
        held = (
            bool(np.isclose(value, 1.0 / float(np.nanmax(floors[at])), rtol=5e-3, atol=0.0))
            if at < 4
            else False
        )
        told_rates.append(Rate(name, _per(value), _per(high), _per(low), held))
    return tuple(told_rates)


def _per(seconds: float) -> float:
    return 1.0 / seconds if seconds > 0 else float("inf")


def _calibration(form: Form, values: Floats, points: FitRows, error: float) -> Calibration:
    """The fit as a scenario carries it, rounded to four figures."""
    found = dict(zip(TERMS, values.tolist(), strict=True))
    rate = {name: _per(found[name]) for name in form.terms}
    decode = points.prompt == 0
    fed = points.prompt[~decode]
    some = points.take(decode) if decode.any() else points

    def giga(name: str, by: float) -> float | None:
        value = rate.get(name, float("inf"))
        return _rounded(value / by) if np.isfinite(value) else None

    return Calibration(
        overlap=form.overlap,
        bandwidth_gbs=giga("bandwidth", 1e9) or _rounded(float(np.nanmax(points.bandwidth)) / 1e9),
        batched_gbs=giga("batched", 1e9),
        matrix_tflops=giga("matrix", 1e12),
        attention_tflops=giga("attention", 1e12),
        fixed_ms=_rounded(found["fixed"] * 1e3) if "fixed" in form.terms else 0.0,
        cache_step=int(points.cache_step.max()),
        batch=_range(some.batch),
        context=_range(some.context),
        prompt=_range(fed) if len(fed) else None,
        weights_gb=_range(points.stored_bytes / 1e9),
        rows=len(points),
        error=_rounded(error),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _range(values: Floats) -> tuple[float, float]:
    return _rounded(float(values.min())), _rounded(float(values.max()))


def ceiling_seconds(points: FitRows) -> Floats:
    """The ceiling's time of each point in seconds, memory alone where no matrix rate is known."""
    times = [
        float(pass_time(points.take(np.array([at])).cost, roof).seconds[0])  # type: ignore[index]
        for at, roof in enumerate(
            Roof(float(b), float(p), float(p), 0.0, "ceiling", "")
            for b, p in zip(points.bandwidth, points.peak, strict=True)
        )
    ]
    return np.array(times)


def _plain(points: FitRows) -> float | None:
    """Error of the plain ceiling."""
    if np.isnan(points.bandwidth).any():
        return None
    return float(np.mean(np.abs(ceiling_seconds(points) / points.seconds - 1.0)))


def _fraction(points: FitRows) -> float | None:
    """Error on points left out of one constant fraction of the ceiling, the one that suits the others best."""
    if np.isnan(points.bandwidth).any():
        return None
    shares = ceiling_seconds(points) / points.seconds
    errors = [abs(shares[at] / best_fraction(np.delete(shares, at)) - 1.0) for at in range(len(shares))]
    return float(np.mean(errors))


def best_fraction(shares: Floats) -> float:
    """The fraction f with the least mean |share / f − 1|: the weighted median of the shares, each its own weight."""
    order = np.sort(shares)
    return float(order[int(np.searchsorted(np.cumsum(order), 0.5 * order.sum()))])
