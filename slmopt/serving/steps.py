"""Decode steps one after the other, with what each batch asks of them written down ahead.

A sequence that starts to decode at step n with c cached tokens and takes m steps asks ``table[:, c : c + m]`` of steps
n … n + m − 1, whatever the others do. So its whole future is added in one go when it is admitted, nothing is done for it
while it decodes, and a run of steps without an event is one vectorised sum over what was written down.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slmopt.serving.costs import Costs, Draft
from slmopt.theory.forward import PassCost
from slmopt.theory.roof import pass_time

Array = npt.NDArray[np.float64]

CACHE, ATTENTION, MEMORY, COUNT, DRAFT_CACHE, DRAFT_ATTENTION = range(6)

_KEPT = 8192
_FEW = 4


class Steps:
    """The steps so far, and what those ahead will ask. ``n`` is the next step, ``now`` the time in seconds."""

    def __init__(self, costs: Costs, longest: int) -> None:
        self.costs = costs
        self.n = 0
        self.now = 0.0
        self._base = 0
        rows = 4 if costs.draft is None else 6
        self._ahead = np.zeros((rows, longest + _KEPT + 8))
        self._done = np.empty(self._ahead.shape[1])
        self._past: list[tuple[Array, Array, Array]] = []

    def table(self, held: Array) -> Array:
        """What a sequence asks of a step at each context, one row for each quantity; ``held[c]`` are its bytes."""
        c = self.costs
        rows = [c.cache, c.attention, held[1 : len(c.cache) + 1], np.ones(len(c.cache))]
        if c.draft is not None:
            rows += [c.draft.cache, c.draft.attention]
        return np.stack([row[: len(c.cache)] for row in rows])

    def add(self, asked: Array) -> None:
        """A sequence decodes from the next step on: what it asks of each."""
        at = self.n - self._base
        if at > _KEPT:
            self._shift()
            at = 0
        self._ahead[:, at : at + asked.shape[1]] += asked

    def remove(self, asked: Array) -> None:
        """A sequence that would have gone on so is stopped before the next step."""
        at = self.n - self._base
        self._ahead[:, at : at + asked.shape[1]] -= asked

    def hold(self, held: float, start: int, end: int) -> None:
        """Bytes that stay held from ``start`` steps after the next one until ``end`` steps after it."""
        at = self.n - self._base
        self._ahead[MEMORY, at + start : at + end] += held

    @property
    def memory(self) -> float:
        """Bytes held in the next step."""
        return float(self._ahead[MEMORY, self.n - self._base])

    def until_over(self, limit: float, steps: int) -> int:
        """How many of the next ``steps`` steps hold no more than ``limit`` bytes, before the first that does."""
        at = self.n - self._base
        over = self._ahead[MEMORY, at : at + steps] > limit
        first = int(over.argmax())
        return first if over[first] else steps

    def run(self, active: int, steps: int, until: float) -> None:
        """Up to ``steps`` steps of ``active`` sequences; stops after the first that ends at ``until`` or later."""
        at = self.n - self._base
        if at > _KEPT:
            self._shift()
            at = 0
        c = self.costs
        if c.draft is None and steps <= _FEW:
            self._run_few(at, steps, until, active)
            return
        span = slice(at, at + steps)
        cost = PassCost(
            c.weights[active],
            self._ahead[CACHE, span],
            c.matmul[active],
            self._ahead[ATTENTION, span],
            tokens=float(active * c.width),
        )
        times = np.asarray(pass_time(cost, c.decode_roof).seconds)
        if c.draft is not None:
            times += self._drafting(span, active, c.draft)
        times[0] += self.now
        ends = np.cumsum(times)
        taken = steps
        if ends[-1] >= until:
            taken = int(np.searchsorted(ends, until)) + 1
        self._done[at : at + taken] = ends[:taken]
        self.n += taken
        self.now = float(ends[taken - 1])

    def _run_few(self, at: int, steps: int, until: float, active: int) -> None:
        weights, matmul = float(self.costs.weights[active]), float(self.costs.matmul[active])
        ahead, done, now, seconds = self._ahead, self._done, self.now, self.costs.decode.seconds
        taken = 0
        while taken < steps and (now < until or not taken):
            now += seconds(float(ahead[CACHE, at]) + weights, matmul, float(ahead[ATTENTION, at]), active)
            done[at] = now
            at += 1
            taken += 1
        self.n += taken
        self.now = now

    def run_mixed(self, fed: int, logits: int, cache: float, attention: float, active: int) -> None:
        """One step that also feeds prompt tokens: ``fed`` tokens in all, the prompts' own bytes and operations."""
        at = self.n - self._base
        if at > _KEPT:
            self._shift()
            at = 0
        weights, matmul = self.costs.fed(fed, logits)
        self.now += self.costs.prefill.seconds(
            weights + float(self._ahead[CACHE, at]) + cache,
            matmul,
            float(self._ahead[ATTENTION, at]) + attention,
            fed,
        )
        if active and self.costs.draft is not None:
            self.now += float(self._drafting(slice(at, at + 1), active, self.costs.draft)[0])
        self._done[at] = self.now
        self.n += 1

    def _drafting(self, span: slice, active: int, draft: Draft) -> Array:
        """Seconds that the draft takes in each step of the span."""
        cost = PassCost(
            draft.weights[active],
            self._ahead[DRAFT_CACHE, span],
            draft.matmul[active],
            self._ahead[DRAFT_ATTENTION, span],
            tokens=float(active),
        )
        each = np.asarray(pass_time(cost, self.costs.decode_roof).seconds)
        return draft.tokens * draft.share * each

    def _shift(self) -> None:
        """Put finished steps away, and what lies ahead to the front."""
        at = self.n - self._base
        self._past.append(
            (self._done[:at].copy(), self._ahead[COUNT, :at].copy(), self._ahead[MEMORY, :at].copy())
        )
        left = self._ahead.shape[1] - at
        self._ahead[:, :left] = self._ahead[:, at:].copy()
        self._ahead[:, left:] = 0.0
        self._base = self.n

    def history(self) -> tuple[Array, Array, Array]:
        """When each step ended (s), its sequences, and the bytes held in it."""
        if self.n > self._base:
            self._shift()
        if not self._past:
            return np.empty(0), np.empty(0), np.empty(0)
        done, count, held = (np.concatenate(parts) for parts in zip(*self._past, strict=True))
        return done, np.rint(count), held
