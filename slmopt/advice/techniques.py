"""All techniques, in the articles' order of operations.

Each is a function from scenario to scenario, so that they compose and no gain is asserted. Each says which bottleneck it
attacks, in which phase, and which of the three piles it belongs to: move fewer bytes per token, get more tokens per byte
moved, free capacity for a larger batch. Prefill, software and another device stand outside the piles.
"""

from __future__ import annotations

from slmopt.advice.cache_techniques import CACHE, group_heads, quantise_cache
from slmopt.advice.device_techniques import DEVICE
from slmopt.advice.draft_techniques import (
    ASSUMED_ACCEPTANCE,
    ASSUMED_DRAFT,
    ASSUMED_DRAFT_COST,
    DRAFT,
)
from slmopt.advice.prompt_techniques import PROMPT
from slmopt.advice.serving_techniques import SERVING, SOFTWARE
from slmopt.advice.technique import Change, Gain, Phase, Pile, Technique
from slmopt.advice.weight_techniques import WEIGHTS, quantise_weights

__all__ = [
    "ASSUMED_ACCEPTANCE",
    "ASSUMED_DRAFT",
    "ASSUMED_DRAFT_COST",
    "TECHNIQUES",
    "Change",
    "Gain",
    "Phase",
    "Pile",
    "Technique",
    "group_heads",
    "quantise_cache",
    "quantise_weights",
]

TECHNIQUES: tuple[Technique, ...] = tuple(
    sorted((*SOFTWARE, *WEIGHTS, *CACHE, *PROMPT, *DRAFT, *SERVING, *DEVICE), key=lambda t: t.step)
)
