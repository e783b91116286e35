"""What a pass of a running server takes, looked up from tables that the forward pass fills.

Bytes and operations of a pass are those of its weights, which depend on how many tokens are fed, and a sum over its
sequences of what each one's cache asks (:func:`slmopt.theory.forward.forward` adds them up group by group). So one call
over all contexts gives every decode step exactly, whatever mix of lengths is in the batch; nothing is interpolated.

A cached prefix is read by each sequence that uses it, as attention kernels do that know nothing of sharing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from slmopt.serving.policy import Policy
from slmopt.specs.calibration import Overlap
from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.roofline import Phase, roofs, setup_terms
from slmopt.theory.terms import Term, pass_terms

Array = npt.NDArray[np.float64]

_MOST_ROW_NUMBERS = 8_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """A roof for single passes, one at a time: bytes/s, FLOP/s (infinite where unknown, so that memory alone decides), s.

    :func:`~slmopt.theory.roof.pass_time` prices arrays of passes and takes ten times as long for a single one.
    """

    bandwidth: float
    peak: float
    attention_peak: float
    fixed_s: float
    batched_bandwidth: float
    overlap: Overlap | None

    @classmethod
    def of(cls, roof: Roof) -> Rates:
        """The roof's rates."""
        unknown = np.isnan(roof.peak) or np.isnan(roof.attention_peak)
        peak, attention = (np.inf, np.inf) if unknown else (float(roof.peak), float(roof.attention_peak))
        batched = roof.bandwidth if roof.batched_bandwidth is None else roof.batched_bandwidth
        return cls(roof.bandwidth, peak, attention, roof.fixed_s, batched, roof.overlap)

    def seconds(self, moved: float, matmul: float, attention: float, tokens: float) -> float:
        """max(bytes/bandwidth, operations/peak) + fixed time, as :func:`~slmopt.theory.roof.pass_time` has it.

        ``tokens`` are those that the pass feeds; only rates of a fit depend on them.
        """
        memory = moved / (self.batched_bandwidth if tokens > 1 else self.bandwidth)
        products, attending = matmul / self.peak, attention / self.attention_peak
        if self.overlap is None:
            return max(memory, products + attending) + self.fixed_s
        joined = self.overlap == "none" or (self.overlap == "single" and tokens > 1)
        return (memory + products if joined else max(memory, products)) + attending + self.fixed_s


@dataclass(frozen=True, slots=True)
class Draft:
    """The small model's step for one drafted token: its tables, and how many tokens it drafts before each check.

    ``share`` scales its time: 1 for a draft model's own step, else the given share of the target's.
    """

    tokens: int
    share: float
    cache: Array
    attention: Array
    weights: Array
    matmul: Array


@dataclass(eq=False)
class Costs:
    """Tables of a scenario. ``cache[c]`` and ``attention[c]``: bytes and operations of a sequence with c cached tokens in
    a decode step; ``weights[n]`` and ``matmul[n]``: those of n such sequences together.
    """

    setup: Setup
    terms: tuple[Term, ...]
    decode_roof: Roof
    prefill_roof: Roof
    cache: Array
    attention: Array
    weights: Array
    matmul: Array
    draft: Draft | None
    decode: Rates
    prefill: Rates
    _fed: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    _rows: OrderedDict[int, tuple[Array, Array]] = field(default_factory=OrderedDict)
    _alone: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Tokens that each sequence feeds in a decode step: one, and those drafted."""
        return 1 if self.draft is None else self.draft.tokens + 1

    def prefill_alone(self, tokens: int, hit: int) -> float:
        """Seconds of one sequence's prefill of ``tokens``, ``hit`` of them cached."""
        key = (tokens, hit)
        found = self._alone.get(key)
        if found is None:
            group = Group(1.0, float(tokens - hit), float(hit), 1.0)
            cost = forward(self.terms, [group], self.prefill_roof.kind)
            found = self._alone[key] = float(pass_time(cost, self.prefill_roof).seconds)
        return found

    def prefills_alone(self, tokens: npt.NDArray[np.int64], hits: npt.NDArray[np.int64]) -> Array:
        """The same for arrays of sequences, each in a pass of its own."""
        cost = self._prefill(tokens, hits)
        return np.asarray(pass_time(cost, self.prefill_roof).seconds)

    def prefill_together(self, tokens: npt.NDArray[np.int64], hits: npt.NDArray[np.int64]) -> float:
        """Seconds of one pass that prefills all these sequences."""
        own = self._prefill(tokens, hits)
        weights, matmul = self.fed(int((tokens - hits).sum()), len(tokens))
        cost = PassCost(
            weights,
            float(np.sum(own.cache_bytes)),
            matmul,
            float(np.sum(own.attention_flops)),
            tokens=float((tokens - hits).sum()),
        )
        return float(pass_time(cost, self.prefill_roof).seconds)

    def _prefill(self, tokens: npt.NDArray[np.int64], hits: npt.NDArray[np.int64]) -> PassCost:
        new = (tokens - hits).astype(np.float64)
        group = Group(np.ones(len(tokens)), new, hits.astype(np.float64), 1.0)
        return forward(self.terms, [group], self.prefill_roof.kind)

    def fed(self, tokens: int, logits: int) -> tuple[float, float]:
        """Weight bytes and matrix operations of a pass over so many tokens, with logits at some."""
        found = self._fed.get((tokens, logits))
        if found is None:
            # Tokens that attend to nothing: only the part that all sequences share is taken.
            group = Group(1.0, float(tokens), 0.0, float(logits))
            cost = forward(self.terms, [group], self.prefill_roof.kind)
            found = float(cost.weight_bytes), float(cost.matmul_flops)
            self._fed[tokens, logits] = found
        return found

    def chunk(self, past: int, new: int, most: int) -> tuple[float, float]:
        """Cache bytes and attention operations of feeding ``new`` prompt tokens (``most`` at most) after ``past``."""
        row = self._rows.get(past)
        if row is None or len(row[0]) <= new:
            sizes = np.arange(most + 1, dtype=np.float64)
            cost = forward(self.terms, [Group(1.0, sizes, float(past), 0.0)], self.prefill_roof.kind)
            shape = sizes.shape
            row = (
                np.broadcast_to(np.asarray(cost.cache_bytes), shape),
                np.broadcast_to(np.asarray(cost.attention_flops), shape),
            )
            self._rows[past] = row
            if len(self._rows) * 2 * (most + 1) > _MOST_ROW_NUMBERS:
                self._rows.popitem(last=False)
        return float(row[0][new]), float(row[1][new])


def costs(setup: Setup, chosen: Policy, longest: int) -> Costs:
    """Tables for sequences of up to ``longest`` tokens. Speculation is the scenario's own."""
    terms = setup_terms(setup)
    decode_roof, prefill_roof = _roof(setup, "decode", chosen), _roof(setup, "prefill", chosen)
    s = setup.scenario
    drafted = s.draft_tokens if s.acceptance is not None else 0
    draft = None
    if drafted and setup.draft is not None:
        small = pass_terms(setup.draft, setup.weights, *setup.cache)
        draft = Draft(drafted, 1.0, *_tables(small, decode_roof, 1, longest, chosen.slots))
    elif drafted and s.draft_cost is not None:
        draft = Draft(drafted, s.draft_cost, *_tables(terms, decode_roof, 1, longest, chosen.slots))
    width = 1 if draft is None else drafted + 1
    return Costs(
        setup,
        terms,
        decode_roof,
        prefill_roof,
        *_tables(terms, decode_roof, width, longest, chosen.slots),
        draft,
        Rates.of(decode_roof),
        Rates.of(prefill_roof),
    )


def _roof(setup: Setup, phase: Phase, chosen: Policy) -> Roof:
    return roofs(setup, phase)[chosen.rates]


def _tables(
    terms: tuple[Term, ...], roof: Roof, width: int, longest: int, slots: int
) -> tuple[Array, Array, Array, Array]:
    """Cache bytes and attention operations at each context; weight bytes and matrix operations for each batch."""
    past = np.arange(longest + 1, dtype=np.float64)
    each = forward(terms, [Group(1.0, float(width), past, float(width))], roof.kind)
    batch = np.arange(slots + 1, dtype=np.float64)
    together = forward(terms, [Group(batch, float(width), 0.0, float(width))], roof.kind)
    return (
        np.array(each.cache_bytes),
        np.array(each.attention_flops),
        np.array(together.weight_bytes),
        np.array(together.matmul_flops),
    )
