"""What a scenario implies for starting its engine: how much context, how many sequences, and what goes where."""

from __future__ import annotations

import math
from dataclasses import dataclass

from slmopt.theory.evaluation import Evaluation
from slmopt.theory.roofline import setup_terms


@dataclass(frozen=True, slots=True)
class Launch:
    """Tokens a sequence, sequences at once, and where the model does not fit how it is split.

    ``gpu_layers`` is None where all layers fit (or the memory is unknown); else as many as fit beside the cache.
    ``cpu_experts`` is the number of layers whose experts must lie in main memory for the rest to fit; 0 where none need
    to, None where the model has none or even that is not enough. What the scenario itself says of either stands.
    """

    context: int
    sequences: int
    gpu_layers: int | None
    cpu_experts: int | None

    @property
    def whole_context(self) -> int:
        """Tokens of all sequences together, as llama.cpp wants them."""
        return self.context * self.sequences


def launch(e: Evaluation) -> Launch:
    """The numbers of the scenario's launch flags."""
    s, held = e.setup.scenario, e.capacity
    context = max(s.depth, s.prompt + s.output)
    if s.offloads:
        return Launch(context, s.batch, s.gpu_layers, s.cpu_moe_layers or 0)
    if held.usable is None or held.held_now <= held.usable:
        return Launch(context, s.batch, None, 0)
    layers = e.setup.model.layer_count
    if not layers:
        return Launch(context, s.batch, None, None)
    missing = held.held_now - held.usable
    return Launch(
        context,
        s.batch,
        max(0, math.floor(layers * (1.0 - missing / held.weight_bytes))),
        _expert_layers(e, missing),
    )


def _expert_layers(e: Evaluation, missing: float) -> int | None:
    """Layers whose experts free so many bytes; None where all of them do not."""
    experts = sum(term.expert_bytes * term.experts for term in setup_terms(e.setup))
    if experts < missing:
        return None
    count = sum(group.count for group in e.setup.model.groups if group.moe is not None)
    return math.ceil(missing / experts * count) if count else None
