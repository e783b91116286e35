"""What is said of drafting in depth."""

from __future__ import annotations

from slmopt.advice.drafts import Checks, Way
from slmopt.specs.setup import Setup
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.memory import Capacity
from slmopt.words import numbers as n
from slmopt.words.scenario_line import escape

WAYS = {
    "own": "As the scenario drafts",
    "tree": "A tree of it",
    "ngram": "N-grams of the text",
    "heads": "Built-in heads",
}
NOTES = {
    "own": "one chain",
    "tree": "candidates taken as independent: ideal",
    "ngram": "acceptance of prompt look-up on Spec-Bench; far more on edits and summaries",
    "heads": "acceptance of multi-token heads of a 27B; trained for the model",
}


def accepted_title(acceptance: float, draft_tokens: int, tokens: float) -> str:
    """Finding of the accepted tokens."""
    return f"Of {draft_tokens} drafted, **{n.figures(tokens - 1)}** are accepted on average at {n.trimmed(n.figures(acceptance))}"


def checking_title(found: Checks) -> str:
    """Finding of what checking costs."""
    at = min(4, len(found.positions) - 1)
    step = float(found.by_pass[0])
    return f"Checking {int(found.positions[at])} positions takes **{n.figures(float(found.typical[at]) / step)}** steps, typically"


def ways_markdown(rows: tuple[Way, ...]) -> str:
    """Ways to draft as a Markdown table; speed-ups at the best length of each, in brackets."""
    entered = any(row.entered is not None for row in rows)
    head = "| Way | Acceptance | Tokens a pass | Checked | Ideal checking | Typical checking |"
    rule = "|---|---|---|---|---|---|"
    if entered:
        head, rule = f"{head} Your checking |", f"{rule}---|"
    lines = [f"{head} Note |", f"{rule}---|"]
    for row in rows:
        cells = [
            WAYS[row.id],
            n.trimmed(n.figures(row.acceptance)),
            n.figures(row.tokens),
            f"{row.checked:,}",
            _gain(row.by_pass),
            _gain(row.typical),
        ]
        if entered:
            cells.append(n.UNKNOWN if row.entered is None else _gain(row.entered))
        lines.append(f"| {' | '.join(cells)} | {NOTES[row.id]} |")
    return "\n".join(lines)


def _gain(found: tuple[int, float]) -> str:
    length, factor = found
    return f"{n.figures(factor)}× ({length} drafted)" if length else "do not draft"


def checking_line(found: Checks, mixture: bool, entered: float | None) -> str:
    """What stands for checking's cost, and where it is from."""
    kind = "a mixture of experts" if mixture else "a dense model"
    text = (
        f"Typical checking: each further token adds {n.trimmed(n.figures(found.typical_cost))} of a step for {kind} on such a "
        "device, from public measurements. Bytes and operations alone say less, since kernels for several positions differ."
    )
    if mixture:
        text += " More tokens also touch more experts, which is in the pass already."
    if entered is None:
        return f"{text} Enter your own under Speculation."
    return f"{text} You entered {n.trimmed(n.figures(entered))}."


def tokenizer_line(setup: Setup) -> str:
    """Whether draft and target can share token ids, as far as vocabularies tell; empty without a draft model."""
    draft = setup.draft
    if draft is None:
        return ""
    target = setup.model
    if not draft.vocab or not target.vocab:
        return "○ Check that draft and target share a vocabulary: the size of one is not known."
    if draft.vocab != target.vocab:
        return (
            f"✕ {escape(draft.name)} has {draft.vocab:,} tokens and {escape(target.name)} {target.vocab:,}: they must be "
            "mapped, or drafting fails."
        )
    return f"○ Both vocabularies have {target.vocab:,} tokens; check that they are the same."


def memory_line(e: Evaluation, without: Capacity) -> str:
    """What drafting takes of the device's memory; ``without`` is what is held where nothing drafts. Empty where it takes none."""
    held = e.capacity
    if not held.draft_bytes and not held.draft_bytes_per_sequence:
        return ""
    each = ""
    if held.draft_bytes_per_sequence:
        each = f" and {n.bytes_(held.draft_bytes_per_sequence)} of cache a sequence"
    text = f"Drafting takes **{n.bytes_(held.draft_bytes)}** of weights{each} of the device's memory"
    if held.max_sequences is None or without.max_sequences is None:
        return f"{text}."
    return f"{text}: **{n.count(held.max_sequences)}** sequences fit in place of {n.count(without.max_sequences)}."


def printed(acceptance: float, tokens: float, speedup: float, draft_tokens: int) -> str:
    """What a tool's printed figures mean here."""
    return (
        f"That is an acceptance of **{n.figures(acceptance)}** a token in the geometric model, **{n.figures(tokens)}** tokens a "
        f"pass at {draft_tokens} drafted, and about **{n.factor(speedup)}** here. Enter it under Speculation to use it."
    )
