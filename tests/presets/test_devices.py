"""Device presets: each is valid, sourced and plausible, and the articles' and the sweep's own are as stated."""

import json

import pytest

from slmopt.specs.device import GIB, Device
from slmopt.specs.library import preset_root

CLASSES = {
    "phone",
    "sbc",
    "laptop",
    "desktop",
    "workstation",
    "data-centre",
    "accelerator",
    "apple",
    "cpu",
    "article",
}
FILES = sorted((f for f in (preset_root() / "devices").iterdir() if f.name.endswith(".json")), key=str)
RECORDS = [record for file in FILES for record in json.loads(file.read_text(encoding="utf-8"))]
DEVICES = {record["id"]: Device.model_validate(record) for record in RECORDS}
EACH = pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)


def test_there_are_many_and_ids_are_unique():
    assert len(DEVICES) == len(RECORDS) >= 120
    assert len({device.name for device in DEVICES.values()}) == len(DEVICES)
    assert {device.device_class for device in DEVICES.values()} == CLASSES


@EACH
def test_identity_and_source(device):
    assert device.id == device.id.lower().replace(" ", "-")
    assert device.source
    assert device.confidence in {"seen", "derived", "memory"}
    if device.confidence == "memory":
        assert device.note, "what is remembered has to be said"


@EACH
def test_memory_is_plausible(device):
    assert 1 <= device.bandwidth_gbs <= 30_000 or device.id in {"groq-lpu-v1", "cerebras-wse-3"}
    assert device.capacities or device.id in {"article-50gbs", "epyc-2core"}
    for capacity in device.capacities:
        assert 0.2e9 <= capacity <= 2e12
        # from half a second down to a millisecond to read all of the memory once
        assert capacity / (device.bandwidth_gbs * 1e9) < 7


@EACH
def test_rates_are_plausible(device):
    for unit in device.units:
        rates = unit.peak_tflops
        for kind, rate in rates.items():
            assert 0.01 <= rate <= 130_000, kind
        if "fp16" in rates and "fp32" in rates:
            assert rates["fp16"] >= rates["fp32"] * 0.99
        for narrow, wide in (("fp8", "bf16"), ("int8", "fp32"), ("fp4", "fp8"), ("fp16_acc16", "fp16")):
            if narrow in rates and wide in rates:
                assert rates[narrow] >= rates[wide] * 0.99, f"{narrow} below {wide}"
        if unit.name == "npu":
            assert set(rates) == {"int8"}


@EACH
def test_links_are_per_direction(device):
    for link in (device.link, device.host_link):
        assert link is None or 1 <= link.gbs <= 1800
    if device.host_link is not None:
        assert "PCIe" in device.host_link.name


@EACH
def test_reference_class_is_known(device):
    entries = json.loads((preset_root() / "efficiency.json").read_text(encoding="utf-8"))
    assert device.reference_class in {entry["id"] for entry in entries}


def test_decoding_unit_stands_first():
    for device in DEVICES.values():
        assert device.units[0].name in {"gpu", "cpu", "accelerator", "device"}


def test_articles_devices_are_as_printed():
    small, card = DEVICES["article-50gbs"], DEVICES["article-80gb"]
    assert (small.bandwidth_gbs, small.units[0].peak_tflops, small.capacities) == (50, {"any": 4}, ())
    assert (card.bandwidth_gbs, card.units[0].peak_tflops) == (2000, {"any": 400})
    assert card.capacities == (80e9,), "the article's GB are decimal"


def test_sold_memory_is_binary_and_several_are_offered():
    assert DEVICES["rtx-4090"].capacities == (24 * GIB,)
    assert len(DEVICES["raspberry-pi-5"].capacities) == 4
    assert DEVICES["h100-sxm-80gb"].capacities[0] * DEVICES["h100-sxm-80gb"].usable_fraction == pytest.approx(
        79.25 * GIB, rel=1e-3
    )


def test_known_figures():
    b200, rtx, pi = DEVICES["b200-sxm"], DEVICES["rtx-4090"], DEVICES["raspberry-pi-5"]
    assert (b200.bandwidth_gbs, b200.units[0].peak_tflops["fp4"]) == (8000, 9000)
    rates = rtx.units[0].peak_tflops
    assert rates["fp16_acc16"] == pytest.approx(2 * rates["fp16"], rel=1e-3), "FP32 accumulation runs at half"
    assert rates["int8"] == pytest.approx(4 * rates["fp16"], rel=1e-3)
    assert pi.bandwidth_gbs == pytest.approx(4.267 * 4, rel=0.01), "32 bit of LPDDR4X-4267"


def test_phones_state_no_half_precision_rate_that_nobody_published():
    phone = DEVICES["snapdragon-8-gen-3"]
    assert "fp16" not in phone.units[0].peak_tflops
    assert phone.unit("npu").peak_tflops == {"int8": 45}


def test_the_sweeps_machine_bounds_its_own_sweep():
    """1B at F16 read 2.47 GB 15.44 times a second in its best run; 135M at F16 computed 178.5 GFLOPS."""
    sweep = DEVICES["epyc-2core"]
    assert sweep.bandwidth_gbs > 2.471763968 * 15.44
    assert sweep.units[0].peak_tflops["fp32"] > 0.1785
