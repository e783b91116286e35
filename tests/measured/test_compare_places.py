"""Rows of several devices and of layers in main memory, against the ceiling of how they share the model."""

from __future__ import annotations

import pandas as pd
import pytest

from slmopt.measured.calibration_rows import passes
from slmopt.measured.compare import compare
from slmopt.measured.placed import Facts
from slmopt.measured.table import rows_from_records
from slmopt.specs.library import library
from slmopt.specs.scenario import scenario
from slmopt.words.verdicts import note_text, notes_of
from tests.measured.test_compare import decode, device, facts, judged, model, prefill

# 1B parameters in 16 bits on 100 GB/s: a step takes 20 ms.
ALONE = 50.0


def shared(count: float, tensor: float, stages: float, **more):
    return decode(10.0, device_count=count, tensor_parallel=tensor, pipeline_parallel=stages, **more)


def test_one_stream_through_a_pipeline_waits_for_every_stage():
    one, four = judged(
        shared(4.0, 1.0, 4.0), shared(4.0, 1.0, 4.0, batch=4.0, tokens_per_s_basis="device")
    ).itertuples()
    assert one.ceiling == pytest.approx(ALONE)
    assert four.ceiling == pytest.approx(4 * ALONE)
    assert "pipeline=4" in one.notes.split("|")
    assert "hold layers in turn" in note_text(one.notes)


def test_tensor_parallel_shares_every_layer_and_pays_its_link():
    record = shared(4.0, 4.0, 1.0)
    free = judged(record).iloc[0]
    assert free["ceiling"] == pytest.approx(4 * ALONE)
    assert "tensor=4" in free["notes"].split("|")
    # 16 layers with two all-reduces of 2·¾ times 2,048 values of 2 bytes: 196,608 bytes a token.
    wide = facts(model=model(hidden=2048), overrides={"link_gbs": 1e-3})
    slow = judged(record, said=wide).iloc[0]
    assert slow["ceiling"] == pytest.approx(1e6 / 196_608)
    assert slow["bound"] == "link"


def test_tensor_parallel_reads_heads_that_several_devices_hold_twice():
    record = shared(16.0, 16.0, 1.0, depth_tokens=30_000.0)
    deep = judged(record, said=facts(weights="16-bit")).iloc[0]
    # 8 heads on 16 devices: each holds one, so the cache of 32 KiB a token is read twice.
    moved = 2e9 + 2 * 30_000 * 32_768
    assert deep["ceiling"] == pytest.approx(16 * 100e9 / moved, rel=1e-3)


@pytest.mark.parametrize(
    "record",
    [
        shared(4.0, 2.0, 2.0),
        shared(4.0, 2.0, 1.0),
        shared(4.0, float("nan"), float("nan")),
        shared(32.0, 1.0, 32.0),
    ],
    ids=["both", "copies", "not told", "more stages than layers"],
)
def test_what_is_not_told_or_not_one_way_stays_the_sum_and_says_so(record):
    row = judged(record).iloc[0]
    count = record["device_count"]
    assert row["ceiling"] == pytest.approx(count * ALONE)
    assert f"devices={count:g}" in row["notes"].split("|")
    assert "bounds any way" in note_text(row["notes"])
    assert any(
        "bounds any way" in text for text, _ in notes_of(judged(record, {**record, "device_count": 3.0}))
    )


HOST = device(50.0, 1.0, name="host")


def beside(**more):
    return facts(device=device(reference_class="consumer-gpu"), overrides={"host": HOST}, **more)


def test_layers_on_the_host_are_read_after_the_card_s():
    row = judged(decode(20.0, gpu_layers=8.0), said=beside()).iloc[0]
    assert row["ceiling"] == pytest.approx(1 / (1e9 / 100e9 + 1e9 / 50e9))  # half of the layers each
    assert "layers_on_host" in row["notes"].split("|")
    assert row["p50"] < 1
    assert "offload" not in row["reasons"]


def test_the_files_own_size_scales_both_memories():
    plain, heavy = judged(
        decode(20.0, gpu_layers=8.0, weight_bytes=2e9, params=1e9),
        decode(20.0, gpu_layers=8.0, weight_bytes=4e9, params=1e9),
        said=beside(),
    )["ceiling"]
    assert heavy == pytest.approx(plain / 2)


def test_no_layer_on_the_card_leaves_the_host_alone():
    row = judged(decode(20.0, gpu_layers=0.0), said=beside()).iloc[0]
    assert row["ceiling"] == pytest.approx(25.0)


def test_a_prompt_may_be_sent_to_the_card_as_fast_as_the_host_reads():
    fed = judged(prefill(500.0, 4096.0, gpu_layers=0.0), said=beside()).iloc[0]
    # All weights over a link that nobody states, at most as fast as the host's memory, or the card's arithmetic.
    assert fed["ceiling"] == pytest.approx(4096 / max(2e9 / 50e9, 2e9 * 4096 / 10e12))


def test_an_unknown_host_is_asked_for_and_the_card_still_bounds():
    said = facts(device=device(reference_class="consumer-gpu"))
    found = compare(rows_from_records([decode(3.0, row="row 1", gpu_layers=8.0)]), said)
    row = found.rows.iloc[0]
    assert row["ceiling"] == pytest.approx(ALONE)
    assert found.needs == ("host",)
    assert "host_unknown" in row["notes"]
    assert "offload" in row["reasons"]
    assert "name the host (--host" in note_text(row["notes"])


@pytest.mark.parametrize(
    ("more", "of"),
    [
        ({"gpu_layers": -1.0}, "consumer-gpu"),
        ({"gpu_layers": 99.0}, "consumer-gpu"),
        ({"gpu_layers": 16.0}, "consumer-gpu"),
        ({"gpu_layers": 8.0, "backend": "CPU"}, "consumer-gpu"),
        ({"gpu_layers": 8.0}, "apple"),
        ({"gpu_layers": 8.0}, "cpu"),
        ({"cpu_moe_layers": 8.0}, "consumer-gpu"),
    ],
)
def test_what_lies_in_one_memory_needs_no_host(more, of):
    found = compare(
        rows_from_records([decode(20.0, row="row 1", **more)]), facts(device=device(reference_class=of))
    )
    assert found.rows["ceiling"].iloc[0] == pytest.approx(ALONE)
    assert found.needs == ()


def test_experts_on_the_host():
    name = library().models["gpt-oss-20b"].name
    said = Facts(
        device=device(1000.0, 100.0, reference_class="consumer-gpu"),
        model="gpt-oss-20b",
        weights="8-bit",
        overrides={"host": HOST},
    )
    layers = [0.0, 8.0, 16.0, 1000.0]
    ceilings = judged(*(decode(5.0, model=name, cpu_moe_layers=count) for count in layers), said=said)[
        "ceiling"
    ]
    assert ceilings.is_monotonic_decreasing
    assert ceilings.iloc[0] > 2 * ceilings.iloc[1]


def test_a_fit_takes_no_row_that_reads_two_memories():
    rows = rows_from_records([decode(20.0, row=str(layers), gpu_layers=layers) for layers in (8.0, 99.0)])
    tall = library().models["llama-3.1-8b"]
    for overrides in ({"host": HOST}, {}):
        said = Facts(
            device=device(reference_class="consumer-gpu"), model=tall, weights="8-bit", overrides=overrides
        )
        assert len(passes(rows, said)) == 1


def test_a_panel_s_own_host_is_its_user_s_word():
    said = Facts.of(scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "gpu_layers": 8, "host": HOST}))
    row = judged(decode(1.0, gpu_layers=8.0, device="RTX 4090"), said=said).iloc[0]
    assert "layers_on_host" in row["notes"].split("|")
    assert isinstance(pd.io.json.ujson_dumps(said.overrides), str)
