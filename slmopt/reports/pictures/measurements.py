"""Measurements' figure: the rows of files as shares of their ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from slmopt.figures import measurements as figures
from slmopt.figures.measured_marks import Group
from slmopt.figures.named import Named
from slmopt.reports import measured_groups
from slmopt.reports.picture import Picture


def pictures(rows: pd.DataFrame, groups: Sequence[Named[Group]], title: str, alt: str) -> tuple[Picture]:
    """A row of marks for each group; decode and prefill side by side."""
    heads = measured_groups.heads(rows)
    return (
        Picture(
            "measurement_shares",
            title,
            alt,
            figures.shares(groups, heads),
            partial(measured_groups.marks_table, groups),
            kinds=("ceiling", "estimate", "measured"),
            phone_height=figures.phone_height(groups, len(heads)),
        ),
    )
