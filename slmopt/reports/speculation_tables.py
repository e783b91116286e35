"""The Speculation page as tables; speed-ups are ratios of estimates."""

from __future__ import annotations

import pandas as pd

from slmopt.theory.speculation_curves import SpeculationCurves


def by_acceptance(curves: SpeculationCurves) -> pd.DataFrame:
    """Speed-up at each acceptance, a column for each draft length."""
    return pd.DataFrame(
        {
            "acceptance": curves.acceptance,
            **{f"speedup_{k}_drafted": v for k, v in curves.by_acceptance.items()},
        }
    )


def by_length(curves: SpeculationCurves) -> pd.DataFrame:
    """Speed-up and expected tokens a pass at each draft length."""
    return pd.DataFrame(
        {
            "draft_tokens": curves.lengths,
            "speedup": curves.by_length,
            "expected_tokens_per_pass": curves.expected,
        }
    )


def by_batch(curves: SpeculationCurves) -> pd.DataFrame:
    """Speed-up at each batch."""
    return pd.DataFrame({"batch": curves.batch, "speedup": curves.by_batch})
