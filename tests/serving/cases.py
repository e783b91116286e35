"""Small servers whose arithmetic is short, and the requests that they get."""

from __future__ import annotations

import numpy as np

from slmopt.serving.traffic import Requests
from slmopt.specs.scenario import Scenario, scenario

ARTICLE = scenario(
    {
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "bandwidth_fraction": 1.0,
        "compute_fraction": 1.0,
        "fixed_ms": 0.0,
    }
)
"""The article's server at its ceiling: 14 GB at 2 TB/s, 512 KiB a token, 66 GB for caches."""


def tiny(blocks: int, **more: object) -> Scenario:
    """The article's server with memory for so many blocks of 16 tokens beside the weights."""
    return ARTICLE.change(capacity_gb=14.0 + blocks * 16 * 524_288 / 1e9, **more)


def given(*rows: tuple[float, int, int]) -> Requests:
    """Requests of (arrival in s, prompt, output)."""
    table = np.asarray(rows, dtype=np.float64).reshape(-1, 3)
    return Requests(
        table[:, 0],
        table[:, 1].astype(np.int64),
        table[:, 2].astype(np.int64),
        np.ones(len(table), dtype=np.bool_),
    )
