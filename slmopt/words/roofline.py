"""What the Roofline says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slmopt.specs.model import Model
from slmopt.theory.roof import Roof
from slmopt.theory.roofline_points import RooflineView, Spot
from slmopt.words import numbers as n
from slmopt.words.arithmetic import estimate_line, pass_lines
from slmopt.words.scenario_line import sequences

Tiles = list[tuple[str, str, str, str]]

MARKS = {"memory": "▲", "compute": "▼", "link": "⇄"}
ASKED = "no matrix rate is known: enter yours"


def answer(v: RooflineView) -> str:
    """Which side decides decode, at this batch and at any, cause first."""
    decode = f"**{intensity(v.now)}**"
    if not v.known:
        return _unknown(v, decode)
    ridge = f"**{n.figures(v.roof.ridge)}**"
    if v.fits_none:
        side = "right" if v.now.bound == "compute" else "left"
        large = _weights_too_large(v)
        lacking = (
            "The weights do not fit this memory; if they did"
            if large
            else "Not one sequence fits this memory; if one did"
        )
        return f"{lacking}, decode would do {decode}, {side} of the ridge at {ridge}."
    if v.now.bound == "link":
        return f"The link between the devices limits decode: it does {decode} and would stand under the ridge at {ridge}, but waits for the link."
    if v.first.bound == "compute":
        first = f"**{intensity(v.first)}**"
        return f"Decode is compute-bound at every batch: one sequence does {first}, and this device's ridge is at {ridge}."
    crossing = v.evaluation.ceiling.crossover.batch
    if crossing is None:
        limit = f"**{n.figures(v.limit)}{n.NBSP}FLOP/byte**"
        return f"Decode is memory-bound at every batch: {held_by(v.evaluation.setup.model)} holds it below {limit}, and this device's ridge is at {ridge}."
    if v.now.bound == "compute":
        return f"Arithmetic limits decode at {sequences(v.now.batch)}: it does {decode}, right of this device's ridge at {ridge}."
    return _before_crossing(v, crossing)


def _unknown(v: RooflineView, decode: str) -> str:
    """The verdict as far as the device's other rates carry it."""
    ridges = v.other_ridges
    if not ridges:
        return f"Decode does {decode}; which side decides stays open until you enter this chip's matrix rate."
    between = _between(ridges)
    side = _side_of_all(v.now.intensity, ridges)
    if side is None:
        return f"Decode does {decode}; this chip's other rates put the ridge {between}, so which side decides stays open."
    return f"Decode is likely {side}-bound: it does {decode}, and this chip's other rates put the ridge {between}."


def _side_of_all(value: float, ridges: Sequence[float]) -> str | None:
    """The side on which a pass stands under each of these ridges; None where they disagree."""
    return "memory" if value <= ridges[0] else "compute" if value > ridges[-1] else None


def _between(ridges: Sequence[float]) -> str:
    low, high = n.figures(ridges[0]), n.figures(ridges[-1])
    return f"near **{low}**" if low == high else f"between **{low}** and **{high}**"


def rate_name(name: str) -> str:
    """A unit and its operands as they are written: "NPU INT8" for "npu int8"."""
    return name.upper().replace("_ACC16", " into FP16").replace(" ANY", "")


def _before_crossing(v: RooflineView, crossing: float) -> str:
    fit = v.evaluation.capacity.max_sequences
    ridge = f"**{n.figures(v.roof.ridge)}{n.NBSP}FLOP/byte**"
    if v.largest is not None and fit is not None and fit < crossing:
        reach = f"**{intensity(v.largest)}**"
        fitting = f"**{fit:,}** sequence{' fits and reaches' if fit == 1 else 's fit and reach'}"
        return f"Memory decides at every batch that fits: {fitting} {reach}, short of the ridge at **{n.figures(v.roof.ridge)}**."
    room = "" if fit is None else f"; **{fit:,}** fit"
    return f"Decode is memory-bound until **{crossing_words(crossing)} sequences** reach this device's ridge at {ridge}{room}."


def _weights_too_large(v: RooflineView) -> bool:
    c = v.evaluation.capacity
    return c.usable is not None and c.weight_bytes + c.buffer_bytes > c.usable


def held_by(model: Model) -> str:
    """What each further sequence makes a step read."""
    state = any(group.state is not None for group in model.groups)
    cache = not model.groups or any(group.attention is not None for group in model.groups)
    return (
        "reading cache and state"
        if state and cache
        else "reading the state"
        if state
        else "reading the cache"
    )


def crossing_words(batch: float) -> str:
    """The first whole batch at or beyond the crossover."""
    return f"{max(1, math.ceil(batch * (1 - 1e-9))):,}" if batch < 10_000 else n.figures(batch)


def intensity(spot: Spot) -> str:
    """A pass's operations a byte: "4.71 FLOP/byte"."""
    return n.with_unit(spot.intensity, "FLOP/byte")


def tiles(v: RooflineView) -> Tiles:
    """Label, value, note and help of the four headline figures."""
    return [
        _ridge(v),
        ("Decode (FLOP/byte)", n.figures(v.now.intensity), _side(v.now, v.roof, v.other_ridges), DECODE_HELP),
        (
            "Prefill (FLOP/byte)",
            n.figures(v.prefill.intensity),
            _side(v.prefill, v.prefill_roof, v.other_ridges),
            PREFILL_HELP,
        ),
        _rate(v),
    ]


RIDGE_HELP = "Matrix rate over bandwidth: passes that do more operations a byte are compute-bound, others memory-bound."
DECODE_HELP = "Operations a byte that a decode step does at the scenario's sequences and context."
PREFILL_HELP = "Operations a byte of one prompt's prefill; prompt tokens already cached are not computed."
RATE_HELP = "Operations a second of a decode step; the rest of the matrix rate waits for memory."


def _ridge(v: RooflineView) -> tuple[str, str, str, str]:
    if not v.known:
        note = (
            f"{_between(v.other_ridges)} by other rates; enter yours".replace("**", "")
            if v.other_ridges
            else ASKED
        )
        return "Ridge (FLOP/byte)", n.UNKNOWN, note, RIDGE_HELP
    peak, bandwidth = n.trimmed(n.flops_per_s(v.roof.peak)), n.trimmed(n.bytes_per_s(v.roof.bandwidth))
    return "Ridge (FLOP/byte)", n.figures(v.roof.ridge), f"{peak} / {bandwidth}", RIDGE_HELP


def _side(spot: Spot, roof: Roof, others: Sequence[float]) -> str:
    if spot.bound is None:
        side = _side_of_all(spot.intensity, others) if others else None
        return ASKED if side is None else f"{MARKS[side]} likely {side}, by the chip's other rates"
    ratio = spot.intensity / roof.ridge
    mark = f"{MARKS[spot.bound]} {spot.bound}"
    if n.significant(max(ratio, 1 / ratio)) == 1:
        return f"{mark}, at the ridge"
    if ratio < 1:
        return f"{mark}, {n.figures(1 / ratio)}× left of the ridge"
    return f"{mark}, {n.figures(ratio)}× right of it"


def _rate(v: RooflineView) -> tuple[str, str, str, str]:
    rate = v.now.flops_per_s
    scale, prefix = n.si_scale(rate)
    band = n.span(n.figures(v.decode_band.slow / scale, 2), n.figures(v.decode_band.fast / scale, 2))
    share = f"{n.percent(rate / v.roof.peak)} of the peak" if v.known else "by memory alone"
    return (
        f"Decode rate ({prefix}FLOPS)",
        f"≤{n.NBSP}{n.figures(rate / scale)}",
        f"{share}; {band}",
        RATE_HELP,
    )


def roof_title(v: RooflineView) -> str:
    """Finding of the main figure."""
    if not v.known:
        return f"Decode stands at {intensity(v.now)}; no ridge is known"
    ridge = v.roof.ridge
    if v.first.bound == "compute":
        return f"One sequence already stands {times(v.first.intensity / ridge)} right of the ridge"
    crossing = v.evaluation.ceiling.crossover.batch
    if crossing is None:
        return f"Batching stops {times(ridge / v.limit)} short of the ridge"
    fit = v.evaluation.capacity.max_sequences
    needed = crossing_words(crossing)
    if v.fits_none:
        return f"Nothing fits; the ridge would need {needed} sequences"
    if v.largest is not None and fit is not None and fit < crossing:
        return f"{_fit(fit)}, {times(ridge / v.largest.intensity)} short of the ridge"
    room = "" if fit is None else f"; {fit:,} fit"
    return f"Batching reaches the ridge at {needed} sequences{room}"


def times(ratio: float) -> str:
    """How far: "30 times", or "just" where hardly anything is missing."""
    return "just" if ratio < 1.05 else f"{n.figures(ratio, 2)} times"


def _fit(fit: int) -> str:
    return "1 sequence fits" if fit == 1 else f"{fit:,} sequences fit"


def intensity_title(v: RooflineView) -> str:
    """Finding of the figure of intensity against batch."""
    depth = v.evaluation.setup.scenario.depth
    if not v.known:
        if math.isinf(v.limit):
            return "Without cache reads, intensity grows with the batch"
        return f"At {depth:,} cached tokens no batch passes {n.figures(v.limit)} FLOP/byte"
    if v.first.bound == "compute":
        return "Every batch is right of the ridge"
    limit = v.context_limit
    if limit is None:
        return "At every context, a large enough batch reaches the ridge"
    if limit < 1:
        return "No batch reaches the ridge, however short the context"
    return f"Above {math.floor(limit):,} cached token{'' if math.floor(limit) == 1 else 's'} no batch reaches the ridge"


def roof_alt(v: RooflineView) -> str:
    """The main figure for those who do not see it."""
    roof = f"a slope of {n.trimmed(n.bytes_per_s(v.roof.bandwidth))}"
    if v.known:
        roof += f" up to {n.trimmed(n.flops_per_s(v.roof.peak))} at a ridge of {n.figures(v.roof.ridge)} FLOP/byte"
    path = f"Decode goes from {intensity(v.first)} for one sequence"
    path += f" to {intensity(v.largest)} for {v.largest.batch:,}" if v.largest is not None else ""
    return f"{roof_title(v)}. Rate against arithmetic intensity, both logarithmic: {roof}. {path}; prefill does {intensity(v.prefill)}."


def intensity_alt(v: RooflineView) -> str:
    """The figure of intensity against batch for those who do not see it."""
    contexts = ", ".join(f"{curve.context:,}" for curve in v.curves)
    top = v.curves[0].batch[-1]
    return (
        f"{intensity_title(v)}. Operations a byte against 1 to {top:,.0f} sequences, both logarithmic, "
        f"at {contexts} cached tokens."
    )


def arithmetic(v: RooflineView) -> list[str]:
    """The page's figures with this scenario's numbers in the formulas."""
    e = v.evaluation
    decode = e.ceiling.decode
    lines = []
    if v.known:
        lines.append(
            f"**Ridge**: {n.flops_per_s(v.roof.peak)} / {n.bytes_per_s(v.roof.bandwidth)} = "
            f"{n.figures(v.roof.ridge)} FLOP/byte"
        )
    lines.append(
        f"**Decode intensity**: {n.flops(float(decode.cost.flops))} / {n.bytes_(float(decode.cost.bytes))} = {intensity(v.now)}"
    )
    lines += pass_lines("Decode step", decode, v.roof)
    lines.append(
        f"**Decode rate**: {n.flops(float(decode.cost.flops))} / {n.seconds(v.now.seconds)} = {n.flops_per_s(v.now.flops_per_s)}"
    )
    lines += pass_lines("Prefill", e.ceiling.prefill, v.prefill_roof)
    if math.isfinite(v.limit):
        lines.append(
            f"**Limit of large batches**: operations a sequence / bytes it adds = {n.figures(v.limit)} FLOP/byte: "
            f"weights are read once for all, {held_by(v.evaluation.setup.model).removeprefix('reading ').removeprefix('the ')} for each"
        )
    if v.context_limit is not None:
        lines.append(
            f"**Longest context with a crossover**: {math.floor(v.context_limit):,} tokens; beyond, a sequence's "
            "reads take longer than its arithmetic, whatever the batch"
        )
    return [*lines, estimate_line(e)]


def tflops(rate: float | None) -> float | None:
    """FLOP/s in 10^12, as the field for the matrix rate takes it."""
    return None if rate is None else rate / 1e12
