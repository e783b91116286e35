"""What is said about an engine's rules: why it holds more, or less, than the model's own need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.theory.engines import Rule
from slmopt.theory.memory import Capacity
from slmopt.words import numbers as n

RULE_SENTENCES: Final = {
    "memory_share": "The engine fills only its share of the memory and leaves the rest free.",
    "activations": "The engine keeps memory for activations and graphs; how much shows only when it starts.",
    "context_padding": "The context is padded to whole blocks of 256 cells.",
    "window_ring": "Window layers keep a ring of their window and one micro-batch, padded to 256 cells.",
    "windows_in_full": "Window layers keep the whole context, as if they had no window.",
    "prefix_not_shared": "Every sequence holds the shared prefix for itself.",
    "state_f32": "Recurrent states are kept in 32 bits.",
    "state_pages": "Each recurrent state takes a whole page, which is as large as the largest page of attention.",
    "state_slots": "Each running request takes three state slots, two of them for the prefix cache.",
    "blocks": "Sequences take whole blocks of tokens.",
    "window_pages": "Window layers keep whole blocks and one more, since a window seldom starts where a block does.",
    "page_padding": "Pages of all layers are as large as the largest, so smaller ones are padded.",
    "group_padding": "Layers are paged in groups of equal size, and the last group is filled up with layers that do not exist.",
    "index_fp8": "The indexer's keys are kept in 8 bits with a scale, whatever the cache format.",
    "pool_page": "The pool of tokens holds one page more than it hands out.",
    "pool_split": "Memory is split into pools when the engine starts; what one pool has left, another cannot use.",
}
"""One sentence for each rule of :mod:`slmopt.theory.engines`."""

OWN_NEED: Final = (
    "How this engine keeps compressed entries differs from version to version: the model's own need is taken."
)


def rule_line(rule: Rule) -> str:
    """The sentence of a rule, and what it makes of the memory held now."""
    word = "more" if rule.extra_bytes >= 0 else "less"
    return f"{RULE_SENTENCES[rule.id]} {n.bytes_(abs(rule.extra_bytes))} {word}."


def rule_lines(held: Capacity) -> list[str]:
    """What made the difference to the model's own need, the largest first; nothing where there is none."""
    found: Sequence[Rule] = sorted(held.rules, key=lambda rule: -abs(rule.extra_bytes))
    return [rule_line(rule) for rule in found] + ([OWN_NEED] if held.own_need else [])


def sequences_words(held: Capacity) -> str:
    """The sequences that fit: a range where the engine keeps a part for itself that is not stated."""
    if held.fewest_sequences is None or held.fewest_sequences == held.max_sequences:
        return n.count(held.max_sequences)
    return f"{n.count(held.fewest_sequences)} to {n.count(held.max_sequences)}"
