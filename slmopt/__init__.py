"""slmopt: what limits a language model on a device, by bytes-per-token arithmetic, and what to do about it.

>>> from slmopt import decode_ceiling
>>> decode_ceiling(params=1e9, bits_per_weight=16, bandwidth_gbs=50)
25.0
"""

from slmopt._version import __version__
from slmopt.measured.harness import bench
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario, scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.worked import decode_ceiling, expected_tokens_per_pass, prefill_seconds

__all__ = [
    "Scenario",
    "SpecError",
    "__version__",
    "bench",
    "decode_ceiling",
    "evaluate",
    "expected_tokens_per_pass",
    "prefill_seconds",
    "scenario",
]
