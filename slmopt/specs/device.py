"""The device: bandwidth, memory, and the matrix rates of its units, each by operand type."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator, model_validator

from slmopt.specs.base import Sourced, Spec

Rate = Literal["any", "fp32", "tf32", "fp16", "bf16", "fp16_acc16", "fp8", "fp8_acc16", "int8", "int4", "fp4"]
RATES: tuple[str, ...] = get_args(Rate)

GB = 1e9
GIB = 2.0**30


class Unit(Spec):
    """A processor of the device and its dense matrix rates in TFLOPS (TOPS for integers); "any" serves all types."""

    name: str
    peak_tflops: dict[Rate, float] = Field(default_factory=dict)

    @field_validator("peak_tflops")
    @classmethod
    def _positive(cls, rates: dict[Rate, float]) -> dict[Rate, float]:
        for kind, rate in rates.items():
            if rate <= 0:
                raise ValueError(
                    f"{kind} rate {rate:g} TFLOPS: it must be above 0, or left out where unknown"
                )
        return rates

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.peak_tflops.items()))))


class Link(Spec):
    """What joins devices: bandwidth per direction, and latency of one message where it is stated."""

    name: str = ""
    gbs: float = Field(gt=0)
    latency_us: float | None = Field(default=None, ge=0)


class Device(Sourced):
    """A device. Memory is given in GB (10^9) or GiB (2^30), never both; several values where it is sold in several."""

    device_class: str = "other"
    bandwidth_gbs: float = Field(gt=0)
    capacity_gb: tuple[float, ...] = ()
    capacity_gib: tuple[float, ...] = ()
    usable_fraction: float = Field(default=1.0, gt=0, le=1)
    units: tuple[Unit, ...] = Field(min_length=1)
    link: Link | None = None
    host_link: Link | None = None
    power_w: float | None = Field(default=None, gt=0)
    price_per_hour: float | None = Field(default=None, ge=0)
    storage_gbs: float | None = Field(default=None, gt=0)
    reference_class: str = "all"

    @field_validator("capacity_gb", "capacity_gib", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, int | float) else value

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: object) -> object:
        if isinstance(data, dict) and "peak_tflops" in data:
            data = dict(data)
            peak = data.pop("peak_tflops")
            if "units" in data:
                raise ValueError("give peak_tflops or units, not both")
            rates = peak if isinstance(peak, dict) else {"any": peak}
            data["units"] = [
                {"name": "device", "peak_tflops": {k: v for k, v in rates.items() if v is not None}}
            ]
        if isinstance(data, dict) and "units" not in data:
            data = {**data, "units": [{"name": "device"}]}
        if isinstance(data, dict):
            data = {"id": "inline", "name": "own device", **data}
        return data

    @model_validator(mode="after")
    def _one_capacity(self) -> Device:
        if self.capacity_gb and self.capacity_gib:
            raise ValueError("give capacity_gb (10^9 bytes) or capacity_gib (2^30 bytes), not both")
        if any(value <= 0 for value in (*self.capacity_gb, *self.capacity_gib)):
            raise ValueError("memory must be above 0")
        return self

    @property
    def capacities(self) -> tuple[float, ...]:
        """Memory sizes on sale, in bytes, smallest first; empty where unknown."""
        return tuple(sorted([v * GB for v in self.capacity_gb] or [v * GIB for v in self.capacity_gib]))

    def unit(self, name: str | None) -> Unit:
        """The unit of that name; the first one for None."""
        if name is None:
            return self.units[0]
        for unit in self.units:
            if unit.name == name:
                return unit
        known = ", ".join(unit.name for unit in self.units)
        raise ValueError(f"{self.name} has no unit {name!r}: choose one of {known}")
