"""The roofline's axes: which range they show, and in which unit the rate is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slmopt.figures import theme
from slmopt.figures.placing import (
    Scale,
    decade_above,
    decade_below,
    left_margin,
    plot_height,
    plot_width,
    stop_above,
    stop_below,
)
from slmopt.theory.roof import Roof
from slmopt.theory.roofline_points import Band, MeasuredPoint, RooflineView, Spot

# Room left of the first point for its label, right of the last for the roof to be seen.
_LEFT = 4.0
_RIGHT = 3.0
_LONGEST_TICK = 1e5
_UNITS = ((1e12, "TFLOPS"), (1e9, "GFLOPS"), (1e6, "MFLOPS"))


@dataclass(frozen=True, slots=True)
class Frame:
    """Limits of both axes, the rate's in its unit; ``scale`` is FLOP/s in one of that unit."""

    x: tuple[float, float]
    y: tuple[float, float]
    scale: float
    unit: str

    def axes(self, *, phone: bool) -> tuple[Scale, Scale]:
        """Both axes as drawn."""
        height = theme.HEIGHT_PHONE if phone else theme.HEIGHT_MAIN
        return (
            Scale(*self.x, plot_width(self.margin, phone=phone)),
            Scale(*self.y, plot_height(height, self.margin)),
        )

    @property
    def margin(self) -> dict[str, int]:
        """The figure's margins, wide enough for the rate's ticks."""
        return {**theme.MARGIN, "l": left_margin(self.y[1])}

    def shows_limit(self, view: RooflineView) -> bool:
        """Whether cache reads keep every batch below an intensity that is short of the ridge and in sight."""
        short = not view.known or view.limit < view.roof.ridge
        return math.isfinite(view.limit) and short and self.x[0] < view.limit < self.x[1]


def decode_spots(view: RooflineView) -> list[Spot]:
    """Decode's points: one sequence, now, and the most that fit."""
    return [view.first, view.now, *([view.largest] if view.largest is not None else [])]


def known(roof: Roof) -> bool:
    """Whether a matrix rate is known."""
    return not math.isnan(roof.peak)


def frame(views: Sequence[RooflineView], measured: Sequence[MeasuredPoint]) -> Frame:
    """Round ranges that hold every point, so that they stay while a point moves within them."""
    across = [*_intensities(views), *(p.intensity for p in measured)]
    x = (stop_below(min(across) / _LEFT), stop_above(max(across) * _RIGHT))
    slopes = [view.roof.bandwidth for view in views]
    lowest = [slope * x[0] / 2 for slope in slopes]
    lowest += [band.slow / 1.5 for view in views for band in _bands(view)]
    lowest += [p.flops_per_s / 1.5 for p in measured]
    peaks = [r.peak for view in views for r in (view.roof, view.prefill_roof) if known(r)]
    peaks += [rate for view in views if not view.known for _, rate in view.evaluation.setup.decode.known]
    highest = [
        2.2 * peak for peak in [*peaks, *(max(s.flops_per_s for s in decode_spots(v)) for v in views)]
    ] + [1.5 * p.flops_per_s for p in measured]
    highest += [1.5 * slope * x[1] for view, slope in zip(views, slopes, strict=True) if not _any_peak(view)]
    low = decade_below(min(lowest))
    high = decade_above(max(highest))
    # Small rates want small units, but no tick more than five figures.
    fitting = [(s, u) for s, u in _UNITS if high <= _LONGEST_TICK * s]
    scale, unit = next(((s, u) for s, u in fitting if low >= 0.1 * s), (fitting or _UNITS[:1])[-1])
    return Frame(x, (low / scale, high / scale), scale, unit)


def _any_peak(view: RooflineView) -> bool:
    return known(view.roof) or known(view.prefill_roof) or bool(view.other_ridges)


def _bands(view: RooflineView) -> list[Band]:
    return [view.decode_band, *([view.prefill_band] if known(view.prefill_roof) else [])]


def _intensities(views: Sequence[RooflineView]) -> list[float]:
    found: list[float] = []
    for view in views:
        found += [spot.intensity for spot in decode_spots(view)]
        found.append(view.decode_band.intensity)
        found += [r.ridge for r in (view.roof, view.prefill_roof) if known(r)]
        found += [] if view.known else view.other_ridges
        if known(view.prefill_roof):
            found += [view.prefill.intensity, view.prefill_band.intensity]
    return found
