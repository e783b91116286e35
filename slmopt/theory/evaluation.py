"""A scenario evaluated whole: what the command line prints, the Overview shows and a report carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.batching import Crossover, crossover
from slmopt.theory.interference import stall_seconds
from slmopt.theory.latency import Latency, decode_step, latency, prefill
from slmopt.theory.memory import Capacity, capacity
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.roofline import LEVELS, Level, roofs
from slmopt.theory.speculation import Speculation, speculation
from slmopt.theory.static_groups import steps_per_token


@dataclass(frozen=True)
class Phases:
    """Both phases and what follows from them, under one pair of roofs; each part is computed when first asked for."""

    setup: Setup
    decode_roof: Roof
    prefill_roof: Roof

    @cached_property
    def decode(self) -> PassTime:
        """A decode step at the scenario's batch and context."""
        return decode_step(self.setup, self.decode_roof)

    @cached_property
    def prefill(self) -> PassTime:
        """The prefill of one sequence."""
        return prefill(self.setup, self.prefill_roof)

    @cached_property
    def latency(self) -> Latency:
        """TTFT, TPOT and the reply."""
        return latency(self.setup, self.decode_roof, self.prefill_roof)

    @cached_property
    def crossover(self) -> Crossover:
        """Where arithmetic takes over as the batch grows."""
        return crossover(self.setup, self.decode_roof)

    @cached_property
    def speculation(self) -> Speculation | None:
        """What drafting gains; None where acceptance or cost is not given."""
        return speculation(self.setup, self.decode_roof)

    @cached_property
    def stall_s(self) -> float:
        """The longest wait between two tokens of the others while a prompt arrives; NaN where nobody decodes beside it."""
        return stall_seconds(self.setup, self.decode_roof, self.prefill_roof)

    @property
    def device_tokens_per_s(self) -> float:
        """Decode throughput of all sequences at the scenario's batch and context."""
        s = self.setup.scenario
        useful = float(steps_per_token(s, self.decode_roof.kind))
        return s.batch / float(self.decode.seconds) / useful

    @property
    def user_tokens_per_s(self) -> float:
        """Decode speed that one sequence sees."""
        return 1.0 / float(self.decode.seconds)


@dataclass(frozen=True)
class Evaluation:
    """The ceiling, and the estimate as slow, typical and fast (p10, p50, p90 of what such devices reach)."""

    setup: Setup
    ceiling: Phases
    estimate: Mapping[Level, Phases]

    @cached_property
    def capacity(self) -> Capacity:
        """What fits in memory; found when first asked for, since a search over batches only asks for times."""
        return capacity(self.setup)

    @property
    def typical(self) -> Phases:
        """The estimate at the median of what such devices reach."""
        return self.estimate["typical"]


@lru_cache(maxsize=256)
def evaluate(scenario: Scenario) -> Evaluation:
    """Everything that follows from a scenario. Raises :class:`~slmopt.specs.base.SpecError`."""
    setup = resolve(scenario)
    decode, first = roofs(setup, "decode"), roofs(setup, "prefill")
    return Evaluation(
        setup=setup,
        ceiling=Phases(setup, decode["ceiling"], first["ceiling"]),
        estimate={level: Phases(setup, decode[level], first[level]) for level in LEVELS},
    )
