"""What checking drafted tokens typically costs, where nobody measured it: the pass says too little.

Each further checked token lengthens a step by this share of it, on top of what bytes and operations say, because kernels
for several positions differ from those for one. From public measurements (reference `speculation.csv`): speed-up over
tokens a pass is .76 at 2 drafted and .67 at 3 for a dense 27B, .51 and .44 for a 35B mixture, both with built-in heads
that cost about .03 of a step a token; `replay_cases.csv` RC12 gives 8.47 to 28.13 ms for 1 to 8 positions under MLX; our
own sweep on two cores checks 4 positions in 2.4 steps.
"""

from __future__ import annotations

from typing import Final

from slmopt.specs.setup import Setup

DENSE_GPU: Final = 0.13
MIXTURE: Final = 0.43
APPLE: Final = 0.36
CPU: Final = 0.47

_CLASSES: Final = {"apple": APPLE, "cpu": CPU, "sbc": CPU, "phone": CPU, "soc": CPU}


def typical_verify_cost(setup: Setup) -> float:
    """Share of a step that each further checked token adds on a device of this class, for a model of this kind."""
    mixture = any(group.moe is not None for group in setup.model.groups)
    dense = _CLASSES.get(setup.device.reference_class, DENSE_GPU)
    return max(dense, MIXTURE) if mixture else dense
