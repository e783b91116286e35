"""Another device: twice the bandwidth, twice the arithmetic, twice as many."""

from __future__ import annotations

from slmopt.advice.fitted import scaled, with_rates
from slmopt.advice.technique import Change, Technique
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import numbers as n


def more_bandwidth(s: Scenario) -> Change:
    """The same device with twice the bandwidth."""
    doubled = 2.0 * resolve(s).bandwidth / 1e9
    return Change(with_rates(s, "bandwidth_gbs", doubled), n.trimmed(n.bytes_per_s(doubled * 1e9)))


def more_arithmetic(s: Scenario) -> Change:
    """The same device with twice every matrix rate."""
    setup = resolve(s)
    if s.peak_tflops is not None:
        return Change(with_rates(s, "peak_tflops", 2.0 * s.peak_tflops), f"{2.0 * s.peak_tflops:g} TFLOPS")
    if not any(unit.peak_tflops for unit in setup.device.units):
        return Change(None, "no matrix rate is known for this device")
    units = tuple(
        unit.model_copy(update={"peak_tflops": {kind: 2.0 * rate for kind, rate in unit.peak_tflops.items()}})
        for unit in setup.device.units
    )
    name = f"{setup.device.name}, twice the arithmetic"
    doubled = setup.device.model_copy(
        update={"units": units, "id": f"{setup.device.id}-2x-arithmetic", "name": name}
    )
    return Change(s.change(device=doubled, calibration=scaled(s, rate=2.0)), "twice every matrix rate")


def more_devices(s: Scenario) -> Change:
    """Twice as many devices, the model split over them."""
    try:
        after = s.change(devices=2 * s.devices)
        evaluate(after)
    except SpecError as refused:
        return Change(None, str(refused).rstrip("."))
    return Change(after, f"{2 * s.devices} devices")


DEVICE = (
    Technique(
        "more_bandwidth",
        "A device with twice the bandwidth",
        8,
        "hardware",
        "decode",
        "time to move bytes",
        "another device: its price and power",
        more_bandwidth,
    ),
    Technique(
        "more_arithmetic",
        "A device with twice the arithmetic",
        8,
        "hardware",
        "prefill",
        "time to do operations",
        "another device: its price and power",
        more_arithmetic,
    ),
    Technique(
        "more_devices",
        "Twice as many devices",
        8,
        "hardware",
        "decode",
        "bytes and operations of one device; its memory",
        "twice the price and power, and messages over the link at every layer",
        more_devices,
    ),
)
