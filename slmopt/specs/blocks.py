"""GGML block layouts: how many weights share a block, and how many bytes it takes.

Source: ``GGML_QUANT_SIZES`` of the gguf package 0.19.0 (``gguf/constants.py``). The codebook types (IQ…) hold their
scales in the block like the others; bits a weight are 8 · bytes / weights for all.
"""

from __future__ import annotations

BLOCKS: dict[str, tuple[int, int]] = {
    "F32": (1, 4),
    "F16": (1, 2),
    "BF16": (1, 2),
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q5_1": (32, 24),
    "Q8_0": (32, 34),
    "Q8_1": (32, 40),
    "Q2_K": (256, 84),
    "Q3_K": (256, 110),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
    "Q8_K": (256, 292),
    "IQ1_S": (256, 50),
    "IQ1_M": (256, 56),
    "IQ2_XXS": (256, 66),
    "IQ2_XS": (256, 74),
    "IQ2_S": (256, 82),
    "IQ3_XXS": (256, 98),
    "IQ3_S": (256, 110),
    "IQ4_NL": (32, 18),
    "IQ4_XS": (256, 136),
    "TQ1_0": (256, 54),
    "TQ2_0": (256, 66),
    "MXFP4": (32, 17),
    "NVFP4": (64, 36),
    "Q1_0": (128, 18),
}
"""Weights and bytes of a block, by GGML type."""

_FALLBACK = {
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    "IQ4_XS": "IQ4_NL",
    # Releases before 2026 took IQ4_NL for these four: as many bits.
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
}


def block_bits(block: str) -> float:
    """Bits a weight of a GGML type, scales included."""
    weights, size = BLOCKS[block]
    return 8 * size / weights


def fitting_block(block: str, row: int) -> str:
    """The type that llama.cpp stores instead where a row of ``row`` weights is no whole number of blocks.

    A 256-weight block gives way to a 32-weight one of its kind, and where that does not fit either, to F16.
    """
    if row % BLOCKS[block][0] == 0:
        return block
    smaller = _FALLBACK.get(block, "IQ4_NL" if block.startswith("IQ") else "F16")
    return smaller if row % BLOCKS[smaller][0] == 0 else "F16"
