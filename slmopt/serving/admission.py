"""The three ways to admit: in fixed groups, whenever a slot is free, or in pieces beside everyone's next token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from slmopt.serving.policy import Admission
from slmopt.serving.server import NEVER, Server


def continuous(server: Server) -> None:
    """Prefill whoever can be admitted, one after the other; then decode until somebody ends or can be admitted."""
    steps, costs = server.steps, server.costs
    prefill_s = costs.prefills_alone(np.asarray(server.prompt), np.asarray(server.hit)).tolist()
    while not server.over():
        while server.waiting() and (taken := server.take()) is not None:
            index, before = taken
            stay = server.enter(index, before, steps.now)
            steps.now += (
                costs.prefill_alone(server.prompt[index] + before, server.hit[index])
                if before
                else prefill_s[index]
            )
            server.begin(stay)
        _decode(server)


def _decode(server: Server) -> None:
    """Until somebody ends, or somebody arrives for whom there is a slot; idle time passes where nobody is there."""
    steps = server.steps
    ahead = server.first_end()
    if not ahead:
        if not server.waiting() and server.next_arrival < NEVER:
            steps.now = server.next_arrival
        return
    ahead = server.make_room(ahead)
    until = NEVER if server.blocked or not server.slots or server.returned else server.next_arrival
    steps.run(server.active, ahead, until)
    server.retire()


def static(server: Server) -> None:
    """Take what waits as a group; its slots and memory are given back when the longest of it ends."""
    steps, costs = server.steps, server.costs
    prompt, hit = np.asarray(server.prompt), np.asarray(server.hit)
    while not server.over():
        if not server.waiting():
            steps.now = server.next_arrival
        admitted, group = steps.now, []
        while server.waiting() and (taken := server.take()) is not None:
            group.append(server.enter(*taken, admitted))
        members = np.asarray([server.stays.request[stay] for stay in group])
        steps.now += costs.prefill_together(prompt[members], hit[members])
        _decode_group(server, group)


def _decode_group(server: Server, group: list[int]) -> None:
    """Decode until the longest reply ends; those that end earlier keep slot and memory."""
    steps = server.steps
    ends = [server.decode(stay) for stay in group]
    longest = max(ends)
    held = [server.held_at_end(stay) for stay in group]
    for own, kept in zip(ends, held, strict=True):
        if own < longest:
            steps.hold(kept, own, longest)
    if not longest:
        server.peak_outside = max(server.peak_outside, sum(held))
    taken = 0
    for end in sorted(set(ends) - {0}):
        steps.run(sum(own > taken for own in ends), end - taken, NEVER)
        taken = end
    for stay in group:
        server.stays.released[stay] = steps.now
        server.leave(stay)


@dataclass(eq=False, slots=True)
class Feeding:
    """A prompt on its way in: tokens of it that are cached, all of them, and their bytes, held from the start."""

    stay: int
    done: int
    tokens: int
    held: float


def chunked(server: Server) -> None:
    """Every pass takes a token of each that decodes and fills the budget with prompts in the order of their arrival."""
    steps = server.steps
    feeding: list[Feeding] = []
    while not server.over():
        while server.waiting() and (taken := server.take(_held(feeding))) is not None:
            index, before = taken
            stay = server.enter(index, before, steps.now)
            tokens = server.prompt[index] + before
            feeding.append(Feeding(stay, server.hit[index], tokens, server.held_by(stay, tokens)))
        if feeding:
            _make_room(server, feeding)
        if not feeding:
            _decode(server)
            continue
        ended = _feed(server, feeding)
        server.retire()
        for one in ended:
            feeding.remove(one)
            server.begin(one.stay)


def _held(feeding: list[Feeding]) -> float:
    """Bytes of prompts that are being fed."""
    return sum([one.held for one in feeding])


def _make_room(server: Server, feeding: list[Feeding]) -> None:
    """Where the next step would not fit, the youngest go back to the line: those being fed came after all others."""
    while (server.asked or len(feeding) > 1) and feeding and not server.fits(_held(feeding)):
        server.send_back(feeding.pop().stay)
    if feeding:
        server.peak_outside = max(server.peak_outside, server.steps.memory + _held(feeding))


def _feed(server: Server, feeding: list[Feeding]) -> list[Feeding]:
    """One pass; returns those whose prompt is in now."""
    steps, costs, budget = server.steps, server.costs, server.policy.token_budget
    running = len(server.asked)
    left = budget - running * costs.width
    cache = attention = 0.0
    ended: list[Feeding] = []
    for one in feeding:
        if left <= 0:
            break
        new = min(left, one.tokens - one.done)
        read, done = costs.chunk(one.done, new, budget)
        cache, attention, left = cache + read, attention + done, left - new
        one.done += new
        if one.done == one.tokens:
            ended.append(one)
    steps.run_mixed(budget - left, running * costs.width + len(ended), cache, attention, running)
    return ended


POLICIES: Mapping[Admission, Callable[[Server], None]] = MappingProxyType(
    {"continuous": continuous, "static": static, "chunked": chunked}
)
