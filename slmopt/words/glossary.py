"""The field's terms, a sentence each: on the page Method, in docs/method.md, and as help on tiles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    """A term, what it means in one sentence, and other words that it goes by in labels."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()


TERMS: Final = (
    Term("Acceptance rate", "The share of drafted tokens that the large model agrees with.", ("acceptance",)),
    Term(
        "Arithmetic intensity",
        "Operations done for each byte moved, in FLOP/byte; its place against the ridge says which side limits a pass.",
        ("intensity",),
    ),
    Term(
        "Bandwidth",
        "Bytes a second between memory and processor, in GB/s (10⁹); it limits decode almost everywhere.",
    ),
    Term(
        "Batch",
        "Sequences that one pass serves together, so that its weights are read once for all of them.",
        ("sequences at once", "candidates at each place"),
    ),
    Term(
        "Break-even acceptance",
        "The acceptance rate below which drafting makes decode slower.",
        ("break-even",),
    ),
    Term(
        "Ceiling",
        "A bound of physics: the pass can take no less than its bytes over the bandwidth, nor than its operations over the rate.",
    ),
    Term(
        "Chunked prefill",
        "A long prompt fed in pieces beside the other users' tokens, so that none of them waits for all of it.",
        ("chunk",),
    ),
    Term(
        "Context",
        "Tokens of a sequence that lie in the cache; each decode step reads them all, unless a window or a state bounds it.",
    ),
    Term(
        "Crossover",
        "The batch from which a decode step takes longer to compute than to read, so that throughput hardly grows.",
    ),
    Term(
        "Decode", "The phase that writes the reply: one pass a token, each reading all weights and the cache."
    ),
    Term(
        "Draft length",
        "Tokens that a small model proposes before the large one checks them together.",
        ("drafted",),
    ),
    Term(
        "Each user's speed",
        "Tokens a second of one reply after its first token: one over the time per token; nineteen of twenty reach its p5.",
        ("each user",),
    ),
    Term(
        "Engine",
        "The software that runs the model, such as llama.cpp or vLLM; what it reserves for caches differs.",
    ),
    Term(
        "Estimate",
        "What such devices reach: the ceiling's arithmetic at fractions of bandwidth and rate that were measured, as a band.",
    ),
    Term(
        "FLOP",
        "One addition or multiplication; a weight costs two of them a token.",
        ("FLOPS",),
    ),
    Term(
        "Grouped heads",
        "Several query heads that share one key and value head (GQA), which divides the cache by their number.",
        ("KV heads",),
    ),
    Term(
        "KV cache",
        "Keys and values of all tokens so far, kept so that a decode step computes only the new token's.",
        ("cache",),
    ),
    Term(
        "Latent attention",
        "One small vector a token is cached in place of keys and values (MLA), from which both are computed.",
    ),
    Term(
        "Matrix rate",
        "Operations a second of the matrix units for one type of operand, in TFLOPS, without sparsity.",
    ),
    Term("Measured", "A number from a benchmark file, or from a reference that carries its source."),
    Term(
        "Memory",
        "What holds weights, caches and buffers; whatever stays free holds further sequences.",
    ),
    Term(
        "Mixture of experts",
        "Layers of which each token uses a few of many parts: all must be held, few are read a token.",
        ("experts",),
    ),
    Term("Output", "Tokens of the reply, the first included; a decode step writes each of the others."),
    Term(
        "Paged allocation",
        "Cache given out in small blocks as sequences grow, where reserving holds the longest length from the start.",
        ("paging",),
    ),
    Term(
        "Prefill",
        "The phase that reads the prompt: all its tokens in one pass, which also gives the first token.",
    ),
    Term(
        "Prefix cache",
        "Cached tokens of a beginning that requests share, so that only what follows it must be computed.",
        ("prefix",),
    ),
    Term("Prompt", "Tokens that a request brings; prefill reads them before the first token can come."),
    Term(
        "Quantisation",
        "Weights or cache in fewer bits: fewer bytes to hold and to move; the blocks' scales cost a little more than the name says.",
        ("bits a weight", "bits each"),
    ),
    Term(
        "Queueing",
        "Waiting for others: requests that come at a rate meet a busy server.",
        ("requests a second",),
    ),
    Term(
        "Ridge",
        "Matrix rate over bandwidth, in FLOP/byte: left of it memory limits a pass, right of it compute.",
    ),
    Term(
        "Roofline",
        "The most operations a second at each intensity: a slope of bandwidth under a flat matrix rate.",
    ),
    Term(
        "Sequence",
        "One request with a cache of its own: a chat, a completion, a user's turn.",
        ("sequences", "users"),
    ),
    Term(
        "Speculative decoding",
        "A cheap draft proposes tokens, and one pass of the model checks them all.",
        ("speculation", "speed-up"),
    ),
    Term("Throughput", "Tokens a second of all sequences together."),
    Term(
        "Time per token",
        "The mean of a reply's steps after the first token (TPOT): what a reader sees as streaming speed.",
        ("TPOT",),
    ),
    Term(
        "Time to first token",
        "From the request to the first token of the reply (TTFT); queueing comes on top.",
        ("First token", "TTFT"),
    ),
    Term("Weights", "The model's parameters in their format: nearly all are read once in every pass."),
    Term(
        "Window",
        "The last tokens that a layer attends to; its cache stops growing there.",
        ("sliding window",),
    ),
)


def help_for(label: str) -> str:
    """The meaning of the first term that a label holds; empty where it holds none. Longer names win."""
    found = _PATTERN.search(label)
    return "" if found is None else _MEANINGS[found[0].lower()]


_MEANINGS: Final = {name.lower(): term.meaning for term in TERMS for name in (term.name, *term.also)}
_PATTERN: Final = re.compile(
    r"\b(?:" + "|".join(map(re.escape, sorted(_MEANINGS, key=len, reverse=True))) + r")\b", re.IGNORECASE
)
