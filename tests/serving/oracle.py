"""A server simulated the slow and obvious way: one pass at a time, each priced by the forward pass over its groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from slmopt.serving.policy import WATERMARK, Policy
from slmopt.serving.traffic import Requests
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.forward import Group
from slmopt.theory.holders import holders
from slmopt.theory.memory import sequence_bytes
from slmopt.theory.roofline import roofs, run


@dataclass
class Job:
    index: int
    arrival: float
    prompt: int
    output: int
    hit: int = 0
    cached: int = 0
    fed: int = 0
    stamps: list[float] = field(default_factory=list)

    @property
    def to_feed(self) -> int:
        return self.prompt + len(self.stamps)


@dataclass
class Oracle:
    setup: Setup
    policy: Policy
    now: float = 0.0
    decoding: list[Job] = field(default_factory=list)
    feeding: list[Job] = field(default_factory=list)
    queue: list[Job] = field(default_factory=list)
    peak: float = 0.0

    def seconds(self, groups: list[Group], phase: str) -> float:
        return float(run(self.setup, groups, roofs(self.setup, phase)[self.policy.rates]).seconds)

    def held(self, tokens: int) -> float:
        return float(sequence_bytes(self.setup, float(tokens), "paged"))

    @property
    def free(self) -> float:
        return holders(self.setup)[0].usable - self.setup.weight_bytes

    def needed(self) -> float:
        """Bytes of the next pass."""
        growing = sum(self.held(job.cached + 1) for job in self.decoding)
        return growing + sum(self.held(job.to_feed) for job in self.feeding)

    def fits(self, job: Job) -> bool:
        if not self.decoding and not self.feeding:
            return True
        others = [*self.decoding, *self.feeding]
        promised = sum(self.held(one.prompt + one.output - 1) for one in (*others, job))
        spare = WATERMARK * self.free
        if promised + spare <= self.free:
            return True
        return self.needed() + self.held(job.to_feed + 1) + spare <= self.free

    def admissible(self) -> bool:
        here = len(self.decoding) + len(self.feeding)
        return bool(
            self.queue
            and self.queue[0].arrival <= self.now
            and here < self.policy.slots
            and self.fits(self.queue[0])
        )

    def preempt(self) -> None:
        while self.needed() > self.free and len(self.decoding) + len(self.feeding) > 1:
            job = self.feeding.pop() if self.feeding else self.decoding.pop()
            job.cached = job.fed = 0
            self.queue.insert(0, job)

    def emit(self, job: Job) -> None:
        job.stamps.append(self.now)
        if len(job.stamps) == job.output and job in self.decoding:
            self.decoding.remove(job)

    def step(self) -> None:
        """One token of each that decodes, and pieces of prompts where there are any."""
        groups = [Group(1.0, 1.0, float(job.cached), 1.0) for job in self.decoding]
        left = self.policy.token_budget - len(groups)
        fed = []
        for job in self.feeding:
            new = min(left, job.to_feed - job.fed)
            if new:
                last = float(job.fed + new == job.to_feed)
                groups.append(Group(1.0, float(new), float(job.fed), last))
                fed.append((job, new))
                left -= new
        self.peak = max(self.peak, self.needed())
        self.now += self.seconds(groups, "prefill" if fed else "decode")
        for job in list(self.decoding):
            job.cached += 1
            self.emit(job)
        for job, new in fed:
            job.fed += new
            if job.fed == job.to_feed:
                self.feeding.remove(job)
                self.begin(job)

    def begin(self, job: Job) -> None:
        job.cached = job.to_feed
        self.emit(job)
        if len(job.stamps) < job.output:
            self.decoding.append(job)


def simulate_groups(scenario: Scenario, requests: Requests, policy: Policy) -> list[Job]:
    """Static groups, whose memory is never short."""
    o = Oracle(resolve(scenario), policy)
    jobs = _jobs(scenario, requests)
    o.queue = list(jobs)
    while o.queue:
        o.now = max(o.now, o.queue[0].arrival)
        group = [job for job in o.queue if job.arrival <= o.now][: policy.slots]
        o.queue = o.queue[len(group) :]
        o.now += o.seconds(
            [Group(1.0, float(job.prompt - job.hit), float(job.hit), 1.0) for job in group], "prefill"
        )
        for job in group:
            o.begin(job)
        while o.decoding:
            o.step()
    return jobs


def _jobs(scenario: Scenario, requests: Requests) -> list[Job]:
    rows = zip(requests.arrival, requests.prompt, requests.output, strict=True)
    return [
        Job(i, float(a), int(p), int(n), min(scenario.prefix_hit, int(p) - 1))
        for i, (a, p, n) in enumerate(rows)
    ]


def simulate_slowly(scenario: Scenario, requests: Requests, policy: Policy) -> list[Job]:
    """Continuous or chunked, paged memory."""
    o = Oracle(resolve(scenario), policy)
    jobs = _jobs(scenario, requests)
    o.queue = list(jobs)
    while o.queue or o.decoding or o.feeding:
        while o.admissible():
            job = o.queue.pop(0)
            if policy.admission == "chunked":
                job.fed = job.hit
                o.feeding.append(job)
                continue
            o.now += o.seconds([Group(1.0, float(job.to_feed - job.hit), float(job.hit), 1.0)], "prefill")
            o.begin(job)
        o.preempt()
        if o.decoding or o.feeding:
            o.step()
        elif o.queue and o.queue[0].arrival > o.now:
            o.now = o.queue[0].arrival
    return jobs
