"""The articles' next steps and failure modes, filled from what the scenario and the measurements show.

Every item is "done" (the scenario or a file shows it), "open" (it shows that it is not), or "ask" (only the user knows).
A user's own ticks are kept beside this by whoever shows it: the list itself is a function of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from slmopt.advice.observed import Observed
from slmopt.advice.quality import Scores
from slmopt.specs.scenario import Scenario
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.residency import ASSUMED_STORAGE_GBS, file_bytes, storage_gbs

State = Literal["done", "open", "ask"]
Kind = Literal["next", "failure"]

THROTTLING = ("phone", "laptop-gpu", "soc", "sbc")
"""Classes of device whose sustained speed commonly differs from their first seconds."""

SMALL_SHARE = 0.9
"""Share of memory from which an operating system beside the model is short of room."""

WHOLE_BITS = 15.0


@dataclass(frozen=True, slots=True)
class Item:
    """One item: what it is about (``id``), its state, and the numbers that its sentence names."""

    id: str
    kind: Kind
    state: State
    numbers: Mapping[str, float | str | None] = field(default_factory=lambda: MappingProxyType({}))


def checklist(
    scenario: Scenario, observed: Observed | None = None, scores: Scores | None = None
) -> tuple[Item, ...]:
    """All items, next steps first."""
    e = evaluate(scenario)
    return (*_next(e, observed), *_failures(e, observed, scores))


def _item(ident: str, kind: Kind, state: State, **numbers: float | str | None) -> Item:
    return Item(ident, kind, state, MappingProxyType(numbers))


def _next(e: Evaluation, observed: Observed | None) -> list[Item]:
    s = e.setup.scenario
    both = s.target_ttft_ms is not None and s.target_tpot_ms is not None
    decode = None if observed is None else observed.phase("decode")
    measured = observed is not None
    first_missed = s.target_ttft_s is not None and float(e.typical.latency.ttft_s) > s.target_ttft_s
    late = bool(s.draft_tokens or s.batch > 1)
    return [
        _item(
            "targets", "next", "done" if both else "open", ttft_ms=s.target_ttft_ms, tpot_ms=s.target_tpot_ms
        ),
        _item("measure", "next", "done" if measured else "open", prompt=s.prompt, output=s.output),
        _item(
            "compare",
            "next",
            "open" if decode is None else "done",
            fraction=None if decode is None else decode.fraction,
            ceiling=e.ceiling.user_tokens_per_s,
        ),
        _item(
            "software",
            "next",
            "ask" if decode is None else "open" if decode.slow else "done",
            fraction=None if decode is None else decode.fraction,
            usual=None if decode is None else decode.usual,
        ),
        _item(
            "quantise",
            "next",
            "done" if bits_per_weight(e.setup.weights, e.setup.model) < WHOLE_BITS else "open",
            bits=bits_per_weight(e.setup.weights, e.setup.model),
        ),
        _item(
            "prefix",
            "next",
            "done" if s.prefix_hit else "open" if first_missed else "ask",
            hit=s.prefix_hit,
            prompt=s.prompt,
        ),
        _item("last", "next", "done" if late else "ask", drafted=s.draft_tokens, batch=s.batch),
    ]


def _failures(e: Evaluation, observed: Observed | None, scores: Scores | None) -> list[Item]:
    s, setup, held = e.setup.scenario, e.setup, e.capacity
    fast = setup.device.reference_class
    judged = scores is not None and scores.of(setup.weights.id) is not None
    reduced = bits_per_weight(setup.weights, setup.model) < WHOLE_BITS
    share = None if held.usable is None else held.held_now / held.usable
    known, file = storage_gbs(setup), file_bytes(setup)
    rate = known or ASSUMED_STORAGE_GBS
    own_draft = setup.draft
    pressure: State = "ask"
    if share is not None:
        pressure = "done" if share <= SMALL_SHARE else "open"
    tokenizer: State = "done"
    if s.draft_tokens and own_draft is not None:
        known = own_draft.vocab and setup.model.vocab
        tokenizer = "ask" if not known or own_draft.vocab == setup.model.vocab else "open"
    return [
        _item("shape", "failure", "ask" if observed is None else "done", prompt=s.prompt, output=s.output),
        _item(
            "throttling",
            "failure",
            "ask" if fast in THROTTLING or setup.device.device_class == "laptop" else "done",
            device_class=setup.device.device_class,
        ),
        _item(
            "quality",
            "failure",
            "done" if judged or not reduced else "open",
            format=setup.weights.name,
            score=None if scores is None else scores.of(setup.weights.id),
        ),
        _item("pressure", "failure", pressure, share=share, held=held.held_now, usable=held.usable),
        _item(
            "cold_start",
            "failure",
            "open" if s.residency == "cold" else "ask",
            load_s=file / (rate * 1e9),
            file=file,
            gbs=rate,
            assumed="" if known else "assumed",
        ),
        _item(
            "tokenizer",
            "failure",
            tokenizer,
            target=float(setup.model.vocab),
            draft=None if own_draft is None else float(own_draft.vocab),
            drafted=s.draft_tokens,
        ),
    ]
