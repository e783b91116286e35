"""The Speculation page as tables; speed-ups are ratios of estimates."""

from __future__ import annotations

import pandas as pd

from slmopt.advice.drafts import Checks, Floats
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


def accepted(distribution: Floats, reached: Floats) -> pd.DataFrame:
    """Share of drafts of which exactly so many tokens are accepted, and of which at least so many are."""
    return pd.DataFrame(
        {
            "accepted_tokens": range(len(distribution)),
            "share_of_drafts": distribution,
            "share_at_least": [1.0, *reached],
        }
    )


def checking(found: Checks) -> pd.DataFrame:
    """Milliseconds of a pass that checks so many positions, by how checking is counted."""
    table = {
        "positions": found.positions,
        "bytes_and_operations_ms": found.by_pass * 1e3,
        "typical_ms": found.typical * 1e3,
    }
    if found.entered is not None:
        table["entered_ms"] = found.entered * 1e3
    return pd.DataFrame(table)
