"""What is to be played for a scenario, from a few plain choices: the requests, one or two policies, the seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from slmopt.serving.frontier import sustained_rate
from slmopt.serving.policy import ADMISSIONS, MOST_BUDGET, Policy, policy, tokens_a_step
from slmopt.serving.traffic import ArrivalKind, LengthKind, Traffic, traffic
from slmopt.specs.base import Spec, SpecError, sentence
from slmopt.theory.evaluation import Evaluation

RESERVED: Final = ", reserved memory"
KINDS: Final = (*ADMISSIONS, f"continuous{RESERVED}")
NOTHING: Final = "nothing"
Kind = Literal["continuous", "static", "chunked", "continuous, reserved memory"]

SLOTS: Final = 16
REQUESTS: Final = 200
LOAD: Final = 0.7
TOKENS_A_PASS: Final = 512
_ROOM_FOR_A_PIECE: Final = 256


class Choices(Spec):
    """Choices as somebody leaves them; None is "as usual" (:class:`Usual`). ``rate`` in requests/s, ``budget`` in tokens
    a pass.
    """

    policy: Kind = "continuous"
    beside: Kind | Literal["nothing"] = "static"
    slots: Annotated[int, Field(ge=1, le=4096)] | None = None
    rate: Annotated[float, Field(gt=0, le=1e6)] | None = None
    requests: Annotated[int, Field(ge=1, le=100_000)] = REQUESTS
    output_kind: LengthKind = "geometric"
    prompt_kind: LengthKind = "fixed"
    arrivals: ArrivalKind = "poisson"
    hit_rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    budget: Annotated[int, Field(ge=2, le=MOST_BUDGET)] | None = None


def choices(values: dict[str, object]) -> Choices:
    """Checked choices, or :class:`~slmopt.specs.base.SpecError` with one sentence."""
    try:
        return Choices.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentence(error, {"rate": "requests/s", "budget": "tokens"}, Choices)) from error


@dataclass(frozen=True)
class Usual:
    """What counts where a choice is left open: slots that memory has room for, a rate that loads them by 70 %, a pass's tokens."""

    evaluation: Evaluation
    chosen_slots: int | None = None

    @property
    def slots(self) -> int:
        """Sequences at once."""
        fit = self.evaluation.capacity.max_sequences
        return self.chosen_slots or max(1, min(SLOTS, fit or SLOTS))

    @property
    def budget(self) -> int:
        """Tokens a pass, prompts in chunks: everyone's next ones, and the scenario's chunk or another piece of a prompt."""
        s = self.evaluation.setup.scenario
        decoding = self.slots * tokens_a_step(s)
        if s.prefill_chunk_tokens is not None:
            return min(MOST_BUDGET, decoding + s.prefill_chunk_tokens)
        return max(TOKENS_A_PASS, decoding + _ROOM_FOR_A_PIECE)

    @cached_property
    def rate(self) -> float:
        """Requests/s, rounded down to two figures."""
        return _rounded_down(max(1e-6, LOAD * sustained_rate(self.evaluation, self.slots)))


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests' kind, the policies that serve them, the seed."""

    traffic: Traffic
    policies: tuple[Policy, ...]
    seed: int


def asked(evaluation: Evaluation, chosen: Choices) -> Asked:
    """The run that these choices mean; raises :class:`~slmopt.specs.base.SpecError` where they contradict each other."""
    usual = Usual(evaluation, chosen.slots)
    s = evaluation.setup.scenario
    made = traffic(
        {
            "rate": usual.rate if chosen.rate is None else chosen.rate,
            "requests": chosen.requests,
            "kind": chosen.arrivals,
            "prompt": {"kind": chosen.prompt_kind, "mean": s.prompt},
            "output": {"kind": chosen.output_kind, "mean": s.output},
            "hit_rate": chosen.hit_rate,
        }
    )
    budget = chosen.budget or usual.budget
    kinds = [kind for kind in (chosen.policy, chosen.beside) if kind != NOTHING]
    policies = (_policy(kind, s.allocation, usual.slots, budget) for kind in dict.fromkeys(kinds))
    return Asked(made, tuple(policies), chosen.seed)


def _rounded_down(value: float) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / step) * step:.2g}")


def _policy(kind: str, memory: str, slots: int, budget: int) -> Policy:
    admission = kind.removesuffix(RESERVED)
    values: dict[str, object] = {
        "admission": admission,
        "memory": memory if admission == kind else "reserved",
        "slots": slots,
    }
    # A budget is only held against the slots where it is used.
    return policy({**values, "token_budget": budget} if admission == "chunked" else values)
