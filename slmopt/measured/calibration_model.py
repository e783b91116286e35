"""What a fit may look like: which rates it has, how times join, and the least-squares problem for one of them.

The predicted time is that of :func:`slmopt.theory.roof.pass_time` under the roof that the rates make, so that a fit
is found with the very function that estimates then use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from slmopt.measured.calibration_rows import FitRows
from slmopt.specs.calibration import Overlap
from slmopt.theory.roof import Roof, pass_time

Floats = npt.NDArray[np.float64]

ROBUST: Final = 0.1
"""Relative error beyond which a row counts by its size and no longer by its square (soft_l1)."""

OPTIONAL: Final = ("batched", "matrix", "attention", "fixed")
FEW_TOKENS: Final = 64
"""Tokens of a pass up to which reading the weights shows beside the products of more than one token."""

TERMS: Final = ("bandwidth", *OPTIONAL)
"""Rates of a fit in the order of its numbers: seconds a byte (for one token, for more), seconds an operation (matrix
products, attention), seconds a pass."""


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of fit: how times join, and which of ``OPTIONAL`` have a number of their own.

    Without one, batches read at the bandwidth of one token, attention runs at the matrix rate, matrix products take no
    time, and a pass has no fixed time.
    """

    overlap: Overlap
    terms: tuple[str, ...]

    @property
    def has(self) -> Floats:
        """Which of ``TERMS`` are fitted, as ones and zeros."""
        return np.array([1.0 if name in self.terms else 0.0 for name in TERMS])


def able(points: FitRows) -> tuple[str, ...]:
    """Those of ``OPTIONAL`` that these points can tell anything about."""
    several = bool((points.tokens > 1).any())
    single = bool((points.tokens <= 1).any())
    small = np.unique(points.tokens[(points.tokens > 1) & (points.tokens <= FEW_TOKENS)])
    may = {
        # Among passes of one size, or of many tokens only, reading cannot be told from multiplying.
        "batched": single and len(small) > 1,
        "matrix": several,
        "attention": bool((points.attention_flops > 0).any()),
        "fixed": True,
    }
    return tuple(name for name in OPTIONAL if may[name])


def forms(points: FitRows) -> Iterator[Form]:
    """The forms that these points can tell anything about, those with fewer terms first."""
    several = bool((points.tokens > 1).any())
    single = bool((points.tokens <= 1).any())
    allowed = able(points)
    overlaps: tuple[Overlap, ...] = ("products", "single", "none") if several else ("products",)
    if several and not single:
        overlaps = ("products", "none")
    subsets = sorted(range(1 << len(allowed)), key=int.bit_count)
    for bits in subsets:
        chosen = tuple(name for at, name in enumerate(allowed) if bits >> at & 1)
        # Without a matrix rate its work would be taken for slow reading or slow attention.
        if several and "matrix" not in chosen and {"batched", "attention"} & set(chosen):
            continue
        # How times join shows only where matrix products take some.
        for overlap in overlaps if "matrix" in chosen else overlaps[:1]:
            yield Form(overlap, ("bandwidth", *chosen))


def roof_of(form: Form, values: Floats) -> Roof:
    """The roof of a form's numbers (all five of ``TERMS``; those without one are ignored)."""
    byte, batched, product, attention, fixed = (float(value) for value in values)
    rate = _rate(product) if "matrix" in form.terms else np.inf
    return Roof(
        bandwidth=_rate(byte),
        peak=rate,
        attention_peak=_rate(attention) if "attention" in form.terms else rate,
        fixed_s=fixed if "fixed" in form.terms else 0.0,
        kind="estimate",
        source="",
        batched_bandwidth=_rate(batched) if "batched" in form.terms else None,
        overlap=form.overlap,
    )


def _rate(seconds: float) -> float:
    return 1.0 / seconds if seconds > 0 else np.inf


def predicted(form: Form, values: Floats, points: FitRows) -> Floats:
    """Seconds of each point's pass."""
    return np.asarray(pass_time(points.cost, roof_of(form, values)).seconds, dtype=np.float64)


def solve(form: Form, points: FitRows, start: Floats | None = None) -> Floats:
    """The numbers of a form that fit the points best: relative errors, soft_l1, none below zero.

    No rate is above its ceiling where that is known, so that an estimate never passes the bound.
    """
    scale, least = _scales(points)
    used = np.flatnonzero(form.has)
    low = least[used] / scale[used]
    begin = np.full(len(used), 0.5) if start is None else start[used] / scale[used]
    values = np.zeros(len(TERMS))

    def errors(x: Floats) -> Floats:
        values[used] = x * scale[used]
        return predicted(form, values, points) / points.seconds - 1.0

    found = least_squares(
        errors,
        np.maximum(begin, low * 1.001 + 1e-6),
        bounds=(low, np.inf),
        loss="soft_l1",
        f_scale=ROBUST,
        x_scale="jac",
        ftol=1e-7,
        xtol=1e-7,
        gtol=1e-9,
        max_nfev=60,
    )
    result = np.zeros(len(TERMS))
    result[used] = found.x * scale[used]
    return result


def _scales(points: FitRows) -> tuple[Floats, Floats]:
    """For each term the number at which it alone would explain a usual point, and the least that its ceiling allows."""
    t = points.seconds
    amounts = (
        points.weight_bytes + points.cache_bytes,
        points.weight_bytes + points.cache_bytes,
        points.matmul_flops,
        points.attention_flops,
        np.ones_like(t),
    )
    scale = []
    for amount in amounts:
        some = amount > 0
        scale.append(float(np.median(t[some] / amount[some])) if some.any() else 1.0)
    byte = 0.0 if np.isnan(points.bandwidth).any() else 1.0 / float(points.bandwidth.max())
    flop = 0.0 if np.isnan(points.peak).any() else 1.0 / float(points.peak.max())
    return np.array(scale), np.array([byte, byte, flop, flop, 0.0])


def told(form: Form, values: Floats, points: FitRows) -> dict[str, float]:
    """For each fitted term its standard error over its value: above 1 the points cannot tell it from nothing.

    From the Gauss-Newton covariance of the relative errors.
    """
    used = np.flatnonzero(form.has)
    base = predicted(form, values, points) / points.seconds
    columns = []
    for at in used:
        moved = values.copy()
        moved[at] *= 1.0 + 1e-4
        columns.append((predicted(form, moved, points) / points.seconds - base) / 1e-4)
    jacobian = np.column_stack(columns)
    free = max(len(points) - len(used), 1)
    spread = float(np.sum((base - 1.0) ** 2) / free)
    gram = jacobian.T @ jacobian
    # A term without any effect has no inverse; the pseudo-inverse would call it certain.
    dead = np.diag(gram) <= 1e-18
    errors = np.sqrt(np.abs(np.diag(np.linalg.pinv(gram, rcond=1e-12))) * spread)
    errors[dead] = np.inf
    return {TERMS[at]: float(error) for at, error in zip(used, errors, strict=True)}
