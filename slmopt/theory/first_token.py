"""The first token against the prompt: curves, and the longest prompt within a target."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Numbers
from slmopt.theory.latency import prefill
from slmopt.theory.residency import load_seconds
from slmopt.theory.roofline import LEVELS, Level, roofs
from slmopt.theory.search import first_whole

# A prompt that is in time here is in time whatever its length.
FARTHEST = 1_000_000_000

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PromptCurve:
    """TTFT in seconds at each prompt length (tokens) or cached share: the ceiling and the estimate's levels.

    ``compute_from``: the prompt in tokens from which arithmetic decides, along prompts; None where none does.
    """

    x: Curve
    ceiling: Curve
    estimate: dict[Level, Curve]
    compute_from: int | None = None


def prompt_curve(setup: Setup, points: int = 97) -> PromptCurve:
    """TTFT against prompt length, the cached part of the scenario kept as a share of the prompt."""
    s = setup.scenario
    prompts = np.geomspace(min(16.0, s.prompt), max(131_072.0, 2.0 * s.prompt), points)
    share = s.prefix_hit / s.prompt
    found = _curve(setup, prompts, prompts, prompts * share)
    return replace(found, compute_from=compute_bound_from(setup, share))


@lru_cache(maxsize=64)
def hit_curve(setup: Setup, points: int = 51) -> PromptCurve:
    """TTFT of the scenario's prompt against the tokens of it that are cached, 0 to all but the last."""
    hits = np.linspace(0.0, setup.scenario.prompt - 1.0, points)
    return _curve(setup, hits, np.full(points, float(setup.scenario.prompt)), hits)


def _curve(setup: Setup, x: Curve, prompt: Curve, hit: Curve) -> PromptCurve:
    found = roofs(setup, "prefill")
    ceiling = prefill(setup, found["ceiling"], prompt, hit)
    return PromptCurve(
        x=x,
        ceiling=np.asarray(ceiling.seconds) + load_seconds(setup, "ceiling"),
        estimate={
            level: np.asarray(prefill(setup, found[level], prompt, hit).seconds)
            + load_seconds(setup, "estimate")
            for level in LEVELS
        },
    )


@lru_cache(maxsize=128)
def longest_prompt(setup: Setup, target_s: float, level: Level | None = None) -> int | None:
    """The longest prompt, nothing of it cached, whose first token comes within ``target_s`` seconds.

    Under the ceiling, or under a level of the estimate; 0 where not even one token does, None where every length does.
    """
    roof = roofs(setup, "prefill")[level or "ceiling"]
    left = target_s - load_seconds(setup, roof.kind)

    def meets(prompt: int) -> bool:
        return float(prefill(setup, roof, float(prompt), 0.0).seconds) <= left

    over = first_whole(lambda prompt: not meets(prompt), FARTHEST)
    return None if over is None else over - 1


@lru_cache(maxsize=64)
def compute_bound_from(setup: Setup, cached_share: float = 0.0) -> int | None:
    """The shortest prompt whose prefill arithmetic decides, this share of it cached; None where memory decides at every length."""
    roof = roofs(setup, "prefill")["ceiling"]
    if np.isnan(roof.peak):
        return None

    def bound(prompts: Numbers) -> npt.NDArray[np.bool_]:
        return np.asarray(prefill(setup, roof, prompts, prompts * cached_share).compute_bound)

    tried = np.unique(np.round(np.geomspace(1.0, 1e6, 200)))
    found = np.flatnonzero(bound(tried))
    if not found.size:
        return None
    lengths = range(1, int(tried[found[0]]))
    return 1 + bisect_left(lengths, True, key=lambda prompt: bool(bound(float(prompt))))
