"""What is said of several devices, and of a card beside its host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slmopt.specs.setup import Setup
from slmopt.theory.holders import Place
from slmopt.theory.offload import placed_of
from slmopt.theory.offload_curve import LayersCurve
from slmopt.words import numbers as n

SIDES: Final[Mapping[str, str]] = {"memory": "memory", "compute": "compute", "link": "the link"}
"""A pass's bound as a noun."""

PLACES: Final[Mapping[Place, str]] = {
    "device": "the device",
    "stage": "the fullest stage",
    "card": "the card",
    "host": "the host",
}
"""Whose memory it is."""

_WAYS: Final = {"tensor": "tensor parallel", "pipeline": "pipeline", "expert": "expert parallel"}


def devices_words(setup: Setup) -> str:
    """The device, how many of it, and what stays on the host."""
    s, name = setup.scenario, setup.device.name
    if s.devices > 1:
        return f"{s.devices:,} × {name}, {_WAYS[s.parallel]}"
    return name if setup.host is None else f"{name} + {setup.host.device.name}"


def givers(setup: Setup) -> str:
    """Who gives a rate: "the device gives", "the 4 devices give"."""
    if setup.host is not None:
        return "card and host give"
    devices = setup.scenario.devices
    return "the device gives" if devices == 1 else f"the {devices:,} devices give"


def offload_words(setup: Setup) -> str:
    """What is on the card, of how many layers."""
    where = placed_of(setup)
    head = "" if setup.model.by_count else " and the head" if where.head else " without the head"
    said = f"{sum(where.layers):,} of {sum(where.counts):,} layers{head} on the card"
    kept = sum(where.layers) - sum(where.experts)
    return f"{said}, experts of {kept:,} of them on the host" if kept else said


def place_words(setup: Setup, place: Place) -> str:
    """Whose memory is meant, as the end of a heading; nothing where there is one."""
    if place == "card":
        return " of the card, which fills first"
    if place == "host":
        return " of the host, which fills first"
    if place == "stage":
        return " of the fullest stage"
    return " of each device" if setup.scenario.devices > 1 else ""


def layers_title(curve: LayersCurve) -> str:
    """Finding of decode against layers on the card."""
    if curve.fit is None:
        lacking = "No number of layers fits card and host ✕"
        return lacking if curve.memory_known else "Memory is not known, so neither is what fits"
    none, fit = curve.speed(0), curve.speed(curve.fit)
    if curve.fit == curve.whole:
        return f"All layers fit the card: {n.figures(fit / none)} times the host alone"
    if not curve.fit:
        return "The card holds no layer: the host does all"
    return f"**{curve.fit:,}** of {curve.whole:,} layers fit the card, for at most {n.tokens_per_s(fit)}"


def layers_alt(curve: LayersCurve) -> str:
    """The figure for those who do not see it."""
    title = layers_title(curve).replace("**", "")
    return (
        f"{title}. Tokens/s of all sequences against layers on the card, 0 to {curve.whole:,}: ceiling from "
        f"{n.figures(curve.speed(0))} to {n.figures(curve.speed(curve.whole))}, and the estimate's band."
    )
