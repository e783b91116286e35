"""Why another tool says something else: each kind of error in words, around the numbers of its worked example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slmopt.advice.differences import Difference, differences
from slmopt.words import numbers as n


@dataclass(frozen=True, slots=True)
class Told:
    """A kind of error: what is done wrong, why it is wrong, and the case that its numbers are of."""

    title: str
    why: str
    case: str


TOLD: Final = {
    "windows": Told(
        "Every layer is given the whole context",
        "Layers with a window keep only its last tokens; most layers of such models have one.",
        "Gemma-3-27B, 16-bit cache of 131,072 tokens",
    ),
    "head_width": Told(
        "The width of a head is guessed as hidden size over heads",
        "Many models state another width, and the cache follows the stated one.",
        "Qwen3-4B, 16-bit cache",
    ),
    "latent": Told(
        "Latent attention is given keys and values of every head",
        "It caches one latent and one rotary part a token; forgetting the rotary part is the opposite error.",
        "DeepSeek-V3, 16-bit cache of 32,768 tokens",
    ),
    "bits": Told(
        "The format's name is taken for its bits",
        "Blocks carry scales, and some tensors are kept wider: the name is a floor.",
        "Llama-3.1-70B in Q4_K_M, weights",
    ),
    "prefixes": Told(
        "GB and GiB are mixed",
        "Bandwidths are sold in powers of ten; memory and file sizes are often told in powers of two.",
        "Llama-2-7B in 16 bits at 2 TB/s, one decode step",
    ),
    "look_up": Told(
        "The input embedding is read in every step",
        "A step looks up one row of it; only a head that is tied to it is read whole, and then once.",
        "Llama-3.1-8B in 16 bits, weights read a step",
    ),
    "cache_reads": Told(
        "Only the weights are read",
        "Every sequence adds its own cache to a step, and with batch and context that outgrows the weights.",
        "Llama-2-7B at 2 TB/s, 64 sequences of 2,000 tokens, the device",
    ),
    "limit": Told(
        "Large batches are said to reach the matrix rate",
        "Each further sequence brings its cache to read: where reading it takes longer than its arithmetic, no batch gets there.",
        "Llama-2-7B at 2 TB/s and 400 TFLOPS, 1,000 tokens of context, the limit of large batches",
    ),
    "prompt_attention": Told(
        "A prompt costs two operations a weight and token, and nothing else",
        "Attention adds a part that grows with the square of the prompt.",
        "Llama-2-7B at 400 TFLOPS, a prompt of 8,000 tokens",
    ),
    "hit_attention": Told(
        "What a prefix cache supplies is taken out of the prompt altogether",
        "The new tokens still attend to the cached ones.",
        "Llama-2-7B at 400 TFLOPS, 1,000 new tokens behind 15,000 cached ones",
    ),
    "added_token": Told(
        "A pass is said to give at most the drafted tokens",
        "The model that checks them always adds one of its own.",
        "Acceptance 0.8, four drafted tokens",
    ),
    "drafting_costs": Told(
        "Drafting and checking are taken as free",
        "Each drafted token takes the draft's time, and checking several positions may take longer than one: drafting can lose.",
        "Acceptance 0.7, four drafted tokens of a tenth of a step each",
    ),
    "experts": Told(
        "A bound counts the experts that routing is expected to touch",
        "Real routing is skewed and touches fewer: only the fewest possible bound the speed, the expected number is an estimate.",
        "Qwen3-30B-A3B in Q8_0, 16 sequences, weights read a step",
    ),
    "engine_holds": Told(
        "What the model needs is taken for what the engine holds",
        "Engines pad, reserve and keep more of window layers than the window; reading follows the model, holding follows the engine.",
        "Gemma-3-27B in llama.cpp, cache of one sequence of 4,096 tokens",
    ),
    "two_memories": Told(
        "Two memories are given their mean bandwidth",
        "Layers run one after the other, each at its own memory's rate: times add up, rates do not.",
        "8 billion weights of 4.5 bits, half read at 450 GB/s and half at 100 GB/s",
    ),
    "promise": Told(
        "A ceiling is taken for a promise, or a measurement of one machine for all",
        "Kernels reach a part of the bandwidth and a part of the rate: beside the ceiling stands a band of what such devices reach.",
        "Llama-3.1-8B in Q4_K_M on an RTX 4090, ceiling and median estimate",
    ),
}


def lines() -> list[tuple[Told, str]]:
    """Each kind with its numbers: "wrong 62.0 GiB, right 10.4 GiB"."""
    return [(TOLD[found.id], _numbers(found)) for found in differences()]


def _numbers(found: Difference) -> str:
    if found.unit == "×":
        return f"wrong {n.figures(found.wrong)}×, right {n.figures(found.right)}×"
    wrong, right = (n.with_unit(value, found.unit) for value in (found.wrong, found.right))
    if found.id == "promise":
        return f"at most {wrong}, about {n.with_unit(found.right, found.unit, 2)}"
    return f"wrong {wrong}, right {right}"
