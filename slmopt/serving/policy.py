"""How a server admits requests and gives out memory, and the memory that it has for caches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError, model_validator

from slmopt.specs.base import Spec, SpecError, sentence
from slmopt.specs.scenario import Allocation, Scenario
from slmopt.specs.setup import Setup
from slmopt.theory.engines import cache_of, total_bytes
from slmopt.theory.holders import only
from slmopt.theory.roofline import Level

Admission = Literal["continuous", "static", "chunked"]
ADMISSIONS: tuple[str, ...] = get_args(Admission)
Rates = Level | Literal["ceiling"]

SLOTS = 256
"""Sequences at once where none are given: vLLM's default for --max-num-seqs on most devices (engine arguments, 2025)."""

MOST_BUDGET = 1_000_000
"""Tokens a pass, at most."""

WATERMARK = 0.01
"""Share of the cache that stays free when a request is admitted to a paged cache in use, as in vLLM's scheduler
(block manager, 2023): without it a newcomer is preempted as soon as the others grow by a block."""


class Policy(Spec):
    """Admission and memory.

    "static": a group is formed of what waits, prefilled in one pass and decoded until its longest reply ends; slots and
    memory of those that end earlier stay empty. "continuous": whoever waits is prefilled as soon as a slot and memory are
    free, one prompt a pass, before anyone decodes on. "chunked": every pass takes one token of each that decodes, and
    fills up to ``token_budget`` tokens with pieces of prompts.

    ``memory`` "reserved": every sequence its longest length; "paged": blocks as it grows, and the youngest loses its
    blocks when they run out (its cache is computed again later). ``rates``: which level of the estimate times a pass, or
    the ceiling.
    """

    admission: Admission = "continuous"
    memory: Allocation = "paged"
    slots: Annotated[int, Field(ge=1, le=100_000)] = SLOTS
    token_budget: Annotated[int, Field(ge=2, le=MOST_BUDGET)] = 2048
    rates: Rates = "typical"

    @model_validator(mode="after")
    def _feeds(self) -> Self:
        if self.admission == "chunked" and self.token_budget <= self.slots:
            raise ValueError(
                f"token_budget = {self.token_budget} tokens: it must be above slots = {self.slots}, or a full batch "
                "would leave no room for a prompt"
            )
        return self


def tokens_a_step(s: Scenario) -> int:
    """Tokens that each sequence takes in a decode pass: its next one, and those drafted where drafts can be accepted."""
    return 1 + (s.draft_tokens if s.acceptance is not None else 0)


def policy(values: dict[str, object]) -> Policy:
    """A checked policy, or :class:`SpecError` with one sentence."""
    try:
        return Policy.model_validate(values)
    except ValidationError as error:
        units = {"token_budget": "tokens", "slots": "sequences"}
        raise SpecError(sentence(error, units, Policy)) from error


@dataclass(frozen=True, slots=True)
class Room:
    """Memory for caches. Bytes; ``size`` is infinite where the device's memory is unknown; ``shared`` is a prefix that all
    have in common, held once.
    """

    size: float
    shared: float

    @property
    def free(self) -> float:
        """Bytes for sequences' own caches."""
        return self.size - self.shared


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What sequences take of the room for caches, by tokens; a million of them where a context is that long.

    ``own[t]`` is what a sequence of t tokens holds, ``after_hit[t]`` where its prefix is the shared copy. ``longest`` is
    what every sequence reserves; None when paged.
    """

    room: Room
    own: npt.NDArray[np.float64]
    after_hit: npt.NDArray[np.float64]
    longest: int | None


def pool(setup: Setup, chosen: Policy, totals: npt.NDArray[np.int64]) -> Pool:
    """The pool for requests of these total lengths (prompt + output, tokens).

    Reserved, the longest length is the scenario's context where one is set, else the longest request that fits alone.
    """
    engine, cache = setup.scenario.engine, cache_of(setup, chosen.memory)
    most = int(totals.max(initial=1))
    if setup.scenario.context is not None:
        most = max(most, setup.scenario.context)
    tokens = np.arange(most + 2, dtype=np.float64)
    prefix = float(setup.scenario.prefix_hit)
    holder = only(setup, "Requests are played")
    size = np.inf if holder.usable is None else holder.usable - holder.weight_bytes - holder.reserve()
    alone = cache.unshared()
    own = np.asarray(total_bytes(engine, alone, 1.0, tokens) - total_bytes(engine, alone, 0.0, tokens))
    shared = 0.0
    after = own
    if prefix:
        kept_once = replace(alone, shared=prefix)
        once = np.asarray(total_bytes(engine, kept_once, 0.0, tokens))
        after = np.asarray(total_bytes(engine, kept_once, 1.0, tokens)) - once
        shared = float(once.max(initial=0.0))
    longest = None
    if chosen.memory == "reserved":
        fits = own[np.minimum(totals, most)] <= size - shared
        longest = int(totals[fits].max(initial=1))
        if setup.scenario.context is not None:
            longest = setup.scenario.context
    return Pool(Room(float(size), shared), own, after, longest)
