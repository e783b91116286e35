"""An evaluation as aligned text: the answer first, then both phases with the kind of every number in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from slmopt.cli.output import aligned
from slmopt.cli.phases import fits, prefill_seconds, sources
from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.theory.roof import PassTime
from slmopt.words import numbers
from slmopt.words.numbers import NBSP
from slmopt.words.places import SIDES, devices_words, offload_words, place_words

Row = list[str]
Side = str
Get = Callable[[Phases], float | None]


def estimate_lines(evaluation: Evaluation, assumed: tuple[str, ...]) -> list[str]:
    """The human output of ``estimate``."""
    rows: list[Row] = [["", "ceiling", "estimate", "p10 to p90"]]
    rows += [*_decode_rows(evaluation), [], *_prefill_rows(evaluation), [], *_reply_rows(evaluation), []]
    rows += [*_batching_rows(evaluation), []]
    if evaluation.setup.scenario.acceptance is not None:
        rows += [*_speculation_rows(evaluation), []]
    rows += _capacity_rows(evaluation)
    lines = [_scenario_line(evaluation), "", *_answer(evaluation), "", *aligned(rows), "", "Sources"]
    lines += [f"  {note}" for note in sources(evaluation)]
    if assumed:
        lines += ["", "Assumed", *(f"  {note}" for note in assumed)]
    return lines


def _scenario_line(evaluation: Evaluation) -> str:
    s, setup = evaluation.setup.scenario, evaluation.setup
    cache = (
        setup.cache_k.name
        if setup.cache_v == setup.cache_k
        else f"{setup.cache_k.name} and {setup.cache_v.name}"
    )
    parts = [
        setup.model.name,
        f"{setup.weights.name} weights",
        f"{cache} cache",
        devices_words(setup),
        f"{s.prompt:,} + {s.output:,} tokens",
        "1 sequence" if s.batch == 1 else f"{s.batch:,} sequences",
    ]
    return " · ".join(parts)


def _answer(evaluation: Evaluation) -> Iterator[str]:
    best = evaluation.ceiling
    whose = "per user" if evaluation.setup.scenario.batch > 1 else ""
    speed = f"at most {numbers.tokens_per_s(best.user_tokens_per_s)} {whose}".rstrip()
    first = f"at least {numbers.seconds(_f(best.latency.ttft_s))}"
    if math.isnan(float(best.prefill.compute_s)):
        yield f"Decode gives {speed}, and the first token takes {first}: by memory alone."
        yield "No matrix rate is known for these operands; with one, both can only be slower."
    else:
        yield f"Decode is limited by {SIDES[best.decode.bound]}: {speed}."
        loaded = ", loading included" if best.latency.load_s else ""
        yield f"The first token is limited by {SIDES[best.prefill.bound]}: it takes {first}{loaded}."
    held = evaluation.capacity
    if fits(evaluation) is False:
        most = held.max_sequences or 0
        if most == 0 and held.usable is not None and held.fixed_bytes > held.usable:
            weights = held.weight_bytes + held.draft_bytes
            yield (
                f"It does not fit: weights of {numbers.bytes_(weights)} in {numbers.bytes_(held.usable)} of memory."
            )
        else:
            yield f"It does not fit: {most:,} of {held.now:,} sequences do."


def _decode_rows(evaluation: Evaluation) -> Iterator[Row]:
    s = evaluation.setup.scenario
    yield [f"Decode step, {_sequences(s.batch)} at {s.depth:,} cached tokens"]
    yield [
        "  limited by",
        _bound(evaluation.ceiling.decode),
        _bound(evaluation.typical.decode),
    ]
    yield _row(evaluation, "  time", "least", numbers.seconds, lambda p: _f(p.decode.seconds))
    yield from _sides(evaluation, lambda p: p.decode)
    if s.batch > 1:
        yield _row(evaluation, "  speed per device", "most", _rate, lambda p: p.device_tokens_per_s)
    yield _row(evaluation, "  speed per user", "most", _rate, lambda p: p.user_tokens_per_s)


def _prefill_rows(evaluation: Evaluation) -> Iterator[Row]:
    s = evaluation.setup.scenario
    fed = s.prompt - s.prefix_hit
    after = f" after {s.prefix_hit:,} cached ones" if s.prefix_hit else ""
    yield [f"Prefill of {fed:,} tokens{after}"]
    yield [
        "  limited by",
        _bound(evaluation.ceiling.prefill),
        _bound(evaluation.typical.prefill),
    ]
    yield _row(evaluation, "  time", "least", numbers.seconds, prefill_seconds)
    yield from _sides(evaluation, lambda p: p.prefill)
    yield _row(evaluation, "  prompt speed", "most", _rate, lambda p: fed / prefill_seconds(p))


def _sides(evaluation: Evaluation, step: Callable[[Phases], PassTime]) -> Iterator[Row]:
    cost = step(evaluation.ceiling).cost
    yield _row(
        evaluation, "  memory side", "least", numbers.seconds, lambda p: _f(step(p).memory_s), spread=False
    )
    yield _row(
        evaluation, "  compute side", "least", numbers.seconds, lambda p: _f(step(p).compute_s), spread=False
    )
    if evaluation.setup.scenario.devices > 1:
        yield _row(
            evaluation, "  link side", "least", numbers.seconds, lambda p: _f(step(p).link_s), spread=False
        )
    yield ["  weights read", f"at least {numbers.bytes_(_f(cost.weight_bytes))}"]
    yield ["  cache read", f"at least {numbers.bytes_(_f(cost.cache_bytes))}"]
    yield ["  operations", f"at least {numbers.flops(_f(cost.flops))}"]


def _reply_rows(evaluation: Evaluation) -> Iterator[Row]:
    s = evaluation.setup.scenario
    yield [f"Reply of {s.output:,} tokens"]
    yield _row(
        evaluation, "  first token", "least", numbers.seconds, lambda p: _with_prefill(p, p.latency.ttft_s)
    )
    if s.residency == "cold":
        yield _row(
            evaluation,
            "  of it, loading the file",
            "least",
            numbers.seconds,
            lambda p: p.latency.load_s,
            spread=False,
        )
    if s.decodes_beside:
        yield _row(
            evaluation,
            "  longest stall of the others",
            "least",
            numbers.seconds,
            lambda p: _with_prefill(p, p.stall_s),
        )
    if s.output > 1:
        yield _row(
            evaluation, "  each further token", "least", numbers.seconds, lambda p: _f(p.latency.tpot_s)
        )
    yield _row(
        evaluation, "  whole reply", "least", numbers.seconds, lambda p: _with_prefill(p, p.latency.reply_s)
    )


def _batching_rows(evaluation: Evaluation) -> Iterator[Row]:
    best, usual = evaluation.ceiling.crossover, evaluation.typical.crossover
    yield ["Batching"]
    if best.throughput_limit is None:
        yield ["  no crossover is known: the device states no rate for these operands"]
        return
    yield ["  compute decides above", _batch(best.batch), _about(_batch(usual.batch), usual.batch)]
    yield [
        "  by weights alone above",
        _batch(best.weights_only),
        _about(_batch(usual.weights_only), usual.weights_only),
    ]
    yield ["  memory decides always beyond", _context(best.context_limit), _context(usual.context_limit)]
    yield _row(evaluation, "  large batches approach", "most", _rate, lambda p: p.crossover.throughput_limit)


def _speculation_rows(evaluation: Evaluation) -> Iterator[Row]:
    s = evaluation.setup.scenario
    ideal, usual = evaluation.ceiling.speculation, evaluation.typical.speculation
    yield [f"Speculation, {s.draft_tokens} drafted, acceptance {s.acceptance:g}", "ideal", "estimate"]
    if ideal is None or usual is None:
        yield ["  give --draft-cost or --draft-model for the speed-up"]
        return
    yield ["  tokens a pass", numbers.figures(ideal.expected_tokens), numbers.figures(usual.expected_tokens)]
    yield ["  speed-up", numbers.factor(ideal.speedup), f"about {numbers.factor(usual.speedup)}"]
    yield ["  best draft length", str(ideal.best_draft_tokens), str(usual.best_draft_tokens)]
    yield ["  break-even acceptance", _share(ideal.break_even), _share(usual.break_even)]


def _capacity_rows(evaluation: Evaluation) -> Iterator[Row]:
    held, s = evaluation.capacity, evaluation.setup.scenario
    yield [f"Memory{place_words(evaluation.setup, held.place)}"]
    if evaluation.setup.host is not None:
        yield [f"  {offload_words(evaluation.setup)}"]
    yield ["  weights", numbers.bytes_(held.weight_bytes)]
    if held.draft_bytes:
        yield ["  weights that draft", numbers.bytes_(held.draft_bytes)]
    yield ["  cache a token", numbers.bytes_(held.bytes_per_token)]
    yield [f"  cache a sequence of {s.depth:,} tokens", numbers.bytes_(held.bytes_per_sequence)]
    if held.usable is None:
        yield ["  sequences that fit", f"{numbers.UNKNOWN} (the device states no memory: give --capacity-gb)"]
        return
    yield ["  usable memory", numbers.bytes_(held.usable)]
    most = (
        "any number (no cache is described)"
        if held.max_sequences is None
        else numbers.count(held.max_sequences)
    )
    yield ["  sequences that fit", most]


def _row(
    evaluation: Evaluation, label: str, side: str, fmt: Callable[..., str], get: Get, *, spread: bool = True
) -> Row:
    best = get(evaluation.ceiling)
    row = [label, _bounded(fmt(best), best, side)]
    usual = get(evaluation.typical)
    row.append(_about(fmt(usual, 2), usual))
    if spread and usual is not None and math.isfinite(usual):
        slow, fast = get(evaluation.estimate["slow"]), get(evaluation.estimate["fast"])
        low, high = (slow, fast) if side == "most" else (fast, slow)
        row.append(_span(fmt(low, 2), fmt(high, 2)) if low != high else "")
    return row


def _span(low: str, high: str) -> str:
    number, _, unit = low.partition(NBSP)
    return f"{number if high.endswith(unit) else low} to {high}"


def _bounded(text: str, value: float | None, side: str) -> str:
    known = value is not None and math.isfinite(value)
    return f"at {side} {text}" if known else text


def _about(text: str, value: float | None) -> str:
    return f"about {text}" if value is not None and math.isfinite(value) else text


def _rate(value: float | None, digits: int = 3) -> str:
    return (
        numbers.tokens_per_s(value, digits) if value is not None and math.isfinite(value) else numbers.UNKNOWN
    )


def _bound(step: PassTime) -> str:
    return numbers.UNKNOWN if math.isnan(float(step.compute_s)) else SIDES[step.bound]


def _batch(value: float | None) -> str:
    return numbers.NEVER if value is None else f"batch{NBSP}{numbers.figures(value)}"


def _context(value: float | None) -> str:
    return numbers.NEVER if value is None else f"{numbers.count(value)} cached tokens"


def _share(value: float | None) -> str:
    return numbers.NEVER if value is None else numbers.figures(value, 2)


def _sequences(batch: int) -> str:
    return "1 sequence" if batch == 1 else f"{batch:,} sequences"


def _with_prefill(phases: Phases, value: object) -> float:
    return _f(value) if math.isfinite(prefill_seconds(phases)) else math.nan


def _f(value: object) -> float:
    return float(value)  # type: ignore[arg-type]
