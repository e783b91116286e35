"""What checking drafted tokens typically costs, where nobody measured it: bytes and operations say too little.

Each further checked token lengthens a step by this share of it, because kernels for several positions differ from those
for one; most so where weights are unpacked first. Ratios of tokens a pass to speed-up in public measurements give it
(reference `speculation.csv`; the drafts' own cost taken off):

- 16-bit weights on graphics cards: prompt look-up of up to 10 tokens on an A100, 1.55 to 1.73 tokens a pass against 1.42
  to 1.59× (S5-0024, -0032, -0040);
- quantised weights under llama.cpp: a 27B with built-in heads, 2.67 tokens against 2.03× at 2 drafted (S5-0072), and an
  RTX 3060 (S5-0058);
- a 35B mixture on the device of the 27B: 2.74 tokens against 1.39× (S5-0111);
- Apple silicon under MLX: 8.47 to 28.13 ms for 1 to 8 positions (`replay_cases.csv` RC12);
- processors: 4 positions in 2.4 steps, our own sweep.
"""

from __future__ import annotations

from typing import Final

from slmopt.specs.setup import Setup

GPU_16_BIT: Final = 0.02
GPU_QUANTISED: Final = 0.13
MIXTURE_QUANTISED: Final = 0.43
APPLE: Final = 0.36
CPU: Final = 0.47

_CLASSES: Final = {"apple": APPLE, "cpu": CPU, "sbc": CPU, "phone": CPU, "soc": CPU}
_WIDE: Final = ("fp16", "fp32", "fp8")
_AT = 2
"""Drafted tokens at which a mixture's surplus over a dense model was taken."""


def typical_verify_cost(setup: Setup) -> float:
    """Share of a step that each further checked token adds on a device of this class, for a model of this kind.

    A mixture costs as many times more than a dense model as it did where both were measured on one device.
    """
    gpu = GPU_16_BIT if setup.weights.multiplied_as in _WIDE else GPU_QUANTISED
    dense = _CLASSES.get(setup.device.reference_class, gpu)
    if not any(group.moe is not None for group in setup.model.groups):
        return dense
    surplus = (1.0 + MIXTURE_QUANTISED * _AT) / (1.0 + GPU_QUANTISED * _AT)
    return round(((1.0 + dense * _AT) * surplus - 1.0) / _AT, 2)
