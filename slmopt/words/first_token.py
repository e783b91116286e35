"""What the First token page says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slmopt.advice.targets import targets
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.interference import Interference
from slmopt.theory.residency import file_bytes
from slmopt.theory.unknown import bracket
from slmopt.words import numbers as n
from slmopt.words.overview import target_note


def answer(e: Evaluation, bound_from: int | None) -> str:
    """What the first token waits for, loading and chunks included."""
    return f"{_prefill(e, bound_from)}{_served(e)}"


def _served(e: Evaluation) -> str:
    """What the engine's way to serve adds."""
    s, said = e.setup.scenario, ""
    if s.prefill_chunk_tokens is not None and s.prompt - s.prefix_hit > s.prefill_chunk_tokens:
        stall = e.ceiling.stall_s
        others = (
            "" if math.isnan(stall) else f", and the others stand still for at least **{n.seconds(stall)}**"
        )
        said += f" It comes in chunks of **{s.prefill_chunk_tokens:,}**{others}."
    load = e.typical.latency.load_s
    if load:
        said += f" Before that the model's file is loaded: about **{n.seconds(load, 2)}** for {n.bytes_(file_bytes(e.setup))}."
    return said


def _prefill(e: Evaluation, bound_from: int | None) -> str:
    s, time = e.setup.scenario, e.ceiling.prefill
    fed = s.prompt - s.prefix_hit
    least = f"at least **{n.seconds(float(time.seconds))}**"
    if e.setup.prefill.ceiling is None:
        return unknown_rate(e)
    cached = f" beside **{s.prefix_hit:,}** cached" if s.prefix_hit else ""
    if time.bound == "link":
        return f"The link between the devices decides the first token: **{fed:,}** prompt tokens{cached} take {least} to pass over it."
    if time.bound == "compute":
        from_words = "" if bound_from is None else f" (compute-bound from {bound_from:,} on)"
        return f"Arithmetic decides the first token{from_words}: **{fed:,}** prompt tokens{cached} take {least}, whatever the bits."
    return f"Reading the weights decides the first token: **{fed:,}** prompt tokens{cached} take {least}, so fewer bits help."


def unknown_rate(e: Evaluation) -> str:
    """The first token as a range where nobody published the rate."""
    ask = f"No {needed_rate(e)} rate is known for this chip"
    found = bracket(e.ceiling.prefill, e.setup.prefill)
    if found is None:
        least = n.seconds(float(e.ceiling.prefill.seconds))
        return f"{ask}: by memory alone the first token takes at least **{least}**. Enter the rate under Hardware."
    either = {
        "compute": "Arithmetic decides either way: fewer bits will not help.",
        "memory": "Memory decides either way.",
        None: "Enter yours under Hardware.",
    }[found.bound]
    return (
        f"{ask}: the first token takes **{n.seconds(found.fast_s, 2)}** at its {found.fast_rate} rate, "
        f"**{n.seconds(found.slow_s, 2)}** at its {found.slow_rate} rate. {either}"
    )


def needed_rate(e: Evaluation) -> str:
    """The operand type whose rate would settle it."""
    operand = e.setup.weights.multiplied_as
    return "FP16" if operand in ("fp16", "int8", "int4") else operand.upper()


def tiles(
    e: Evaluation, longest: tuple[int | None, int | None], all_cached_s: float
) -> list[tuple[str, str, str, str]]:
    """First token, what caching could give, the longest prompt within the target, the stall of others."""
    found = {t.name: t for t in targets(e)}
    value = float(e.ceiling.latency.ttft_s)
    scale, unit = n.time_scale(value)
    best, best_unit = n.time_scale(all_cached_s)
    target = e.setup.scenario.target_ttft_ms
    rate = e.setup.scenario.prompt / value if value else float("nan")
    tiles = [
        (f"First token ({unit})", f"≥{n.NBSP}{n.figures(value / scale)}", target_note(found.get("ttft")), ""),
        (
            f"All but one token cached ({best_unit})",
            f"≥{n.NBSP}{n.figures(all_cached_s / best)}",
            "the most that a prefix cache can give",
            "",
        ),
        (
            "Prompt rate (tokens/s)",
            f"≤{n.NBSP}{n.figures(rate)}",
            "prompt tokens over the first token's wait",
            "",
        ),
    ]
    if target is not None:
        ceiling, slow = longest
        words = "any" if ceiling is None else f"≤{n.NBSP}{n.count(ceiling)}"
        sure = "any length surely" if slow is None else f"{n.count(slow)} even at the slow estimate"
        tiles.append(
            (
                f"Prompt within {n.trimmed(n.figures(target))} ms (tokens)",
                words,
                sure,
                "The longest prompt, nothing of it cached, that meets the target.",
            )
        )
    return tiles


def prompt_title(e: Evaluation) -> str:
    """Finding of the first token against prompt length."""
    found = {t.name: t for t in targets(e)}
    time = e.ceiling.prefill
    if e.setup.prefill.ceiling is None:
        return "By memory alone; the matrix rate is not known"
    target = found.get("ttft")
    if target is None:
        return f"{e.setup.scenario.prompt:,} prompt tokens take at least {n.seconds(float(time.seconds))}"
    aim = n.trimmed(n.seconds(target.target))
    if target.verdict == "met":
        return f"{e.setup.scenario.prompt:,} tokens stay within {aim}, slow estimate included ✓"
    if target.verdict == "ceiling_only":
        return f"{e.setup.scenario.prompt:,} tokens meet {aim} only at the ceiling ◐"
    return f"{e.setup.scenario.prompt:,} tokens miss {aim} even at the ceiling ✕"


def hit_title(e: Evaluation, none_cached_s: float, all_cached_s: float) -> str:
    """Finding of the first token against what is cached."""
    if e.setup.prefill.ceiling is None:
        return "What a cached prefix gains depends on the unknown matrix rate"
    if none_cached_s / all_cached_s < 1.05:
        return "A prefix cache gains next to nothing here"
    return f"A cached prefix shortens the first token up to {n.figures(none_cached_s / all_cached_s)}×"


def gap_title(whole: Interference, step_s: float) -> str:
    """Finding of what a prompt does to those who decode."""
    return f"A whole prompt stalls those who decode for {n.figures(whole.gap_s / step_s)} steps"


def gap_rows(whole: Interference, pieces: Sequence[Interference]) -> list[tuple[str, Interference]]:
    """Names of the rows."""
    return [("Whole", whole), *((f"Chunks of {p.chunk:,}", p) for p in pieces)]
