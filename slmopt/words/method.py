"""How the numbers are found, where they fail, how accurate they are: for the page Method and docs/method.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slmopt.specs.library import Band, library
from slmopt.words import numbers as n


@dataclass(frozen=True, slots=True)
class Formula:
    """A step of the method. ``module`` is where it is computed, and nowhere else."""

    name: str
    equation: str
    meaning: str
    fails: str
    source: str
    module: str


FORMULAS: Final = (
    Formula(
        "Time of a pass",
        "time ≥ max(bytes / bandwidth, operations / rate)",
        "Everything is a forward pass: groups of sequences that share one reading of the weights. Reading and computing "
        "overlap at best completely, so the longer of the two is the least that the pass can take.",
        "As a bound it holds always, but it may be far off: where kernels are launched one by one, or work is too small to "
        "fill the chip, the fixed time of a pass decides.",
        "Williams, Waterman, Patterson (2009)",
        "slmopt.theory.roofline",
    ),
    Formula(
        "Bytes of weights",
        "weights = Σ elements · bits / 8 of every tensor that is read once a pass",
        "Look-ups (input embedding, learned positions) are not read whole; the head is read where logits are wanted; a tied "
        "head is stored and read once. Of experts the ceiling takes the fewest that the pass can touch, the estimate "
        "E·(1 − (1 − k/E)^T) for T tokens.",
        "Experts are routed unevenly, so the estimate reads a little too many of them. Recipes of a format differ between files: "
        "the page Your model reads the file's own.",
        "Shazeer (2019) for one reading a step; the file's own tensor list",
        "slmopt.theory.forward",
    ),
    Formula(
        "Bytes of cache",
        "cache = Σ over layers and sequences of visible tokens · elements a token · bits / 8",
        "A window layer reads at most its window, a latent layer its latent and rotary part, a sparse layer its top-k and "
        "every indexer key, a state layer its state. A prefix that sequences share counts once in the ceiling and once for "
        "each sequence in the estimate.",
        "Activations that leave the chip are not counted: they are within the achieved fraction of an estimate.",
        "Shazeer (2019); DeepSeek-AI (2024)",
        "slmopt.theory.forward",
    ),
    Formula(
        "Operations",
        "operations = 2 · active weights · tokens + Σ 2 · heads · (d_qk + d_v) · visible pairs",
        "Pairs of query and key are counted causally: past·new + new·(new + 1)/2 for a full layer. The head counts for "
        "positions whose logits are wanted.",
        "Norms, rotary embedding, softmax and sampling are left out: below 1 % for layers wider than 512.",
        "Pope and others (2022)",
        "slmopt.theory.forward",
    ),
    Formula(
        "Intensity and ridge",
        "intensity = operations / bytes; ridge = rate / bandwidth",
        "Left of the ridge memory limits a pass, right of it compute.",
        "The ridge moves with the operand type: a chip whose FP16 rate nobody published has none, and the verdict is a range.",
        "Williams, Waterman, Patterson (2009)",
        "slmopt.theory.roofline_points",
    ),
    Formula(
        "First token, time per token, reply",
        "TTFT = prefill of what is not cached; reply = TTFT + Σ of the steps i = 1 … output − 1 at prompt + i − 1 cached tokens",
        "Prefill gives the first token. The time per token is the mean of the steps after it.",
        "Queueing, tokenisation and the network come on top.",
        "This project's definition, as serving benchmarks use it",
        "slmopt.theory.latency",
    ),
    Formula(
        "Crossover and limit of large batches",
        "B* = (weights / bandwidth) / (operations / rate − cache / bandwidth), both a sequence; limit = 1 / max(operations / rate, cache / bandwidth)",
        "Each further sequence adds its arithmetic and its cache. Where reading the cache takes longer there is no crossover at all.",
        "Memory may hold far fewer sequences than the crossover needs: capacity is told beside it.",
        "Derived from the time of a pass",
        "slmopt.theory.batching",
    ),
    Formula(
        "Capacity",
        "sequences = ⌊(usable memory − weights − buffers − held once) / bytes a sequence⌋",
        "What is held follows the engine (pages, rings, padding); what is read follows the model. Exact is the model's own need.",
        "Engines' rules change with their versions, and the memory that an operating system leaves differs.",
        "Kwon and others (2023) for pages; the engines' own code",
        "slmopt.theory.memory",
    ),
    Formula(
        "Speculation",
        "E = (1 − a^(k+1)) / (1 − a); speed-up = E · step / (k · draft + check of k + 1 positions)",
        "Checking is a pass of its own, so it costs what that pass costs. A speed-up is a ratio of estimates.",
        "Acceptance is taken as the same for each token and independent; measure it on your own traffic.",
        "Leviathan, Kalman, Matias (2023)",
        "slmopt.theory.speculation",
    ),
    Formula(
        "Estimate",
        "time = max(bytes / (f · bandwidth), operations / (g · rate)) + fixed time",
        "f and g are what devices of the class were measured to reach (p10, p50, p90), so an estimate is a band. Fractions of "
        "your own, or a fit to your measurements, take their place.",
        "The fractions were measured mostly at batch 1 and moderate contexts; kernels often change between batch 1 and 2.",
        "Reference measurements, each with its source, in presets/reference",
        "slmopt.theory.evaluation",
    ),
    Formula(
        "Gain of a technique",
        "gain = estimate before / estimate after",
        "The technique changes the scenario, and the same pass is computed again. Ratios of bounds bound nothing, so a gain is of estimates.",
        "Each technique stands alone: gains do not simply multiply. Drafting counts what checking typically costs.",
        "This project's definition",
        "slmopt.advice.plan",
    ),
    Formula(
        "Waiting at a rate",
        "mean wait = ρ · S / (2 · (1 − ρ)), ρ = rate · S, S the prefill",
        "Prompts come at random and are processed one after the other; decode has the device for the rest of the time. The 95th "
        "percentile follows from the same queue's distribution.",
        "One shape of request, prompts whole and in order; more sequences than memory holds are called saturated.",
        "F. Pollaczek, A. Khinchine (1930); A. K. Erlang (1909)",
        "slmopt.theory.queueing",
    ),
    Formula(
        "Share of the ceiling",
        "share = measured tokens/s / ceiling of the very work that the row timed",
        "A share is set against what is usual for such work on such devices. Above 1 is news: a wrong fact about the row, a rate "
        "that nobody published, or an answer from a cache.",
        "Rows that do not tell batch, depth or device are asked for, never guessed.",
        "This project's definition",
        "slmopt.measured.compare",
    ),
)

REFERENCES: Final = (
    (
        "S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore architectures. "
        "Communications of the ACM 52(4), 2009. https://doi.org/10.1145/1498765.1498785"
    ),
    "N. Shazeer: Fast transformer decoding: one write-head is all you need. 2019. https://arxiv.org/abs/1911.02150",
    "R. Pope and others: Efficiently scaling transformer inference. 2022. https://arxiv.org/abs/2211.05102",
    (
        "Y. Leviathan, M. Kalman, Y. Matias: Fast inference from transformers via speculative decoding. 2023. "
        "https://arxiv.org/abs/2211.17192"
    ),
    (
        "J. Ainslie and others: GQA: training generalized multi-query transformer models from multi-head checkpoints. 2023. "
        "https://arxiv.org/abs/2305.13245"
    ),
    (
        "W. Kwon and others: Efficient memory management for large language model serving with PagedAttention. 2023. "
        "https://arxiv.org/abs/2309.06180"
    ),
    (
        "A. Agrawal and others: SARATHI: efficient LLM inference by piggybacking decodes with chunked prefills. 2023. "
        "https://arxiv.org/abs/2308.16369"
    ),
    (
        "DeepSeek-AI: DeepSeek-V2: a strong, economical, and efficient mixture-of-experts language model. 2024. "
        "https://arxiv.org/abs/2405.04434"
    ),
)

LIMITS: Final = (
    "Decoder-only language models. Vision and audio towers are held in memory, and their passes are not computed.",
    "One device at a time so far; two memories, several devices and links between them are not computed.",
    "Heat, power limits and other programs slow a device down over time; the arithmetic knows none of them.",
    "Sparsity of weights, early exit and skipped layers are not counted.",
    "A number that nobody published stays unknown: it is asked for or told as a range, never guessed.",
)

ANSWER: Final = "Bytes moved against bandwidth, operations against compute: **one pass**, computed by **one function**, explains every number here."


def accuracy() -> list[str]:
    """Plain sentences on how far numbers may be off."""
    return [
        (
            "A ceiling is exact arithmetic on published figures: it is as right as they are, and no valid measurement of the same "
            "work may exceed it. Records that nobody has confirmed say so wherever they are shown."
        ),
        "An estimate is a band from p10 to p90 of reference measurements, so by its making about one device in five lies outside it.",
        (
            "Weights and caches are counted tensor by tensor, and tests hold them against the sizes of published files and against "
            "what engines print."
        ),
    ]


def classes() -> list[tuple[str, str, str, int]]:
    """What devices of each class reach: name, bandwidth band, matrix-rate band, reference rows."""
    return [
        (one.name, _band(one.bandwidth_fraction), _band(one.compute_fraction), one.rows)
        for one in library().efficiencies.values()
    ]


def _band(band: Band) -> str:
    low, high = (n.percent(value).removesuffix(f"{n.NBSP}%") for value in (band.p10, band.p90))
    return f"{low} to {high}{n.NBSP}%, median {n.percent(band.p50)}"
