"""Show the arithmetic: formulas with this scenario's numbers in them, one Markdown line a step."""

from __future__ import annotations

import math
from collections.abc import Callable

from slmopt.advice.gains import comparable, headline
from slmopt.advice.plan import Trial
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.interference import Interference
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.speculation import Speculation
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.calibrated import estimate_words
from slmopt.words.places import SIDES
from slmopt.words.scenario_line import sequences


def pass_lines(name: str, time: PassTime, roof: Roof) -> list[str]:
    """Memory time, compute time, the link's where there is one, and what decides, for one pass."""
    cost = time.cost
    cache = f" + cache {n.bytes_(float(cost.cache_bytes))}" if float(cost.cache_bytes) else ""
    attention = f" + attention {n.flops(float(cost.attention_flops))}" if float(cost.attention_flops) else ""
    moved = f"(weights {n.bytes_(float(cost.weight_bytes))}{cache})"
    done = f"(matrices {n.flops(float(cost.matmul_flops))}{attention})"
    memory, compute = float(time.memory_s), float(time.compute_s)
    lines = [
        (
            f"**{name}, memory**: {moved} / {_rate(float(cost.bytes), memory, roof.bandwidth, n.bytes_per_s)} "
            f"= {n.seconds(memory)}"
        ),
    ]
    if math.isnan(compute):
        return [*lines, f"**{name}, compute**: {n.flops(float(cost.flops))}; no matrix rate is known."]
    lines.append(
        f"**{name}, compute**: {done} / {_rate(float(cost.flops), compute, roof.peak, n.flops_per_s)} "
        f"= {n.seconds(compute)}"
    )
    link = float(time.link_s)
    if link:
        lines.append(
            f"**{name}, link**: {n.bytes_(float(cost.link_bytes))} over each device's link and "
            f"{n.figures(float(cost.messages))} messages = {n.seconds(link)}"
        )
    decides = "the longest of the three" if link else "max of the two"
    if roof.host is not None:
        decides = "card, then host, each as long as its longer side"
    return [
        *lines,
        (
            f"**{name}**: {decides} = {n.seconds(float(time.seconds))}, so {SIDES[time.bound]} decides; intensity "
            f"{n.figures(float(cost.intensity))} FLOP/byte against a ridge of {n.figures(roof.ridge)}"
        ),
    ]


def _rate(amount: float, seconds: float, published: float, words: Callable[[float], str]) -> str:
    """The rate at which an amount takes that time: the roof's, or the mean of memories and stages that take turns."""
    if not seconds or abs(amount / seconds / published - 1) < 1e-6:
        return words(published)
    return f"{words(amount / seconds)} (the mean of what takes turns)"


def overview(e: Evaluation) -> list[str]:
    """The Overview's figures."""
    s, c = e.setup.scenario, e.capacity
    lines = pass_lines("Decode step", e.ceiling.decode, e.ceiling.decode_roof)
    lines.append(
        f"**{'Device' if s.devices == 1 else 'Devices'}**: {s.batch:,} / {n.seconds(float(e.ceiling.decode.seconds))} = "
        f"{n.tokens_per_s(e.ceiling.device_tokens_per_s)}"
    )
    lines += pass_lines("Prefill", e.ceiling.prefill, e.ceiling.prefill_roof)
    lines += [estimate_line(e), *capacity_lines(e)] if c.usable is not None else [estimate_line(e)]
    return lines


def estimate_line(e: Evaluation) -> str:
    """How the estimate follows from the ceiling."""
    f = e.setup.factors
    fit = e.setup.scenario.fit
    if fit is not None:
        return f"**Estimate**: the same pass at {estimate_words(fit)}; {f.origin}"
    low, _, high = f.bandwidth
    c_low, _, c_high = f.compute
    fixed = f" + {n.seconds(f.fixed_s, 2)} fixed" if f.fixed_s else ""
    return (
        f"**Estimate**: the same pass at {n.percent(low)} to {n.percent(high)} of the bandwidth and "
        f"{n.percent(c_low)} to {n.percent(c_high)} of the matrix rate{fixed}; {f.origin}"
    )


def capacity_lines(e: Evaluation) -> list[str]:
    """Sequences that fit."""
    c, s = e.capacity, e.setup.scenario
    buffers = f" − buffers {n.bytes_(c.buffer_bytes)}" if c.buffer_bytes else ""
    shared = f" − held once {n.bytes_(c.shared_bytes)}" if c.shared_bytes else ""
    return [
        f"**A sequence**: {s.depth:,} tokens at {n.bytes_(c.bytes_per_token)} = {n.bytes_(c.bytes_per_sequence)}",
        (
            f"**Sequences that fit**: ({n.bytes_(c.usable)} − weights {n.bytes_(c.weight_bytes)}{buffers}{shared}) / "
            f"{n.bytes_(c.bytes_per_sequence)}, rounded down = {n.count(c.max_sequences)}"
        ),
    ]


def plan(e: Evaluation, trials: tuple[Trial, ...]) -> list[str]:
    """How each gain came about: the same pass before and after."""
    before = headline(e)
    lines = [
        (
            "Each technique changes the scenario, and the same pass is computed again: a gain is the old estimate over the new "
            "(for throughput and sequences the new over the old). Every technique stands alone; gains do not simply multiply. "
            "Another weight format is compared at the same share of the matrix rate and the same fixed time."
        )
    ]
    for trial in trials:
        if trial.change.after is None:
            continue
        after = headline(evaluate(comparable(e.setup.scenario, trial.change.after)))
        lines.append(
            f"**{trial.technique.name}** ({trial.change.what}): first token {n.seconds(before.ttft_s[1])} → "
            f"{n.seconds(after.ttft_s[1])}, {pace.inner()} {pace.shown(before.tpot_s)} → {pace.shown(after.tpot_s)}, device "
            f"{n.figures(before.device_tokens_per_s)} → {n.tokens_per_s(after.device_tokens_per_s)}, sequences "
            f"{n.count(before.sequences)} → {n.count(after.sequences)}"
        )
    return [*lines, estimate_line(e)]


def first_token(e: Evaluation, whole: Interference) -> list[str]:
    """The First token page's figures."""
    s = e.setup.scenario
    step = float(e.ceiling.decode.seconds)
    return [
        f"**Fed**: {s.prompt:,} prompt tokens − {s.prefix_hit:,} cached = {s.prompt - s.prefix_hit:,}",
        *pass_lines("Prefill", e.ceiling.prefill, e.ceiling.prefill_roof),
        (
            f"**Longest gap, whole prompt**: prefill {n.seconds(whole.ttft_s)} + a step {n.seconds(step)} = "
            f"{n.seconds(whole.gap_s)}"
        ),
        (
            "**In chunks**: each pass feeds one chunk beside everyone's next token; the gap is the longest such pass, the "
            "first token the sum of them"
        ),
        estimate_line(e),
    ]


def speculation(e: Evaluation, found: Speculation) -> list[str]:
    """The Speculation page's figures."""
    a, k = n.trimmed(n.figures(found.acceptance)), found.draft_tokens
    step = float(e.typical.decode.seconds)
    verify = (
        found.expected_tokens * step / found.speedup - k * found.cost_ratio * step
        if found.speedup
        else float("nan")
    )
    return [
        f"**Tokens a pass**: (1 − {a}^{k + 1}) / (1 − {a}) = {n.figures(found.expected_tokens)}"
        if found.acceptance < 1
        else f"**Tokens a pass**: all {k} drafted and the one that the target adds = {k + 1}",
        (
            f"**A step** {n.seconds(step)}; **a drafted token** {n.figures(found.cost_ratio)} of it; **checking {k} + 1 "
            f"positions** {n.seconds(verify)} (all estimates, at {sequences(e.setup.scenario.batch)} and "
            f"{e.setup.scenario.depth:,} tokens)"
        ),
        (
            f"**Speed-up**: {n.figures(found.expected_tokens)} × {n.seconds(step)} / ({k} × {n.seconds(found.cost_ratio * step)}"
            f" + {n.seconds(verify)}) = {n.factor(found.speedup)}"
        ),
        estimate_line(e),
    ]
