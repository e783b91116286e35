"""A server simulated pass by pass. Times are those of the forward pass; nothing else takes time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.serving.admission import POLICIES
from slmopt.serving.costs import costs
from slmopt.serving.policy import Policy, Pool, Room, pool, tokens_a_step
from slmopt.serving.server import Server
from slmopt.serving.traffic import LONGEST, Requests
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Progress = Callable[[float], bool]

MOST_TOKENS = 50_000_000
"""Generated tokens of a run; more would take minutes and gigabytes."""


class Cancelled(Exception):  # noqa: N818 - it is no error: the caller asked for it
    """The progress callback said stop."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What happened. Times in seconds; arrays of requests that were served, in order of arrival, unless said otherwise.

    ``stay_*``: one entry for each time in a slot (see :class:`~slmopt.serving.server.Stays`), with ``stay_end`` the last
    token of it and ``stay_released`` when the slot was given back. ``step_end``, ``step_count``, ``step_bytes``: one for
    each decode step. ``rejected`` counts requests by the reason why no server could take them.
    """

    setup: Setup
    policy: Policy
    room: Room
    requests: Requests
    rejected: Mapping[str, int]
    served: Ints
    arrival: Array
    prompt: Ints
    output: Ints
    hit: Ints
    admitted: Array
    first: Array
    end: Array
    stay_request: Ints
    stay_slot: Ints
    stay_admitted: Array
    stay_first: Array
    stay_end: Array
    stay_released: Array
    stay_start: Ints
    stay_steps: Ints
    step_end: Array
    step_count: Array
    step_bytes: Array
    peak_bytes: float
    preempted: int


def simulate(
    scenario: Scenario,
    requests: Requests,
    policy: Policy | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run:
    """Serve ``requests`` with the scenario's model on its device.

    The scenario gives model, device, formats, engine, prefix (``prefix_hit`` tokens, one copy of which is held) and
    speculation; the requests bring their own lengths. ``seed`` draws which drafts are accepted. ``progress`` is told the
    share that is done and returns False to stop, which raises :class:`Cancelled`. Raises
    :class:`~slmopt.specs.base.SpecError` where nothing could be simulated.
    """
    setup, chosen = resolve(scenario), policy or Policy()
    _check(setup, chosen)
    total, reasons = _judge(requests)
    held = pool(setup, chosen, total[reasons == ""])
    _refuse_too_large(reasons, total, held)
    served = np.flatnonzero(reasons == "")
    if requests.output[served].sum() > MOST_TOKENS:
        raise SpecError(
            f"The replies have {int(requests.output[served].sum()):,} tokens together: a run takes at most "
            f"{MOST_TOKENS:,}; give fewer requests or shorter replies."
        )
    tables = costs(setup, chosen, int(total[served].max(initial=1)))
    server = Server(requests, served, tables, held, chosen, seed, _ticker(progress, len(served)))
    POLICIES[chosen.admission](server)
    names, counts = np.unique(reasons[reasons != ""], return_counts=True)
    rejected = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
    return _run(server, setup, requests, rejected, served)


def _check(setup: Setup, policy: Policy) -> None:
    width = tokens_a_step(setup.scenario)
    if policy.admission == "chunked" and policy.token_budget <= policy.slots * width:
        raise SpecError(
            f"token_budget = {policy.token_budget} tokens: with {policy.slots} slots of {width} tokens each it must be "
            f"above {policy.slots * width}."
        )


def _judge(requests: Requests) -> tuple[Ints, npt.NDArray[np.str_]]:
    """Total tokens of each request, and why no server could take it: empty where one could."""
    total = requests.prompt + requests.output
    reasons = np.full(len(requests), "", dtype="U24")
    reasons[total > LONGEST] = "larger_than_memory"
    reasons[requests.output < 1] = "no_output"
    reasons[requests.prompt < 1] = "no_prompt"
    reasons[requests.arrival < 0] = "negative_time"
    reasons[~np.isfinite(requests.arrival)] = "no_time"
    return total, reasons


def _refuse_too_large(reasons: npt.NDArray[np.str_], total: Ints, held: Pool) -> None:
    fine = np.flatnonzero(reasons == "")
    if not held.room.free > 0:
        reasons[fine] = "larger_than_memory"
        return
    if held.longest is not None:
        reasons[fine[total[fine] > held.longest]] = "larger_than_memory"
        if held.own[held.longest] > held.room.free:
            reasons[fine] = "larger_than_memory"
        return
    reasons[fine[held.own[total[fine]] > held.room.free]] = "larger_than_memory"


def _ticker(progress: Progress | None, count: int) -> Callable[[int], None]:
    def tick(done: int) -> None:
        if progress is not None and not progress(done / max(1, count)):
            raise Cancelled

    return tick


def _run(server: Server, setup: Setup, requests: Requests, rejected: Mapping[str, int], served: Ints) -> Run:
    stays = server.stays
    step_end, step_count, step_bytes = server.steps.history()
    index, first = np.asarray(stays.request, dtype=np.int64), np.asarray(stays.first)
    start, taken = np.asarray(stays.start, dtype=np.int64), np.asarray(stays.steps, dtype=np.int64)
    admitted = np.asarray(stays.admitted)
    end = first.copy()
    end[taken > 0] = step_end[(start + taken - 1)[taken > 0]]
    # One that was sent back before its prompt was in held its slot for nothing; it comes again.
    end = np.where(np.isfinite(end), end, admitted)
    released = end.copy()
    for stay, time in stays.released.items():
        released[stay] = time
    count = len(served)
    once, last, began = (np.full(count, np.nan) for _ in range(3))
    last[index] = end
    given = np.isfinite(first)
    once[index[given][::-1]] = first[given][::-1]
    began[index[::-1]] = admitted[::-1]
    peak = max(float(step_bytes.max(initial=0.0)), server.peak_outside) if count else 0.0
    return Run(
        setup=setup,
        policy=server.policy,
        room=server.pool.room,
        requests=requests,
        rejected=rejected,
        served=served,
        arrival=np.asarray(server.arrival, dtype=np.float64),
        prompt=np.asarray(server.prompt, dtype=np.int64),
        output=np.asarray(server.output, dtype=np.int64),
        hit=np.asarray(server.hit, dtype=np.int64),
        admitted=began,
        first=once,
        end=last,
        stay_request=index,
        stay_slot=np.asarray(stays.slot, dtype=np.int64),
        stay_admitted=admitted,
        stay_first=first,
        stay_end=end,
        stay_released=released,
        stay_start=start,
        stay_steps=taken,
        step_end=step_end,
        step_count=step_count,
        step_bytes=step_bytes,
        peak_bytes=server.pool.room.shared + peak,
        preempted=server.preempted,
    )
