"""A model that is not loaded: its whole file comes from storage before the first token."""

from __future__ import annotations

from slmopt.specs.setup import ASSUMED_STORAGE_GBS, Setup
from slmopt.theory.forward import Kind

__all__ = ["ASSUMED_STORAGE_GBS", "file_bytes", "load_seconds", "storage_gbs"]


def storage_gbs(setup: Setup) -> float | None:
    """Storage's rate in GB/s: the scenario's, or the device's; None where nobody states it."""
    given = setup.scenario.storage_gbs
    return setup.device.storage_gbs if given is None else given


def file_bytes(setup: Setup) -> float:
    """What is read: the weights of the model, and of what drafts for it on the same device."""
    return setup.weight_bytes + setup.draft_bytes


def load_seconds(setup: Setup, kind: Kind) -> float:
    """File bytes / storage rate where the model is cold; 0 where it is resident.

    An estimate takes :data:`ASSUMED_STORAGE_GBS` where no rate is stated; a bound leaves out what is not known.
    """
    if setup.scenario.residency == "resident":
        return 0.0
    rate = storage_gbs(setup)
    if rate is None:
        if kind == "ceiling":
            return 0.0
        rate = ASSUMED_STORAGE_GBS
    return file_bytes(setup) / (rate * 1e9)
