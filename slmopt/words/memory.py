"""What the Memory page says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slmopt.theory.evaluation import Evaluation
from slmopt.theory.memory import Capacity
from slmopt.words import numbers as n
from slmopt.words.engines import sequences_words
from slmopt.words.places import PLACES
from slmopt.words.scenario_line import sequences


def answer(e: Evaluation) -> str:
    """What fills the memory; of several, whose it is."""
    place, said = e.capacity.place, _answer(e)
    if place == "device" and e.setup.scenario.devices == 1:
        return said
    whose = PLACES[place] if place != "device" else "each device"
    return f"On {whose}: {said[:1].lower()}{said[1:]}"


def _answer(e: Evaluation) -> str:
    c, depth = e.capacity, e.setup.scenario.depth
    each = f"each {depth:,}-token sequence holds **{n.bytes_(c.bytes_per_sequence)}**"
    weights = f"**{n.bytes_(c.weight_bytes)}** of weights{_drafting(c)}"
    if c.usable is None:
        return f"This device's memory is not known: {each} beside {weights}. Enter the memory under Hardware."
    if c.fixed_bytes > c.usable:
        return f"The weights alone do not fit: {weights} against **{n.bytes_(c.usable)}** of memory."
    if c.max_sequences is None:
        return f"Nothing grows with the context here: {weights}, and any number of sequences fits."
    fit = f"**{c.max_sequences:,}** {'fits' if c.max_sequences == 1 else 'fit'}"
    if not c.max_sequences:
        return f"Not one sequence fits beside {weights}: {each}."
    if c.max_sequences * c.bytes_per_sequence > c.weight_bytes + c.draft_bytes:
        return f"The cache fills this memory, not the weights: {each} beside {weights}, so {fit}."
    return f"The weights fill this memory: {weights} of {n.bytes_(c.usable)}, and {each}, so {fit}."


def _drafting(c: Capacity) -> str:
    """What drafts takes room as well."""
    return f" and **{n.bytes_(c.draft_bytes)}** that draft" if c.draft_bytes else ""


def tiles(e: Evaluation, longest: int | None) -> list[tuple[str, str, str, str]]:
    """Weights, a sequence, sequences, context."""
    c = e.capacity
    scale, unit = n.byte_scale(c.weight_bytes)
    per, per_unit = n.byte_scale(c.bytes_per_sequence)
    share = (
        ""
        if c.usable is None
        else f"{n.percent(c.weight_bytes / c.usable)} of {n.trimmed(n.bytes_(c.usable))}"
    )
    more = "" if c.max_sequences is None else f", {max(0, c.max_sequences - c.now):,} more"
    over = "✕ " if c.fits is False else ""
    if c.draft_bytes:
        share = f"{n.bytes_(c.draft_bytes)} more that draft"
    limit = e.setup.model.context_limit
    beyond = longest is not None and limit is not None and longest > limit
    note = f"the model's own limit is {limit:,}" if beyond else f"at {sequences(c.now)}"
    return [
        (f"Weights ({unit})", n.figures(c.weight_bytes / scale), share, ""),
        (
            f"A sequence ({per_unit})",
            n.figures(c.bytes_per_sequence / per),
            f"{n.bytes_(c.draft_bytes_per_sequence)} of it the draft's"
            if c.draft_bytes_per_sequence
            else f"{n.bytes_(c.bytes_per_token)} a token",
            "",
        ),
        (
            "Sequences that fit",
            sequences_words(c) if c.usable is not None else n.UNKNOWN,
            f"{over}{c.now:,} now{more}",
            "",
        ),
        ("Context that fits (tokens)", n.UNKNOWN if longest is None else n.count(longest), note, ""),
    ]


def what_if_name(name: str, e: Evaluation) -> str:
    """A row's name; the present scenario's says what it is."""
    return (
        name[:1].upper() + name[1:] if name else f"Now: {e.setup.weights.name}, {e.setup.cache_k.name} cache"
    )


def what_if_title(rows: Sequence[tuple[str, Capacity]]) -> str:
    """Finding of the what-ifs."""
    now = rows[0][1]
    if now.max_sequences is None:
        return "What each change would hold"
    others = [(name, c.max_sequences) for name, c in rows[1:] if c.max_sequences is not None]
    if not others:
        return f"{sequences(now.max_sequences)} fit; no change of this list applies"
    name, most = max(others, key=lambda pair: pair[1])
    if now.max_sequences == 0:
        return (
            f"{name} lets {most:,} fit where none does"
            if most
            else "None of these changes lets a sequence fit ✕"
        )
    if most <= now.max_sequences:
        return "None of these changes lets more sequences fit"
    return f"{name} admits {n.figures(most / now.max_sequences)} times as many"


def context_title(e: Evaluation, now: float, doubled: float) -> str:
    """Finding of sequences against context."""
    if e.capacity.usable is None:
        return "Memory is not known, so neither is what fits"
    if not now:
        return "No sequence of this length fits"
    if math.isinf(now):
        return f"Any number fits{' at any context' if math.isinf(doubled) else ': all of this context is shared'}"
    ratio = now / doubled if doubled else math.inf
    if math.isinf(ratio):
        return f"At {2 * e.setup.scenario.depth:,} tokens nothing fits any more"
    if ratio >= 1.9:
        return "Twice the context halves the sequences"
    return f"Twice the context leaves {n.percent(1 / ratio)} of the sequences"


def paging_title(paged: float, reserved: float) -> str:
    """Finding of paged against reserved."""
    if math.isnan(paged):
        return "Memory is not known, so neither is what paging gives"
    if paged > reserved:
        return f"Paging holds {n.count(paged)} requests where reserving holds {n.count(reserved)}"
    return "Paging gains nothing: requests are as long as what is reserved"


def engine_heading(e: Evaluation) -> str:
    """Above the engine's rules."""
    return f"**What {e.setup.scenario.engine} holds beyond the model's own need, with {sequences(e.capacity.now)}:**"
