"""How requests share the device: batching, immediate release, a resident model, software that is as fast as usual."""

from __future__ import annotations

from slmopt.advice.gains import gain
from slmopt.advice.technique import Change, Technique
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.residency import ASSUMED_STORAGE_GBS, file_bytes, load_seconds, storage_gbs
from slmopt.words import numbers as n
from slmopt.words import pace


def fill_batch(s: Scenario) -> Change:
    """As many sequences as memory holds while the time per token stays within its target."""
    evaluation = evaluate(s)
    most = evaluation.capacity.max_sequences
    if most is None:
        return Change(None, "memory is not known, so neither is the largest batch")
    most = min(most, 100_000)
    if most <= s.batch:
        return Change(None, f"memory holds {most:,} such sequences and {s.batch:,} run already")
    best = _within_target(s, most)
    if best <= s.batch:
        aim = n.trimmed(pace.shown(s.target_tpot_s))
        return Change(None, f"{pace.inner(the=True)} is at its target of {aim} already")
    return Change(s.change(batch=best), f"{best:,} sequences at once")


def _within_target(s: Scenario, most: int) -> int:
    if s.target_tpot_ms is None:
        return most

    def meets(batch: int) -> bool:
        step = evaluate(s.change(batch=batch)).typical.latency.tpot_s
        return not float(step) > (s.target_tpot_ms or 0.0) / 1e3

    if meets(most):
        return most
    low, high = s.batch, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def release(s: Scenario) -> Change:
    """Finished sequences leave at once, and others take their place. Where they do, what a fixed group would lose.

    A fixed group waits for its longest reply (:mod:`slmopt.theory.static_groups`).
    """
    if s.batch < 2:
        return Change(None, "one sequence runs: no slot can stand idle beside it")
    if s.batching == "static":
        return Change(
            s.change(batching="continuous"),
            "slots are given on as soon as a reply ends",
            "" if s.output_spread is not None else _EXPONENTIAL,
        )
    worth = gain(s.change(batching="static"), s)
    lost = 1.0 / worth.throughput if worth.throughput else float("nan")
    return Change(
        None,
        f"in the estimate already; a fixed group of {s.batch:,} waits for its longest reply and would give "
        f"{n.figures(lost, 2)}× the tokens/s",
        "" if s.output_spread is not None else _EXPONENTIAL,
        worth=worth,
        standing=True,
    )


_EXPONENTIAL = "if reply lengths spread exponentially"


def keep_resident(s: Scenario) -> Change:
    """The model stays loaded. Where it does, what a cold start would cost: it reads the whole file first."""
    cold = s.change(residency="cold")
    setup = resolve(cold)
    rate = storage_gbs(setup)
    load, size = load_seconds(setup, "estimate"), file_bytes(setup)
    assumed = "" if rate is not None else f"if storage gives {ASSUMED_STORAGE_GBS:g} GB/s"
    if s.residency == "cold":
        return Change(
            s.change(residency="resident"),
            f"no wait of {n.seconds(load, 2)} for the file of {n.bytes_(size)}",
            assumed,
        )
    what = f"in the estimate already; a cold start adds {n.seconds(load, 2)} to load {n.bytes_(size)}"
    worth = gain(cold, s)
    if worth.ttft is None:
        return Change(None, what, assumed)
    return Change(None, what, assumed, worth=worth, standing=True)


def fix_software(s: Scenario) -> Change:
    """Fractions that are entered or fitted and below what nine of ten such devices reach, brought to the median."""
    own = resolve(s).factors
    usual = resolve(s.change(bandwidth_fraction=None, compute_fraction=None, calibration=None)).factors
    values: dict[str, object] = {}
    said = []
    pairs = (
        ("bandwidth", "bandwidth", own.bandwidth[1], usual.bandwidth),
        ("compute", "matrix rate", own.compute[1], usual.compute),
    )
    for name, words, had, (low, median, _) in pairs:
        if had < low:
            values[f"{name}_fraction"] = median
            said.append(f"{n.percent(median)} of the {words} in place of {n.percent(had)}")
    if not values:
        return Change(None, "what is reached is usual for such devices, as far as the scenario says")
    return Change(s.change(**values), ", ".join(said))


SOFTWARE = (
    Technique(
        "fix_software",
        "Fix the software",
        2,
        "software",
        "decode",
        "kernels, threads, power: time that neither bytes nor operations explain",
        "measuring, and another build or settings of the runtime",
        fix_software,
    ),
    Technique(
        "keep_resident",
        "Keep the model resident",
        2,
        "software",
        "prefill",
        "loading the weights before the first token",
        "memory that nothing else can use meanwhile",
        keep_resident,
    ),
)

SERVING = (
    Technique(
        "release",
        "Release finished sequences",
        7,
        "capacity",
        "decode",
        "slots that wait for the longest reply of their group",
        "an engine with continuous batching",
        release,
    ),
    Technique(
        "fill_batch",
        "Batch",
        7,
        "more_tokens",
        "decode",
        "one sequence for each reading of the weights",
        "each user's tokens come slower",
        fill_batch,
    ),
)
