"""A fit as tables: its points with what it predicts, and its terms."""

from __future__ import annotations

import pandas as pd

from slmopt.measured.calibration import Fit
from slmopt.reports.formulas import safe


def points(fit: Fit) -> pd.DataFrame:
    """A row a point: what was measured and predicted, in ms, and the cost that the fit explains it by."""
    rows = fit.points
    return safe(
        pd.DataFrame(
            {
                "point": rows.label.astype(str),
                "model": rows.model.astype(str),
                "batch": rows.batch,
                "context": rows.context,
                "prompt": rows.prompt,
                "weights_gb": rows.weight_bytes / 1e9,
                "cache_gb": rows.cache_bytes / 1e9,
                "matmul_gflop": rows.matmul_flops / 1e9,
                "attention_gflop": rows.attention_flops / 1e9,
                "measured_ms": 1e3 * rows.seconds,
                "predicted_ms": 1e3 * fit.predicted_s,
                "error_percent": 100 * fit.residuals,
            }
        )
    )
