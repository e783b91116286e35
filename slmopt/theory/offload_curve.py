"""Decode speed against layers on the card, and how many of them fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.engines import total_bytes
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.holders import Holder, holders
from slmopt.theory.latency import decode_group
from slmopt.theory.offload import costs_at, placed_of
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import LEVELS, Level, roofs, turns_time

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LayersCurve:
    """tokens/s of all sequences against ``-ngl`` (0 to layers + 1, the last slot the head's; 0 to layers by count).

    ``fit`` is the most of them at which card and host hold the scenario's sequences; None where a memory is unknown or
    no number of layers fits (``memory_known`` tells which). ``now`` is the scenario's own, None where it does not offload.
    """

    setup: Setup
    layers: Array
    ceiling: Array
    estimate: Mapping[Level, Array]
    card_bytes: Array
    fit: int | None
    now: int | None
    memory_known: bool

    @property
    def whole(self) -> int:
        """The number at which nothing is left on the host."""
        return int(self.layers[-1])

    def speed(self, layers: int, level: Level | None = None) -> float:
        """tokens/s at a number of layers: at most, or estimated."""
        return float((self.ceiling if level is None else self.estimate[level])[min(layers, self.whole)])


def offload_tells(evaluation: Evaluation) -> bool:
    """Whether layers on a host are worth showing: some are, or one card cannot hold what is asked of it."""
    setup, held = evaluation.setup, evaluation.capacity
    if setup.host is not None:
        return True
    lacking = held.usable is not None and held.fixed_bytes > held.usable
    return lacking and setup.scenario.devices == 1 and bool(setup.model.layer_count)


@lru_cache(maxsize=64)
def layers_curve(scenario: Scenario) -> LayersCurve:
    """The scenario's decode at every number of layers on the card. Raises SpecError where layers are not known."""
    setup = resolve(scenario.change(gpu_layers=scenario.gpu_layers or 0))
    model = setup.model
    last = model.layer_count + (0 if model.by_count else 1)
    layers = np.arange(last + 1)
    tried = [_at(setup, int(count)) for count in layers]
    wheres = [placed_of(one) for one in tried]

    def speeds(roof: Roof) -> Array:
        group = decode_group(setup)
        card, host = costs_at(setup, wheres, group, roof.kind)
        time = turns_time(card, host, float(scenario.batch), roof)
        return np.asarray(scenario.batch / time.seconds, dtype=np.float64)

    found = roofs(setup, "decode")
    held = [holders(one) for one in tried]
    return LayersCurve(
        setup=setup,
        layers=layers.astype(np.float64),
        ceiling=speeds(found["ceiling"]),
        estimate={level: speeds(found[level]) for level in LEVELS},
        card_bytes=np.array([_held(setup, card) for card, _ in held]),
        fit=_most_that_fit(setup, held),
        now=None if scenario.gpu_layers is None else min(scenario.gpu_layers, last),
        memory_known=all(one.usable is not None for one in held[0]),
    )


def _at(setup: Setup, layers: int) -> Setup:
    return replace(setup, scenario=setup.scenario.model_copy(update={"gpu_layers": layers}))


def _held(setup: Setup, holder: Holder) -> float:
    """Bytes that one memory holds with the scenario's sequences."""
    s = setup.scenario
    cache = float(total_bytes(s.engine, holder.cache, float(s.batch), float(s.depth)))
    return holder.weight_bytes + holder.reserve() + cache


def _most_that_fit(setup: Setup, held: list[tuple[Holder, ...]]) -> int | None:
    for layers in reversed(range(len(held))):
        if all(one.usable is not None and _held(setup, one) <= one.usable for one in held[layers]):
            return layers
    return None
