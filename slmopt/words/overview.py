"""What the Overview says."""

from __future__ import annotations

import math

import numpy as np

from slmopt.advice.targets import Target, targets
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.unknown import bracket
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.places import PLACES, givers
from slmopt.words.scenario_line import sequences

MARK = {"met": "✓", "ceiling_only": "◐", "missed": "✕"}


def answer(e: Evaluation) -> str:
    """What limits this model here, cause first."""
    decode, setup = e.ceiling.decode, e.setup
    if e.capacity.max_sequences == 0:
        c = e.capacity
        if c.place != "device" or setup.scenario.devices > 1:
            if c.usable is not None and c.fixed_bytes > c.usable:
                whose = PLACES[c.place] if c.place != "device" else "each device"
                return (
                    f"The weights do not fit: {whose} needs **{n.bytes_(c.weight_bytes + c.draft_bytes)}** for its part "
                    f"and has **{n.bytes_(c.usable)}**."
                )
        elif setup.capacity is not None and c.fixed_bytes > setup.capacity:
            return (
                f"The weights do not fit: they need **{n.bytes_(c.weight_bytes + c.draft_bytes)}** "
                f"and the device has **{n.bytes_(setup.capacity)}**."
            )
        return (
            f"Not one sequence of {setup.scenario.depth:,} tokens fits beside the weights: it needs "
            f"**{n.bytes_(e.capacity.bytes_per_sequence)}**."
        )
    rate = f"at most **{n.tokens_per_s(e.ceiling.device_tokens_per_s)}**"
    gives = givers(setup)
    if decode.bound == "link":
        return (
            f"The link between the devices limits decode: **{n.seconds(float(decode.link_s))}** a step against "
            f"**{n.seconds(float(np.fmax(decode.memory_s, decode.compute_s)))}** for all else, so {gives} {rate}."
        )
    if decode.bound == "compute":
        return (
            f"Arithmetic limits decode at {sequences(setup.scenario.batch)}: **{n.seconds(float(decode.compute_s))}** "
            f"a step against **{n.seconds(float(decode.memory_s))}** for memory, so {gives} {rate}."
        )
    moved = f"**{n.bytes_(float(decode.cost.bytes))}** each step moves"
    if float(decode.cost.cache_bytes) > float(decode.cost.weight_bytes):
        cached = n.bytes_(float(decode.cost.cache_bytes))
        return f"Cache reads limit decode: **{cached}** of the {moved} are cached tokens, so {gives} {rate}."
    weights = n.bytes_(float(decode.cost.weight_bytes))
    return f"Reading the weights limits decode: **{weights}** of the {moved} are weights, so {gives} {rate}."


def step_title(e: Evaluation) -> str:
    """Finding of the main figure."""
    decode = e.ceiling.decode
    memory = n.seconds(float(decode.memory_s))
    if e.setup.decode.ceiling is None:
        return f"A decode step waits {memory} for memory; the matrix rate is not known"
    return f"A decode step waits {memory} for memory, {n.seconds(float(decode.compute_s))} for compute"


def targets_title(e: Evaluation) -> str:
    """Finding of the targets figure."""
    names = {"ttft": "first token", "tpot": pace.inner(), "users": "users"}
    found = targets(e)
    if not found:
        return "No target can be judged here"
    missed = [t for t in found if t.verdict == "missed"]
    if missed:
        return f"{_listed([names[t.name] for t in missed])} out of reach, even at the ceiling ✕"
    risky = [t for t in found if t.verdict == "ceiling_only"]
    if risky:
        worst = risky[0]
        may = "fall to" if worst.name == "tpot" and pace.as_speed() else "reach"
        return f"{names[worst.name].capitalize()} may {may} {_time(worst, worst.slow, 2)}, target {_target(worst)} ◐"
    return "Every target is met, slow estimate included ✓"


def memory_title(e: Evaluation) -> str:
    """Finding of the memory figure."""
    c = e.capacity
    if c.usable is None:
        return "Memory is not known: enter it under Hardware"
    if c.max_sequences is None:
        return "A sequence holds nothing: any number fits"
    if c.weight_bytes + c.buffer_bytes > c.usable:
        return f"The weights lack {n.bytes_(c.weight_bytes + c.buffer_bytes - c.usable)} ✕"
    lacking = f"; the next lacks {n.bytes_(c.lacking)}" if c.lacking else ""
    fit = "1 sequence fits" if c.max_sequences == 1 else f"{n.count(c.max_sequences)} sequences fit"
    return f"{fit}{lacking}"


def target_note(target: Target | None, *, band: bool = True) -> str:
    """The note under a tile: mark, target, and the estimate's band."""
    if target is None:
        return ""
    alone = " without queueing" if target.queued else ""
    said = f"{MARK[target.verdict]}{n.NBSP}target {_target_number(target)}{alone}"
    if not band or target.fast is None or target.slow is None:
        return said
    if _speed(target):
        return f"{said}, {pace.span(target.fast, target.slow)}"
    return f"{said}, {n.span(n.milliseconds(target.fast, 2), n.milliseconds(target.slow, 2))}"


def _speed(target: Target) -> bool:
    return target.name == "tpot" and pace.as_speed()


def _target_number(target: Target) -> str:
    if target.name == "users":
        return n.count(target.target)
    if _speed(target):
        return n.trimmed(n.figures(pace.scale(target.target).of(target.target)))
    return n.trimmed(n.milliseconds(target.target))


def _time(target: Target, value: float | None, digits: int = 3) -> str:
    """One of a target's times with its unit, as a speed where that is what the reader reads."""
    return pace.shown(value, digits) if target.name == "tpot" else n.seconds(value, digits)


def target_words(target: Target) -> tuple[str, str, str, str]:
    """Of a time: ceiling and estimate with their signs, the estimate's two ends, the ceiling in words, and the target."""
    speed = target.name == "tpot"
    side = pace.side() if speed else "least"
    ends = (target.slow, target.fast) if _speed(target) else (target.fast, target.slow)
    ceiling = _time(target, target.ceiling)
    return (
        f"{n.sign('ceiling', side)}{n.NBSP}{ceiling}, ≈{n.NBSP}{_time(target, target.typical, 2)}",
        " to ".join(_time(target, end, 2) for end in ends),
        n.bounded(ceiling, "ceiling", side),
        _target(target),
    )


def _target(target: Target) -> str:
    return n.trimmed(_time(target, target.target))


def _listed(names: list[str]) -> str:
    text = " and ".join(names)
    return text[:1].upper() + text[1:] + (" are" if len(names) > 1 else " is")


Tiles = list[tuple[str, str, str, str]]


def tiles(e: Evaluation) -> Tiles:
    """Label, value, note and help of the four headline figures."""
    found = {t.name: t for t in targets(e)}
    slow, fast = e.estimate["slow"], e.estimate["fast"]
    band = n.span(n.figures(slow.device_tokens_per_s, 2), n.figures(fast.device_tokens_per_s, 2))
    # The tile of each user's speed says it, of the mean of a reply.
    told = e.setup.scenario.batch > 1 and not pace.as_speed()
    users = f" · {n.figures(e.ceiling.user_tokens_per_s)} a user" if told else ""
    return [
        (
            "Device (tokens/s)",
            f"≤{n.NBSP}{n.figures(e.ceiling.device_tokens_per_s)}",
            f"{band}{users}",
            DEVICE_HELP,
        ),
        _first_token(e, found.get("ttft")),
        _per_token(e, found.get("tpot")),
        _fitting(e),
    ]


DEVICE_HELP = "Decode throughput of all sequences together at the scenario's context."


def _first_token(e: Evaluation, target: Target | None) -> tuple[str, str, str, str]:
    about = (
        "Prefill of the prompt tokens that are not cached; it emits the first token. Queueing is not in it."
    )
    value = float(e.ceiling.latency.ttft_s)
    scale, unit = n.time_scale(value)
    if e.setup.prefill.ceiling is None:
        return (
            f"First token ({unit})",
            f"≥{n.NBSP}{n.figures(value / scale)}",
            _unknown_note(e),
            about,
        )
    return f"First token ({unit})", f"≥{n.NBSP}{n.figures(value / scale)}", target_note(target), about


def _unknown_note(e: Evaluation) -> str:
    found = bracket(e.ceiling.prefill, e.setup.prefill)
    if found is None:
        return "by memory alone: no matrix rate is known"
    return f"FP16 rate unknown: {n.seconds(found.fast_s, 2)} to {n.seconds(found.slow_s, 2)} by its others"


def _per_token(e: Evaluation, target: Target | None) -> tuple[str, str, str, str]:
    value = float(e.ceiling.latency.tpot_s)
    about = "The reply's mean after the first token; a step at the scenario's context may take longer."
    if math.isnan(value):
        return pace.label(), n.UNKNOWN, "a reply of one token has none", about
    scale = pace.scale(value)
    shown = f"{pace.ceiling_sign()}{n.NBSP}{n.figures(scale.of(value))}"
    return pace.label(scale.unit), shown, target_note(target), about


def _fitting(e: Evaluation) -> tuple[str, str, str, str]:
    c = e.capacity
    at = f"{c.now:,} now, at {e.setup.scenario.depth:,} tokens"
    if c.usable is None:
        return "Sequences that fit", n.UNKNOWN, "memory is not known", ""
    if c.max_sequences is None:
        return "Sequences that fit", "any", at, ""
    mark = "" if c.fits else f"✕{n.NBSP}"
    return "Sequences that fit", n.count(c.max_sequences), f"{mark}{at}", ""


def step_alt(e: Evaluation) -> str:
    """The main figure for those who do not see it."""
    prefill = n.seconds(float(e.ceiling.prefill.seconds))
    return f"{step_title(e)}. Bars of memory and compute time for a decode step and a prefill; prefill takes at least {prefill}."


def targets_alt(e: Evaluation) -> str:
    """The targets figure for those who do not see it."""
    of = "times as shares of each target's" if pace.as_speed() else "as shares of each target"
    return f"{targets_title(e)}. Ceiling and estimate {of}, from 0 to above 100 %."


def memory_alt(e: Evaluation) -> str:
    """The memory figure for those who do not see it."""
    return f"{memory_title(e)}. A bar of weights and one box a sequence, up to {n.bytes_(e.capacity.usable)}."
