"""How many drafted tokens are accepted: the distribution, by position, and what benchmark tools print of it.

The geometric model accepts each token with probability a until the first rejection: n of k are accepted with
a^n·(1 − a), all k with a^k. Tools print other figures: accepted/drafted is Σ a^i / k (i = 1 … k); an acceptance for each
position is the share of drafts that reach it and pass it, so that their sum is the mean accepted length.

Source: Y. Leviathan, M. Kalman, Y. Matias, "Fast Inference from Transformers via Speculative Decoding" (2023), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slmopt.theory.search import turns_true
from slmopt.theory.speculation import expected_tokens

Floats = npt.NDArray[np.float64]


def accepted_distribution(acceptance: float, draft_tokens: int) -> Floats:
    """Probability that exactly 0 … k of the k drafted tokens are accepted; sums to 1."""
    n = np.arange(draft_tokens + 1, dtype=np.float64)
    reached: Floats = np.power(acceptance, n)
    stops = np.full(draft_tokens + 1, 1.0 - acceptance)
    stops[-1] = 1.0
    return np.asarray(reached * stops)


def reached_by_position(acceptance: float, draft_tokens: int) -> Floats:
    """Share of drafts whose first 1 … k tokens are all accepted: a^i."""
    powers: Floats = np.power(acceptance, np.arange(1, draft_tokens + 1, dtype=np.float64))
    return powers


def acceptance_from_share(share: float, draft_tokens: int) -> float:
    """The geometric model's acceptance per token that gives this accepted/drafted, as llama.cpp and vLLM print it: (E − 1) / k.

    Raises ValueError for a share outside 0 to 1 or no draft.
    """
    if not 0 <= share <= 1 or draft_tokens < 1:
        raise ValueError(
            f"accepted/drafted = {share:g} of {draft_tokens}: it must be 0 to 1, of 1 token at least"
        )
    return acceptance_from_tokens(1.0 + share * draft_tokens, draft_tokens)


def acceptance_from_tokens(tokens_per_pass: float, draft_tokens: int) -> float:
    """The acceptance per token at which a pass yields so many tokens, the target's own included.

    Raises ValueError for fewer than 1 or more than k + 1 tokens a pass.
    """
    if not 1 <= tokens_per_pass <= draft_tokens + 1:
        raise ValueError(
            f"tokens a pass = {tokens_per_pass:g}: it must lie between 1 and {draft_tokens + 1}, "
            f"the drafted {draft_tokens} and the target's own"
        )
    return turns_true(lambda rate: bool(expected_tokens(rate, draft_tokens) >= tokens_per_pass), 0.0, 1.0, 60)


def tokens_from_positions(reached: Sequence[float]) -> float:
    """Tokens a pass from the measured share of drafts accepted up to each position: 1 + their sum."""
    return 1.0 + float(sum(reached))
