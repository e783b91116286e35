"""A server's state between two passes: who waits, who holds which slot, what memory is promised to whom."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from slmopt.serving.costs import Costs
from slmopt.serving.policy import WATERMARK, Policy, Pool
from slmopt.serving.steps import MEMORY, Steps
from slmopt.serving.traffic import Requests
from slmopt.theory.speculation import expected_tokens

Tick = Callable[[int], None]
NEVER = float("inf")
_TICK = 32


@dataclass(eq=False)
class Stays:
    """Times in slots, one entry each: a request has one, and one more for each time that it was preempted.

    ``start`` is its first decode step and ``steps`` how many it took; ``first`` when its prefill ended, which gives a
    token; ``before`` the tokens that earlier stays gave; ``released`` when a slot was given back, where that was later than its
    last token.
    """

    request: list[int] = field(default_factory=list)
    slot: list[int] = field(default_factory=list)
    admitted: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    released: dict[int, float] = field(default_factory=dict)


class Server:
    """What the three ways to admit have in common."""

    def __init__(
        self,
        requests: Requests,
        served: npt.NDArray[np.int64],
        costs: Costs,
        pool: Pool,
        policy: Policy,
        seed: int,
        tick: Tick,
    ) -> None:
        s = costs.setup.scenario
        self.costs, self.pool, self.policy, self.tick = costs, pool, policy, tick
        self.ids: list[int] = served.tolist()
        self.arrival: list[float] = requests.arrival[served].tolist()
        self.prompt: list[int] = requests.prompt[served].tolist()
        self.output: list[int] = requests.output[served].tolist()
        hits = np.where(requests.hits[served], np.minimum(s.prefix_hit, requests.prompt[served] - 1), 0)
        self.hit: list[int] = hits.tolist()
        self.count = len(self.ids)
        self.head = 0
        self.returned: deque[tuple[int, int]] = deque()
        self.steps = Steps(costs, len(costs.cache))
        reserved = pool.longest
        own, after = (
            (table if reserved is None else np.full_like(table, table[reserved]))
            for table in (pool.own, pool.after_hit)
        )
        self.held = (own, after)
        self._tables = (self.steps.table(own), self.steps.table(after) if s.prefix_hit else None)
        self.stays = Stays()
        self.active = 0
        self.promised = 0.0
        self.peak_outside = 0.0
        self.preempted = 0
        self.ends: list[tuple[int, int]] = []
        self.asked: dict[int, npt.NDArray[np.float64]] = {}
        self._paths: dict[int, npt.NDArray[np.int64]] = {}
        self.slots: list[int] = list(range(policy.slots))
        self.blocked = False
        self._spare = (
            WATERMARK * pool.room.free if policy.memory == "paged" and np.isfinite(pool.room.free) else 0.0
        )
        self._acceptance = s.acceptance or 0.0
        self._rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(5)[4])

    # Waiting.

    @property
    def next_arrival(self) -> float:
        """When the next request that has not been admitted arrives (or has arrived)."""
        return self.arrival[self.head] if self.head < self.count else NEVER

    def waiting(self) -> bool:
        """Whether somebody waits now."""
        return bool(self.returned) or self.next_arrival <= self.steps.now

    def over(self) -> bool:
        """Whether nobody is left to serve."""
        return not (self.active or self.returned) and self.head >= self.count

    def take(self, more: float = 0.0) -> tuple[int, int] | None:
        """The next in line, with the tokens that it has already, if a slot and memory are free for it; else None.

        ``more`` are bytes held beside those of the next step.
        """
        if not self.slots:
            return None
        index, before = self.returned[0] if self.returned else (self.head, 0)
        if not self._has_room(index, before, more):
            self.blocked = True
            return None
        if self.returned:
            self.returned.popleft()
        else:
            self.head += 1
            if self.head % _TICK == 0:
                self.tick(self.head)
        return index, before

    def _has_room(self, index: int, before: int, more: float) -> bool:
        free = self.pool.room.free
        if free == NEVER or not self.active:
            # Whatever fits alone is let in when nobody else is there, or nothing would ever move.
            return True
        last = self.prompt[index] + self.output[index] - 1
        if self.promised + self.held[self.hit[index] > 0][last] + self._spare <= free:
            return True
        if self.policy.memory == "reserved" or self.policy.admission == "static":
            return False
        fed = self.prompt[index] + before
        needed = float(self.held[self.hit[index] > 0][fed + 1]) + self._spare
        return self.steps.memory + more + needed <= free

    def fits(self, more: float = 0.0) -> bool:
        """Whether the next step fits in memory beside ``more`` bytes."""
        return self.promised <= self.pool.room.free or self.steps.memory + more <= self.pool.room.free

    def held_by(self, stay: int, tokens: int) -> float:
        """Bytes of a stay's own cache at so many tokens."""
        return float(self.held[self.hit[self.stays.request[stay]] > 0][tokens])

    def held_at_end(self, stay: int) -> float:
        """Bytes of a stay's own cache when its reply ends; the last token is never cached."""
        index = self.stays.request[stay]
        return self.held_by(stay, self.prompt[index] + self.output[index] - 1)

    # Decoding.

    def enter(self, index: int, before: int, admitted: float) -> int:
        """A request takes a slot; the number of its stay."""
        stays = self.stays
        stays.request.append(index)
        stays.slot.append(heapq.heappop(self.slots))
        stays.admitted.append(admitted)
        stays.first.append(NEVER)
        stays.start.append(-1)
        stays.steps.append(0)
        stays.before.append(before)
        self.active += 1
        stay = len(stays.request) - 1
        self.promised += self.held_at_end(stay)
        return stay

    def begin(self, stay: int) -> None:
        """Its prefill ends now and gives a token; it decodes from the next step on, unless that was its last."""
        taken = self.decode(stay)
        if taken:
            heapq.heappush(self.ends, (self.steps.n + taken, stay))
            return
        self.peak_outside = max(self.peak_outside, self.steps.memory + self.held_at_end(stay))
        self.leave(stay)

    def decode(self, stay: int) -> int:
        """Write down what the steps ahead are asked by one whose prefill ends now; how many steps it takes."""
        stays = self.stays
        index = stays.request[stay]
        fed = self.prompt[index] + stays.before[stay]
        left = self.output[index] - stays.before[stay] - 1
        stays.first[stay] = self.steps.now
        if not left:
            return 0
        table = self._tables[1] if self.hit[index] else self._tables[0]
        assert table is not None
        if self.costs.draft is None:
            asked = table[:, fed : fed + left]
        else:
            path = self._paths[stay] = self._drafted(fed, left)
            asked = table[:, path[:-1]]
            asked[MEMORY] = self.held[self.hit[index] > 0][path[1:]]
        self.asked[stay] = asked
        self.steps.add(asked)
        stays.start[stay] = self.steps.n
        stays.steps[stay] = taken = int(asked.shape[1])
        return taken

    def _drafted(self, cached: int, left: int) -> npt.NDArray[np.int64]:
        """Cached tokens before each checking pass and after the last: 1 + the drafted tokens accepted in a row, each."""
        assert self.costs.draft is not None
        k = self.costs.draft.tokens
        mean = float(expected_tokens(self._acceptance, k))
        drawn = np.empty(0, dtype=np.int64)
        while drawn.sum() < left:
            more = int(1.2 * left / mean) + 8
            missed = self._rng.random((more, k)) >= self._acceptance
            accepted = np.where(missed.any(axis=1), missed.argmax(axis=1), k)
            drawn = np.concatenate([drawn, accepted + 1])
        path = np.concatenate([[0], np.cumsum(drawn)])
        last = int(np.searchsorted(path, left))
        cut: npt.NDArray[np.int64] = cached + np.minimum(path[: last + 1], left)
        return cut

    def leave(self, stay: int) -> None:
        """A request gives slot and memory back."""
        heapq.heappush(self.slots, self.stays.slot[stay])
        self.asked.pop(stay, None)
        self._paths.pop(stay, None)
        self.active -= 1
        self.promised -= self.held_at_end(stay)
        if not self.active:
            self.promised = 0.0
        self.blocked = False

    def retire(self) -> None:
        """Everybody whose last step is over leaves."""
        ends, n = self.ends, self.steps.n
        while ends and ends[0][0] <= n:
            _, stay = heapq.heappop(ends)
            # A preempted stay has left already.
            if stay in self.asked:
                self.leave(stay)

    def first_end(self) -> int:
        """Steps until the first of those who decode is done; 0 where nobody decodes."""
        while self.ends and self.ends[0][1] not in self.asked:
            heapq.heappop(self.ends)
        return self.ends[0][0] - self.steps.n if self.ends else 0

    def make_room(self, steps: int, extra: float = 0.0) -> int:
        """How many of the next steps memory allows; where it allows none the youngest is preempted until one is."""
        if self.promised <= self.pool.room.free:
            return steps
        while True:
            allowed = self.steps.until_over(self.pool.room.free - extra, steps)
            if allowed or len(self.asked) <= 1:
                return max(1, allowed)
            self._preempt(max(self.asked))

    def _preempt(self, stay: int) -> None:
        """It loses its cache and goes back to the head of the line; what it gave is computed again as prompt."""
        stays = self.stays
        done = self.steps.n - stays.start[stay]
        asked = self.asked[stay]
        self.steps.remove(asked[:, done:])
        index = stays.request[stay]
        path = self._paths.get(stay)
        given = done if path is None else int(path[done] - path[0])
        stays.steps[stay] = done
        self.leave(stay)
        self.returned.appendleft((index, stays.before[stay] + 1 + given))
        self.preempted += 1

    def send_back(self, stay: int) -> None:
        """One whose prompt is not in yet goes back to the head of the line, and has to be fed from the start."""
        self.leave(stay)
        self.returned.appendleft((self.stays.request[stay], self.stays.before[stay]))
        self.preempted += 1
