"""What the Plan says: the articles' order of operations, filled in for this scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slmopt.advice.diagnosis import Diagnosis
from slmopt.advice.limits import WHOLE, limit
from slmopt.advice.plan import Trial, leading
from slmopt.advice.technique import WORTH, Pile
from slmopt.theory.evaluation import Evaluation
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import sequences

METRICS = ("ttft", "tpot", "throughput", "capacity")
_METRIC_NAMES = {
    "ttft": "First token",
    "throughput": "Throughput",
    "capacity": "Sequences",
    "gap": "Longest stall",
}
GAP = "gap"
"""A metric of its own where others decode while a prompt comes in."""
PILES: dict[Pile, str] = {
    "fewer_bytes": "move fewer bytes per token",
    "more_tokens": "get more tokens per byte moved",
    "capacity": "free capacity for a larger batch",
    "prefill": "outside the piles: prefill",
    "software": "outside the piles: software",
    "hardware": "outside the piles: another device",
}
PHASES = {"decode": "decode", "prefill": "prefill", "capacity": "capacity"}


def metric_name(metric: str) -> str:
    """A metric's name."""
    return pace.name() if metric == "tpot" else _METRIC_NAMES[metric]


def metrics(trials: Sequence[Trial]) -> tuple[str, ...]:
    """The metrics that are told of these trials: the longest stall only where it is known."""
    stalls = any(t.gain is not None and t.gain.gap is not None for t in trials)
    return (*METRICS, GAP) if stalls else METRICS


def best(trials: tuple[Trial, ...], metric: str) -> Trial | None:
    """The technique that alone gains most on a metric, one that rests on assumed figures only where no other gains.

    None where nothing gains.
    """
    helping = [t for t in leading(trials) if metric in t.helps]
    return max(helping, key=lambda t: (not t.change.assumed, value(t, metric))) if helping else None


def value(trial: Trial, metric: str) -> float:
    """The factor gained; NaN where it cannot be said."""
    found = None if trial.gain is None else getattr(trial.gain, metric)
    return float("nan") if found is None else float(found)


def answer(trials: tuple[Trial, ...]) -> str:
    """What to do first here."""
    stream, first = best(trials, "tpot"), best(trials, "ttft")
    if stream is None and first is None:
        room = best(trials, "capacity") or best(trials, "throughput")
        if room is None:
            return "No technique of this list gains anything here: what is left is another device or another model."
        metric = "capacity" if "capacity" in room.helps else "throughput"
        return f"Only room is to be gained here: **{_lower(room.technique.name)}**, {_gain_words(metric, value(room, metric))}."
    parts = []
    if stream is not None:
        passes = ", if your evaluation passes" if stream.technique.evaluate_quality else ""
        parts.append(
            f"{_lower(stream.technique.name)} for streaming (**{n.factor(value(stream, 'tpot'))}**{passes})"
        )
    if first is not None:
        rests = f", {first.change.assumed}" if first.change.assumed else ""
        parts.append(
            f"{_lower(first.technique.name)} for the first token (**{n.factor(value(first, 'ttft'))}**{rests})"
        )
    text = ", and ".join(parts)
    return f"{text[:1].upper()}{text[1:]}: the largest single gains here, as estimates."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def tiles(trials: tuple[Trial, ...]) -> list[tuple[str, str, str, str]]:
    """The best single technique for each metric."""
    found = []
    for metric in METRICS:
        trial = best(trials, metric)
        gained = n.figures(value(trial, metric)) + "×" if trial else "1×"
        note = trial.technique.name if trial else "nothing here gains"
        found.append(
            (
                metric_name(metric),
                gained,
                note,
                f"The largest gain of one technique alone, a ratio of estimates.{_if(trial)}",
            )
        )
    return found


def _if(trial: Trial | None) -> str:
    return f" {trial.change.what}, {trial.change.assumed}." if trial and trial.change.assumed else ""


def matrix_title(trials: tuple[Trial, ...]) -> str:
    """Finding of the matrix."""
    idle = [t for t in trials if not t.helps]
    one_sided = [t for t in trials if t.helps and "tpot" in t.helps and "ttft" not in t.helps]
    if one_sided and any("ttft" in t.helps and "tpot" not in t.helps for t in trials):
        return "What speeds up streaming leaves the first token, and the reverse"
    if idle:
        return f"{len(idle)} of {len(trials)} techniques gain nothing here"
    return f"All {len(trials)} techniques gain something here"


def matrix_alt(trials: tuple[Trial, ...]) -> str:
    """The matrix for those who do not see it."""
    said = [f"{t.technique.name}: {here(t)}" for t in trials]
    return f"{matrix_title(trials)}. {'; '.join(said)}."


def here(trial: Trial) -> str:
    """What the technique does here, short."""
    if trial.gain is None:
        return trial.change.what
    helps = trial.helps
    gains = [_gain_words(metric, value(trial, metric)) for metric in METRICS if metric in helps]
    losses = [
        _gain_words(metric, value(trial, metric)) for metric in METRICS if value(trial, metric) <= 1 / WORTH
    ]
    if trial.gain.gap is not None and trial.gain.gap >= WORTH * max(1.0, trial.gain.ttft or 1.0):
        gains.append(f"a stall of the others {n.figures(trial.gain.gap)}× shorter")
    held = trial.gain.memory or 1.0
    if held >= WORTH:
        gains.append(f"{n.percent(1.0 - 1.0 / held)} less memory held")
    elif held <= 1 / WORTH:
        losses.append(f"{n.percent(1.0 / held - 1.0)} more memory")
    text = ", ".join(gains) if gains else "gains nothing"
    if losses:
        text += f"; costs {', '.join(losses)}"
    return text


def _gain_words(metric: str, factor: float) -> str:
    if factor == float("inf"):
        return "fits where nothing did" if metric == "capacity" else "unbounded"
    if metric == "tpot":
        return pace.changed(factor)
    if metric == "ttft":
        return f"first token {n.figures(factor if factor >= 1 else 1 / factor)}× {'shorter' if factor >= 1 else 'longer'}"
    what = "tokens/s of the device" if metric == "throughput" else "sequences"
    return f"{n.figures(factor)}× the {what}"


def steps(e: Evaluation, trials: tuple[Trial, ...]) -> list[str]:
    """The order of operations as numbered sentences."""
    s = e.setup.scenario
    slow, ceiling = e.estimate["slow"], e.ceiling
    lines = [
        (
            f"**Measure.** TTFT and TPOT at p50 and p95, tokens/s and peak memory, with {s.prompt:,} + {s.output:,} tokens "
            f"and {sequences(s.batch)}, as in production."
        ),
        (
            f"**Compare with the ceiling**, at most {n.tokens_per_s(ceiling.user_tokens_per_s)} per user. Below about "
            f"{n.tokens_per_s(slow.user_tokens_per_s, 2)} fix the software first: kernels, threads, residency."
        ),
    ]
    for number, names in (
        (2, "Software"),
        (3, "Quantise the weights"),
        (4, "Cap and shrink the cache"),
        (5, "Cache prefixes"),
        (6, "Speculate"),
        (7, "Batch and schedule"),
    ):
        found = [t for t in leading(trials) if t.technique.step == number]
        lines.append(f"**{names}.** " + " ".join(_sentence(e, t, alone=len(found) == 1) for t in found))
    return lines


def _sentence(e: Evaluation, trial: Trial, *, alone: bool) -> str:
    name = "" if alone else f"{trial.technique.name}: "
    if trial.gain is None:
        return (
            f"{name}nothing to do: {trial.change.what}." if name else f"Nothing to do: {trial.change.what}."
        )
    text = f"{name}{trial.change.what}{', ' + trial.change.assumed if trial.change.assumed else ''}: {here(trial)}."
    text = text[:1].upper() + text[1:]
    why = idle_reason(e, trial)
    return f"{text} {why}" if why else text


def idle_reason(e: Evaluation, trial: Trial) -> str:
    """Why the technique does nothing for the phase that it does not help; empty where there is nothing to explain."""
    typical = e.typical
    if trial.technique.pile == "fewer_bytes" and "ttft" not in trial.helps and "tpot" in trial.helps:
        if typical.prefill.bound == "compute":
            return "It leaves the first token: prefill is compute-bound."
        return ""
    if trial.technique.phase == "decode" and "tpot" not in trial.helps and trial.technique.id != "fill_batch":
        if typical.decode.bound == "compute":
            return "A decode step is compute-bound here, so fewer bytes gain nothing."
        if trial.technique.id in ("quantise_cache", "group_heads"):
            share = float(typical.decode.cost.cache_bytes) / float(typical.decode.cost.bytes)
            return f"Cached tokens are {n.percent(share)} of the bytes that a step moves."
    if trial.technique.id == "cache_prefix" and "tpot" not in trial.helps:
        return "It leaves streaming: each step still reads the whole context."
    return ""


def stops(e: Evaluation, trial: Trial, found: Diagnosis) -> str:
    """After what the technique stops helping: what the other side would leave, however far it is taken."""
    if trial.gain is not None and trial.technique.id in WHOLE:
        return "all of it at once: there is no more to take"
    told = limit(e, trial, found)
    if told is None:
        return ""
    metric, most = told
    if math.isinf(most):
        return "no limit"
    return f"{metric_name(metric).lower()} at most {n.figures(most)}×, {_FAR.get(trial.technique.id, _FAR_ENOUGH)}"


_FAR_ENOUGH = "however far it is taken"
_FAR = {
    "cache_prefix": "with all but the last token cached",
    "trim_prompt": "with one token left",
    "speculate": "with every token accepted",
    "speculate_ngram": "with every token accepted",
    "speculate_heads": "with every token accepted",
    "chunk_prefill": "with chunks of one token",
}


def price(e: Evaluation, trial: Trial, found: Diagnosis) -> str:
    """A technique's pile, what it asks in return, and after what it stops helping, in one sentence."""
    end = stops(e, trial, found)
    pile = PILES[trial.technique.pile]
    return f"{trial.technique.name}: {pile}; costs: {trial.technique.cost}{f'; {end}' if end else ''}."
