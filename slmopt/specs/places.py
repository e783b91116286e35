"""Where a model runs when one memory is not enough: the link between devices, and the host beside a card."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.specs.base import SpecError
from slmopt.specs.device import Device
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import Library, find
from slmopt.specs.model import Model
from slmopt.specs.rates import Factors, PhasePeak, achieved, phase_peak
from slmopt.specs.scenario import Scenario

HOST = "cpu-ddr5-5600-dual"
"""The host where none is named: what most desktops sold since 2023 have."""


@dataclass(frozen=True)
class Wire:
    """A link: bytes/s per direction, and seconds a message; None where nobody states it."""

    name: str
    bandwidth: float | None
    latency_s: float | None


@dataclass(frozen=True)
class Host:
    """The machine around a card. ``capacity`` in bytes, the most that it is sold with; None where unknown."""

    device: Device
    capacity: float | None
    decode: PhasePeak
    prefill: PhasePeak
    factors: Factors
    assumed: bool

    @property
    def bandwidth(self) -> float:
        """Bytes/s of its memory."""
        return self.device.bandwidth_gbs * 1e9


def wire_of(scenario: Scenario, device: Device) -> Wire | None:
    """The link that a pass crosses: between several devices, or between card and host; None with one memory."""
    if scenario.devices == 1 and not scenario.offloads:
        return None
    sold = device.link if scenario.devices > 1 else device.host_link
    gbs = scenario.link_gbs if scenario.link_gbs is not None else None if sold is None else sold.gbs
    stated = None if sold is None else sold.latency_us
    latency = stated if scenario.link_latency_us is None else scenario.link_latency_us
    own = scenario.link_gbs is not None or sold is None
    return Wire(
        name="" if own or sold is None else sold.name,
        bandwidth=None if gbs is None else gbs * 1e9,
        latency_s=None if latency is None else latency / 1e6,
    )


def host_of(scenario: Scenario, weights: WeightFormat, presets: Library) -> Host | None:
    """The host of a scenario with partial offload; what is entered about the device is not taken for the host."""
    if not scenario.offloads:
        return None
    device = find("host", presets.devices, HOST if scenario.host is None else scenario.host)
    names = (
        "peak_tflops",
        "compute",
        "bandwidth_fraction",
        "compute_fraction",
        "attention_tflops",
        "fixed_ms",
    )
    own = scenario.model_copy(update=dict.fromkeys(names))
    return Host(
        device=device,
        capacity=device.capacities[-1] * device.usable_fraction if device.capacities else None,
        decode=phase_peak(device, weights, own, None),
        prefill=phase_peak(device, weights, own, None),
        factors=achieved(own, device, weights, presets),
        assumed=scenario.host is None,
    )


def refuse_impossible(scenario: Scenario, model: Model) -> None:
    """One sentence where the model cannot be shared out as asked; raises :class:`SpecError`."""
    s = scenario
    experts = [group.moe.experts for group in model.groups if group.moe is not None]
    if s.cpu_moe_layers and not experts:
        raise SpecError(f"cpu_moe_layers = {s.cpu_moe_layers}: {model.name} has no experts; leave it out.")
    if s.gpu_layers is not None and not model.layer_count:
        raise SpecError(f"gpu_layers = {s.gpu_layers}: how many layers {model.name} has is not known.")
    if s.devices == 1:
        return
    if s.parallel == "pipeline" and s.devices > model.layer_count:
        raise SpecError(
            f"devices = {s.devices}: {model.name} has {model.layer_count} layers, and a stage of a pipeline needs one."
        )
    if s.parallel == "expert" and not experts:
        raise SpecError(f"parallel = expert: {model.name} has no experts; choose tensor or pipeline.")
    if s.parallel == "expert" and s.devices > min(experts):
        raise SpecError(
            f"devices = {s.devices}: {model.name} has {min(experts)} experts a layer, and each device needs one."
        )
