"""What holds each metric back, in sentences for people who do not read rooflines; the numbers stay beside each claim."""

from __future__ import annotations

import math

from slmopt.advice.diagnosis import METRICS, PARTS, Diagnosis, Finding, Metric, Part
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.static_groups import steps_per_token
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import sequences

_METRIC_WORDS: dict[Metric, str] = {
    "ttft": "First token",
    "throughput": "Throughput",
    "capacity": "Sequences that fit",
}
PART_WORDS: dict[Part, str] = {
    "weights": "reading the weights",
    "cache": "reading the cache",
    "compute": "the matrix products",
    "attention": "attention's arithmetic",
    "capacity": "memory for more sequences",
    "fixed_time": "the fixed time of a pass",
    "software": "software",
    "queueing": "waiting for the requests before",
    "link": "the link between devices",
}
UNKNOWN_WHY = {
    "no_rate": "no matrix rate is known for this chip, so its side cannot be told: enter one under Hardware",
    "no_memory": "memory is not known: enter it under Hardware",
    "no_cache": "a sequence holds nothing, so memory sets no limit",
}


def metric_words(metric: Metric) -> str:
    """A metric's name."""
    return pace.name() if metric == "tpot" else _METRIC_WORDS[metric]


def sentences(e: Evaluation, found: Diagnosis) -> list[str]:
    """One Markdown sentence or two for each metric."""
    return [f"**{metric_words(metric)}**: {sentence(e, found, metric)}" for metric in METRICS]


def sentence(e: Evaluation, found: Diagnosis, metric: Metric) -> str:
    """What holds one metric back, how much of it that is, and what would be left."""
    finding = found[metric]
    if finding.part is None:
        return f"{UNKNOWN_WHY[finding.why]}."
    if finding.why == "rate_bracketed":
        return (
            f"{PART_WORDS[finding.part]} at every rate that this chip is known to have; enter its matrix rate to say by how "
            "much."
        )
    if finding.part == "software":
        return _software(finding)
    if finding.part == "queueing":
        return _queueing(e, found)
    if metric == "capacity":
        return _room(e, finding)
    if finding.part == "capacity":
        return _full(e, finding)
    whole = _whole(e, metric)
    many = finding.part == "compute"
    takes = "take" if many else "takes"
    text = f"{part_words(e, finding.part, metric)} {takes} {n.percent(finding.share)} of {whole}"
    return (
        f"{text}. {_if_removed(e, finding, 'them' if many else 'it')}{_idle(e, finding)}{_slots(e, metric)}"
    )


def _whole(e: Evaluation, metric: Metric) -> str:
    typical = e.typical
    if metric == "ttft":
        return f"about {n.seconds(float(typical.latency.ttft_s), 2)}"
    if metric == "tpot" and not math.isnan(float(typical.latency.tpot_s)):
        value = float(typical.latency.tpot_s)
        return (
            f"the time at about {pace.each(value, 2)}" if pace.as_speed() else f"about {pace.each(value, 2)}"
        )
    return f"a step of about {n.seconds(float(typical.decode.seconds), 2)} for {sequences(e.setup.scenario.batch)}"


def part_words(e: Evaluation, part: Part, metric: Metric) -> str:
    """A part in words, as it is made up in this scenario."""
    s = e.setup.scenario
    if part == "attention" and s.unfused:
        return "attention with scores that leave the chip"
    if part == "fixed_time" and metric == "ttft" and s.residency == "cold":
        return "loading the model from storage"
    return PART_WORDS[part]


def _slots(e: Evaluation, metric: Metric) -> str:
    """What fixed groups lose of throughput."""
    s = e.setup.scenario
    lost = float(steps_per_token(s, "estimate"))
    if metric != "throughput" or lost < 1.005:
        return ""
    return (
        f" A fixed group of {sequences(s.batch)} waits for its longest reply, {n.figures(lost)}× the mean: slots given on at once "
        f"would bring {n.factor(lost)}."
    )


def _if_removed(e: Evaluation, finding: Finding, it: str) -> str:
    assert finding.part is not None
    gain = finding.gains.get(finding.part)
    if gain is None:
        return ""
    if math.isinf(gain):
        return "Nothing else would be left."
    after = (
        f", and {part_words(e, finding.next_part, finding.metric)} would be next" if finding.next_part else ""
    )
    if gain < 1.05:
        return f"Without {it} hardly anything would be gained ({n.factor(gain)}){after}."
    return f"Without {it}: {n.factor(gain)}{after}."


def _idle(e: Evaluation, finding: Finding) -> str:
    """What is not worth attacking."""
    if finding.part in ("compute", "attention") and not e.setup.scenario.unfused:
        return " Fewer bytes would gain nothing."
    if finding.part in ("weights", "cache") and finding.gains.get("compute", 1.0) < 1.005:
        return " More arithmetic would gain nothing."
    return ""


def _software(finding: Finding) -> str:
    gain = n.factor(finding.gains["software"])
    beside = f" After that comes {PART_WORDS[finding.next_part]}." if finding.next_part else ""
    return (
        f"software: less is reached than the slowest tenth of such devices reach. Usual software would give {gain}; check "
        f"kernels, threads, power and what else runs before anything else.{beside}"
    )


def _queueing(e: Evaluation, found: Diagnosis) -> str:
    load = found.load
    assert load is not None
    rate = n.trimmed(n.figures(load.rate))
    if load.saturated == "prefill":
        return (
            f"waiting: at {rate} requests a second prefill alone needs {n.percent(load.prefill_share)} of the device, so the "
            "queue grows without end."
        )
    if load.saturated is not None:
        what = "decode cannot keep up" if load.saturated == "decode" else "memory holds too few sequences"
        return f"waiting: at {rate} requests a second {what}, so the queue grows without end."
    return (
        f"waiting: at {rate} requests a second a prompt waits about {n.seconds(load.wait_s, 2)} before its prefill of about "
        f"{n.seconds(float(e.typical.prefill.seconds), 2)}."
    )


def _room(e: Evaluation, finding: Finding) -> str:
    held = e.capacity
    if finding.part == "weights":
        if held.usable is not None and held.weight_bytes > held.usable:
            return f"the weights alone, {n.bytes_(held.weight_bytes)}, are more than the {n.bytes_(held.usable)} of memory."
        return (
            f"weights take {n.percent(finding.share)} of memory, so fewer bits make more room than a smaller cache. Without "
            f"them {n.factor(finding.gains['weights'])} the sequences would fit."
        )
    each = n.bytes_(held.bytes_per_sequence)
    return (
        f"the cache, {each} a sequence at {e.setup.scenario.depth:,} tokens: {n.count(held.max_sequences)} fit. Half the cache "
        "holds about twice as many."
    )


def _full(e: Evaluation, finding: Finding) -> str:
    held = e.capacity
    gain = finding.gains.get("capacity")
    more = f" Larger batches would approach {n.factor(gain)}." if gain and math.isfinite(gain) else ""
    if held.max_sequences is not None and held.now > held.max_sequences:
        return f"memory: {n.count(held.max_sequences)} of the {held.now:,} sequences fit.{more}"
    return f"memory: no more than {sequences(held.now)} fit, so each reading of the weights serves no more.{more}"


def table_markdown(found: Diagnosis) -> str:
    """Factors by which each metric would be better without each part."""
    shown = [part for part in PARTS if any(part in finding.gains for finding in found.findings.values())]
    head = f"| Without … | {' | '.join(metric_words(metric) for metric in METRICS)} |"
    rows = []
    for part in shown:
        cells = []
        for metric in METRICS:
            gain = found[metric].gains.get(part)
            text = n.UNKNOWN if gain is None else "no limit" if math.isinf(gain) else f"{n.figures(gain)}×"
            cells.append(f"**{text}**" if found[metric].part == part else text)
        rows.append(f"| {PART_WORDS[part]} | {' | '.join(cells)} |")
    return "\n".join([head, "|---|" + "---|" * len(METRICS), *rows])
