"""Tables of the Roofline and of Batching: the numbers behind their figures, the unit in each column's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from slmopt.theory.batch_points import BatchingView
from slmopt.theory.operators import OperatorsView
from slmopt.theory.roofline import LEVELS
from slmopt.theory.roofline_points import Band, MeasuredPoint, RooflineView, Spot


def roof_points(view: RooflineView, measured: Sequence[MeasuredPoint] = ()) -> pd.DataFrame:
    """Every point on the roofline."""
    rows = [_spot("decode, 1 sequence", view.first), _spot(f"decode, {view.now.batch:,} now", view.now)]
    if view.largest is not None:
        rows.append(_spot(f"decode, {view.largest.batch:,} fit", view.largest))
    rows.append(_spot("prefill", view.prefill))
    rows += [
        *_band(f"decode, {view.now.batch:,} now", view.decode_band),
        *_band("prefill", view.prefill_band),
    ]
    rows += [_row(p.label, "measured", p.intensity, p.flops_per_s) for p in measured]
    return pd.DataFrame(rows)


def operators(view: OperatorsView) -> pd.DataFrame:
    """Every operator of every layer group, in decode and prefill; sizes in GB, under the ceiling."""
    rows = [
        {
            "pass": phase,
            "operator": one.kind,
            "layer_group": one.group,
            "layers": one.layers,
            "layer_kind": one.layer_kind,
            "weights_gb": one.weight_bytes / 1e9,
            "cache_gb": one.cache_bytes / 1e9,
            "gflop": one.flops / 1e9,
            "flop_per_byte": one.intensity if one.bytes else None,
            "waits_for": "compute" if one.compute_first else "memory",
            "least_ms": one.seconds * 1e3,
            "share_of_time": one.share,
        }
        for phase, found in (("decode", view.decode), ("prefill", view.prefill))
        for one in found
    ]
    return pd.DataFrame(rows).astype({"layer_group": "Int64"})


def _spot(point: str, spot: Spot) -> dict[str, object]:
    return {**_row(point, "ceiling", spot.intensity, spot.flops_per_s), "bound": spot.bound or "unknown"}


def _band(point: str, band: Band) -> list[dict[str, object]]:
    levels = {"slow": band.slow, "typical": band.typical, "fast": band.fast}
    return [
        _row(point, f"estimate, {level}", band.intensity, rate)
        for level, rate in levels.items()
        if not np.isnan(rate)
    ]


def _row(point: str, kind: str, intensity: float, rate: float) -> dict[str, object]:
    return {"point": point, "kind": kind, "intensity_flop_per_byte": intensity, "rate_gflops": rate / 1e9}


def intensities(view: RooflineView) -> pd.DataFrame:
    """Decode's intensity (FLOP/byte) at each batch, a column for each context in tokens."""
    columns = {f"at_{curve.context}_tokens": curve.intensity for curve in view.curves}
    return pd.DataFrame({"sequences": view.curves[0].batch, **columns})


def throughput(view: BatchingView) -> pd.DataFrame:
    """tokens/s of the device at each batch."""
    curves = view.wide
    return pd.DataFrame(
        {
            "sequences": curves.batch,
            "ceiling_tokens_per_s": curves.device,
            "weights_alone_tokens_per_s": view.weights_only,
            **{f"estimate_{level}_tokens_per_s": curves.band[level] for level in LEVELS},
            "fits": _fits(view, curves.batch),
        }
    )


def users(view: BatchingView) -> pd.DataFrame:
    """tokens/s that one user sees at each batch."""
    curves = view.near
    return pd.DataFrame(
        {
            "sequences": curves.batch,
            "ceiling_tokens_per_s": curves.user,
            **{f"estimate_{level}_tokens_per_s": curves.band[level] / curves.batch for level in LEVELS},
            "fits": _fits(view, curves.batch),
        }
    )


def steps(view: BatchingView) -> pd.DataFrame:
    """A decode step's time in ms, split by what it waits for."""
    curves = view.near
    return pd.DataFrame(
        {
            "sequences": curves.batch,
            "weights_ms": curves.weight_s * 1e3,
            "cache_ms": curves.cache_s * 1e3,
            "compute_ms": curves.compute_s * 1e3,
            "step_ms": curves.step_s * 1e3,
        }
    )


def _fits(view: BatchingView, batch: np.ndarray) -> list[bool | None]:
    if view.fit is None:
        return [None] * len(batch)
    return [bool(b <= view.fit) for b in batch]
