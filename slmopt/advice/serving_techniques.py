"""How requests share the device: batching, immediate release, a resident model, software that is as fast as usual."""

from __future__ import annotations

from dataclasses import replace

from slmopt.advice.technique import NOTHING, Change, Technique
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.words import numbers as n

# Cold loads of single cards from NVMe run at 1.0 to 4.6 GB/s (reference serving_effects.csv, S7-0037 to -0054, one card).
ASSUMED_STORAGE_GBS = 2.0


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
        return Change(None, f"the time per token is at its target of {s.target_tpot_ms:g} ms already")
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
    """Finished sequences leave at once, and others take their place: what this estimate assumes.

    A fixed group waits for its longest reply. With lengths spread exponentially around the mean the longest of B is
    1 + 1/2 + … + 1/B times the mean, and the slots stand idle for the rest.
    """
    if s.batch < 2:
        return Change(None, "one sequence runs: no slot can stand idle beside it")
    longest = sum(1.0 / k for k in range(1, min(s.batch, 100_000) + 1))
    return Change(
        None,
        f"in the estimate already; a fixed group of {s.batch:,} waits for its longest reply and would give "
        f"{n.figures(1 / longest, 2)}× the tokens/s",
        "if reply lengths spread exponentially",
        worth=replace(NOTHING, throughput=longest),
        standing=True,
    )


def keep_resident(s: Scenario) -> Change:
    """The model stays loaded: what this estimate assumes. A cold start reads the whole file first."""
    setup = resolve(s)
    known = setup.device.storage_gbs
    rate = known or ASSUMED_STORAGE_GBS
    load = setup.weight_bytes / (rate * 1e9)
    what = f"in the estimate already; a cold start adds {n.seconds(load, 2)} to load {n.bytes_(setup.weight_bytes)}"
    assumed = "" if known else f"if storage gives {n.trimmed(n.figures(rate))} GB/s"
    if setup.prefill.estimate is None:
        return Change(None, what, assumed)
    first = float(evaluate(s).typical.prefill.seconds)
    worth = replace(NOTHING, ttft=(load + first) / first)
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
