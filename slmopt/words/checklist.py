"""The checklist's sentences: what to do or to beware of, with the scenario's own numbers in it."""

from __future__ import annotations

from slmopt.advice.checklist import Item
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import sequences

HEADS = {"next": "What to do next", "failure": "What goes wrong"}
MARK = {"done": "✓", "open": "✕", "ask": "○"}
LEGEND = "✓ the scenario shows it · ✕ it shows that it is not done · ○ only you know"


def text(item: Item) -> str:
    """The item as one or two plain sentences."""
    return _TEXTS[item.id](item)


def line(item: Item, *, ticked: bool = False) -> str:
    """With its mark, as it stands in a report; ``ticked`` by the user."""
    if ticked and item.state != "done":
        return f"{MARK['done']} {text(item)} (ticked by hand)"
    return f"{MARK[item.state]} {text(item)}"


def _number(item: Item, name: str) -> float | None:
    found = item.numbers.get(name)
    return None if found is None or isinstance(found, str) else float(found)


def _targets(item: Item) -> str:
    first, token = _number(item, "ttft_ms"), _number(item, "tpot_ms")
    if first is not None and token is not None:
        return (
            f"Two targets are written down: {n.trimmed(n.figures(first))} ms to the first token{_at_p95()} and "
            f"{n.trimmed(pace.each(token / 1e3))}{' at p5' if pace.as_speed() else ', at p95'}."
        )
    each = f"{pace.inner()} at p5" if pace.as_speed() else "a time per token at p95"
    return f"Write two targets for your product: a first token{_at_p95()} and {each}, on your device."


def _at_p95() -> str:
    """The two targets share their percentile only as times."""
    return " at p95" if pace.as_speed() else ""


def _measure(item: Item) -> str:
    shape = f"{n.count(_number(item, 'prompt'))} + {n.count(_number(item, 'output'))} tokens"
    if item.state == "done":
        return "Measurements of this model on this device are loaded."
    return f"Run the harness on prompts shaped like production ({shape}), after a warm-up and until temperatures settle."


def _compare(item: Item) -> str:
    ceiling = n.tokens_per_s(_number(item, "ceiling"))
    fraction = _number(item, "fraction")
    if fraction is None:
        return f"Compare the measured speed with the ceiling, at most {ceiling} per user."
    return (
        f"Measured decode reaches {n.percent(fraction)} of its ceiling; per user that ceiling is {ceiling}."
    )


def _software(item: Item) -> str:
    fraction, usual = _number(item, "fraction"), _number(item, "usual")
    if fraction is None or usual is None:
        return "Close any large software gap before touching the model: kernels, threads, residency."
    if item.state == "open":
        return f"Close the software gap first: {n.percent(fraction)} of the ceiling where {n.percent(usual)} is usual."
    return f"Software is not the gap: {n.percent(fraction)} of the ceiling where {n.percent(usual)} is usual."


def _quantise(item: Item) -> str:
    bits = n.trimmed(n.figures(_number(item, "bits")))
    if item.state == "done":
        return f"Weights take {bits} bits; re-run your task evaluation at each precision."
    return f"Weights take {bits} bits: quantise to the lowest precision that passes your task evaluation."


def _prefix(item: Item) -> str:
    hit, prompt = n.count(_number(item, "hit")), n.count(_number(item, "prompt"))
    if item.state == "done":
        return f"{hit} of {prompt} prompt tokens come from a cached prefix."
    late = "The first token misses its target: " if item.state == "open" else ""
    told = f"measure the prompt's length ({prompt} tokens here), cache shared prefixes and trim the system prompt."
    return f"{late}{told}" if late else f"{told[:1].upper()}{told[1:]}"


def _last(item: Item) -> str:
    if item.state == "done":
        drafted, batch = _number(item, "drafted") or 0, int(_number(item, "batch") or 1)
        parts = [f"{n.count(drafted)} tokens are drafted"] if drafted else []
        parts += [f"{sequences(batch)} run together"] if batch > 1 else []
        return f"{' and '.join(parts)}: keep it only if the harness and the quality evaluation both improve."
    return "Only then try speculation or batching; keep each only if harness and quality evaluation both improve."


def _shape(item: Item) -> str:
    shape = f"{n.count(_number(item, 'prompt'))} + {n.count(_number(item, 'output'))} tokens"
    return f"Wrong shape: short prompts hide prefill and cache growth. This scenario has {shape}; take those of production."


def _throttling(item: Item) -> str:
    if item.state == "done":
        return (
            "Throttling: rare on a device of this class with working cooling; still report sustained numbers."
        )
    return "Throttling: phones and laptops sustain their peak for seconds. Run long, and report sustained numbers."


def _quality(item: Item) -> str:
    name, score = str(item.numbers.get("format")), _number(item, "score")
    if score is not None:
        return f"Quality: {name} scores {n.trimmed(n.figures(score))} on your task."
    if item.state == "done":
        return f"Quality: {name} keeps 16 bits or more, so nothing is lost by its format."
    return f"Quality: nobody entered an evaluation of {name}. Evaluate the task, its output format and arithmetic."


def _pressure(item: Item) -> str:
    share, held, usable = (_number(item, name) for name in ("share", "held", "usable"))
    if share is None:
        return f"Memory pressure: {n.bytes_(held)} are held, and the device's memory is not known."
    told = f"Memory pressure: {n.bytes_(held)} of {n.bytes_(usable)} are held ({n.percent(share)})"
    return (
        f"{told}, which leaves room for the rest."
        if item.state == "done"
        else f"{told}: leave room for the rest."
    )


def _cold(item: Item) -> str:
    load, file, rate = (_number(item, name) for name in ("load_s", "file", "gbs"))
    assumed = " (assumed)" if item.numbers.get("assumed") else ""
    return (
        f"Cold start: loading {n.bytes_(file)} takes about {n.seconds(load, 2)} at "
        f"{n.trimmed(n.figures(rate))} GB/s{assumed}. Load once, keep it resident, measure the cold path apart."
    )


def _tokenizer(item: Item) -> str:
    target, draft = _number(item, "target"), _number(item, "draft")
    if not _number(item, "drafted"):
        return "Mismatched tokenizers: nothing is drafted."
    if draft is None:
        return (
            "Mismatched tokenizers: no draft model is named; n-grams and built-in heads share the target's."
        )
    if not target or not draft:
        return "Mismatched tokenizers: a vocabulary is not known; check that draft and target share one."
    if item.state == "ask":
        return f"Mismatched tokenizers: both vocabularies have {n.count(target)} entries; check that they are the same."
    return (
        f"Mismatched tokenizers: the target's vocabulary has {n.count(target)} entries and the draft's {n.count(draft)}, so "
        "tokens must be mapped, or drafting fails."
    )


_TEXTS = {
    "targets": _targets,
    "measure": _measure,
    "compare": _compare,
    "software": _software,
    "quantise": _quantise,
    "prefix": _prefix,
    "last": _last,
    "shape": _shape,
    "throttling": _throttling,
    "quality": _quality,
    "pressure": _pressure,
    "cold_start": _cold,
    "tokenizer": _tokenizer,
}
