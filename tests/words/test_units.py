"""GB or GiB: the same bytes, each reader's own unit, and nobody else's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.reports.columns import column_in_units, column_words, in_units
from slmopt.words import numbers as n
from slmopt.words import units
from slmopt.words.units import Units

BINARY = Units("GiB")


@pytest.mark.parametrize(
    ("size", "decimal", "binary"),
    [
        (24 * 2**30, "25.8 GB", "24.0 GiB"),
        (2**20, "1.05 MB", "1.00 MiB"),
        (131_072, "131 kB", "128 KiB"),
        (1000, "1.00 kB", "1,000 B"),
        (3 * 2**40, "3.30 TB", "3.00 TiB"),
        (0, "0 B", "0 B"),
    ],
)
def test_sizes_by_hand(size: float, decimal: str, binary: str):
    assert n.bytes_(size).replace(n.NBSP, " ") == decimal
    with units.using(BINARY):
        assert n.bytes_(size).replace(n.NBSP, " ") == binary
    assert n.bytes_(size).replace(n.NBSP, " ") == decimal


def test_bandwidths_stay_as_makers_state_them():
    with units.using(BINARY):
        assert n.bytes_per_s(1.008e12).replace(n.NBSP, " ") == "1.01 TB/s"


@given(st.floats(1, 1e18), st.sampled_from(["GB", "GiB"]))
def test_scale_and_name_belong_together(size: float, sizes: units.Sizes):
    asked = Units(sizes)
    with units.using(asked):
        scale, unit = n.byte_scale(size)
        assert unit == asked.named("" if scale == 1 else " kMGTPE"[round(_log(scale, asked.step))])
        assert 0.99 <= size / scale < asked.step * 1.01


def _log(value: float, base: float) -> float:
    power = 0
    while value > 1.5:
        value /= base
        power += 1
    return float(power)


def test_two_readers_at_once_keep_their_own():
    meet = Barrier(2)

    def read(asked: Units) -> str:
        units.use(asked)
        meet.wait(10)
        return n.bytes_(2**30)

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(read, (units.USUAL, BINARY)))
    assert [text.replace(n.NBSP, " ") for text in said] == ["1.07 GB", "1.00 GiB"]
    assert units.now() == units.USUAL


def test_tables_change_names_and_numbers_together():
    table = pd.DataFrame(
        {"what": ["weights"], "gb": [2**30 / 1e9], "held_now_gb": [1.0], "bandwidth_gbs": [1008.0]}
    )
    table["held (GB)"] = 2**31 / 1e9
    assert in_units(table) is table
    with units.using(BINARY):
        found = in_units(table)
        assert column_in_units("weights_mb") == "weights_mib"
    assert list(found.columns) == ["what", "gib", "held_now_gib", "bandwidth_gbs", "held (GiB)"]
    assert found["gib"][0] == pytest.approx(1.0)
    assert found["held (GiB)"][0] == pytest.approx(2.0)
    assert found["bandwidth_gbs"][0] == 1008.0
    assert [column_words(name) for name in ("gib", "held_now_gib", "size_mib")] == [
        "GiB",
        "Held now (GiB)",
        "Size (MiB)",
    ]


def test_only_known_units_are_chosen():
    assert units.chosen("GiB") == BINARY
    assert {units.chosen(other) for other in ("GB", "gib", None, 3, "<b>")} == {units.USUAL}
