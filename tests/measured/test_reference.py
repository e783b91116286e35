"""Reference measurements and what is derived from them."""

import json

import numpy as np
import pytest

from slmopt.measured import reference
from slmopt.measured.others import of_device, prefill_of_device
from slmopt.specs.library import Efficiency, library, preset_root
from slmopt.specs.rates import phase_peak
from slmopt.specs.scenario import Scenario

TABLE = reference.efficiency_table()


def test_the_shipped_file_equals_its_recomputation():
    shipped = json.loads((preset_root() / "efficiency.json").read_text(encoding="utf-8"))
    assert shipped == json.loads(json.dumps(reference.records())), "run python -m slmopt.measured.reference"


def test_records_are_bands_below_the_ceiling():
    for entry in reference.records():
        record = Efficiency.model_validate(entry)
        assert record.rows >= reference.MIN_ROWS
        assert record.bandwidth_fraction.p90 <= 1
        assert record.compute_fraction.p90 <= 1
        assert record.source


def test_every_class_has_figures_and_says_where_they_are_from():
    for cls in reference.CLASSES:
        assert TABLE.loc[cls, "bandwidth_p50"] > 0
        few = TABLE.loc[cls, "rows"] < reference.MIN_ROWS
        assert (TABLE.loc[cls, "decode_from"] == "all") == (few or cls == "all")
    notes = {entry["id"]: entry["note"] for entry in reference.records()}
    assert "0 decode rows of its own" in notes["phone"]


def test_no_row_beats_its_ceiling():
    rows = reference.single_stream()
    rows = rows[rows["counted"] == 1]
    ideal = (rows["weight_bytes"] + rows["cache_bytes"]) / (rows["bandwidth_gbs"] * 1e9)
    assert (rows["decode_tokens_s"] * ideal).max() < 1


@pytest.mark.parametrize(
    ("cls", "runtime", "median"),
    [
        # medians of the collection that the rows are from; the Apple rows are a part of it
        ("ws-gpu", None, 0.77),
        ("consumer-gpu", "llama.cpp-cuda", 0.72),
        ("apu", "llama.cpp-vulkan", 0.71),
        ("apu", "llama.cpp-rocm", 0.64),
        ("cpu", None, 0.60),
        ("dc-gpu", None, 0.51),
        ("apple", None, 0.63),
    ],
)
def test_plain_medians_are_those_of_the_collection(cls, runtime, median):
    rows = reference.single_stream()
    rows = rows[
        (rows["counted"] == 1) & (rows["device_class"] == cls) & ~rows["row_id"].str.startswith("OWN")
    ]
    if runtime is not None:
        rows = rows[rows["runtime"] == runtime]
    ideal = (rows["weight_bytes"] + rows["cache_bytes"]) / (rows["bandwidth_gbs"] * 1e9)
    assert (rows["decode_tokens_s"] * ideal).median() == pytest.approx(median, abs=0.06)


def test_a_fixed_time_is_found_and_never_exceeds_what_rows_leave():
    ideal = np.array([1.0, 2.0, 5.0, 20.0, 60.0])
    measured = 3.0 + ideal / 0.8
    assert reference.fixed_time_ms(ideal, measured) == pytest.approx(3.0, abs=0.02)
    assert reference.fixed_time_ms(ideal, ideal) == 0
    assert reference.fixed_time_ms(ideal, ideal / 0.5) == pytest.approx(0, abs=0.01)


def test_a_fixed_time_predicts_better_than_a_fraction_alone():
    for cls in ("consumer-gpu", "ws-gpu", "dc-gpu", "apple", "apu"):
        ideal, measured = reference._times(reference._of(reference.decode_rows(), cls))
        assert TABLE.loc[cls, "fixed_ms"] > 0
        assert TABLE.loc[cls, "error"] < 0.9 * reference._error(ideal, measured, 0.0)


def test_16_bit_weights_reach_more_than_quantised_ones():
    for cls in ("consumer-gpu", "ws-gpu", "apple"):
        assert TABLE.loc[f"{cls}/16-bit", "bandwidth_p50"] > TABLE.loc[f"{cls}/quantised", "bandwidth_p50"]


def test_rows_carry_source_and_known_device():
    devices = set(reference._devices())
    for table in (reference.single_stream(), reference.batches()):
        assert table["source"].notna().all()
        assert table["row_id"].is_unique
        assert set(table["device_id"].dropna()) <= devices
        assert "invalid-run" not in set(table["evidence"])


def test_files_are_small():
    folder = preset_root() / "reference"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 300_000


def test_others_with_a_chip_are_its_decode_rows():
    found = of_device("rtx-4090")
    rows = reference.single_stream()
    here = rows[(rows["device_id"] == "rtx-4090") & (rows["counted"] == 1) & (rows["n_gpu"] == 1)]
    assert 0 < len(found) <= len(here)
    first = here.iloc[0]
    share = (
        (first["weight_bytes"] + first["cache_bytes"])
        / (first["bandwidth_gbs"] * 1e9)
        * first["decode_tokens_s"]
    )
    assert found["share"].iloc[0] == pytest.approx(share)
    assert found["source"].notna().all()
    assert len(of_device("no-such-device")) == 0


def test_others_with_a_chip_are_its_prefill_rows_at_their_own_lengths():
    found = prefill_of_device("rtx-4090")
    rows = reference.single_stream()
    here = rows[(rows["device_id"] == "rtx-4090") & (rows["n_gpu"] == 1) & rows["prefill_tokens_s"].notna()]
    assert 0 < len(found) <= len(here)
    first = found.iloc[0]
    assert (first["model"], first["quant"], first["n_prompt"]) == ("Llama-2-7B", "Q4_0", 512)
    device = library().devices["rtx-4090"]
    weights = library().weights["q4_0"]
    rate = phase_peak(device, weights, Scenario(), None).ceiling
    operations = 2 * 6.74e9 * 512
    assert first["share"] == pytest.approx(operations / rate / (512 / first["prefill_tokens_s"]), rel=0.05)
    assert found["share"].between(0, 1.01).all()
    assert len(prefill_of_device("no-such-device")) == 0
