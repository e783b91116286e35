"""Less prompt to compute, and prompts that leave the others' streams alone."""

from __future__ import annotations

from slmopt.advice.gains import gain
from slmopt.advice.technique import WORTH, Change, Technique
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.intermediates import score_bytes
from slmopt.words import numbers as n

ASSUMED_SHARED = 0.8
ASSUMED_TRIMMED = 0.25
CHUNK = 512
"""Tokens of a chunk: vLLM's and SGLang's servers are commonly run with 512 to 8,192; small chunks spare the streams."""


def cache_prefix(s: Scenario) -> Change:
    """The shared prefix processed once and kept."""
    if s.shared_prefix:
        hit = min(s.shared_prefix, s.prompt - 1)
        assumed = ""
    else:
        hit = min(int(ASSUMED_SHARED * s.prompt), s.prompt - 1)
        assumed = f"if {n.percent(ASSUMED_SHARED)} of the prompt is shared"
    if hit <= s.prefix_hit:
        return Change(
            None, "the shared part is cached already" if s.prefix_hit else "the prompt is too short to share"
        )
    # A context that was capped below the prompt can hold no more.
    shared = max(s.shared_prefix, min(hit, s.depth))
    return Change(
        s.change(prefix_hit=hit, shared_prefix=shared),
        f"{hit:,} of {s.prompt:,} prompt tokens cached",
        assumed,
    )


def trim_prompt(s: Scenario) -> Change:
    """A quarter of the prompt left out: of what is not cached, since a cached prefix costs no prefill."""
    cut = int(ASSUMED_TRIMMED * (s.prompt - s.prefix_hit))
    if cut < 1:
        return Change(None, "hardly a token of the prompt is left to trim")
    prompt = s.prompt - cut
    context = None if s.context is None else max(prompt + s.output, s.context - cut)
    shared = min(s.shared_prefix, prompt + s.output if context is None else context)
    after = s.change(prompt=prompt, context=context, shared_prefix=shared)
    return Change(
        after, f"{prompt:,} prompt tokens in place of {s.prompt:,}", f"if {n.percent(ASSUMED_TRIMMED)} can go"
    )


def chunk_prefill(s: Scenario) -> Change:
    """An arriving prompt fed in chunks beside everyone's decode steps."""
    fed = s.prompt - s.prefix_hit
    if s.batching == "static":
        return Change(None, "a fixed group decodes only once all of its prompts are in: none stalls another")
    if s.batch < 2:
        return Change(None, "nobody decodes beside the prompt: one sequence runs")
    if s.prefill_chunk_tokens is not None and s.prefill_chunk_tokens <= CHUNK:
        return Change(None, f"prompts come in chunks of {s.prefill_chunk_tokens:,} tokens already")
    if fed <= CHUNK:
        return Change(None, f"the {fed:,} tokens to feed are no more than one chunk of {CHUNK}")
    after = s.change(prefill_chunk_tokens=CHUNK)
    if resolve(s).prefill.estimate is None:
        return Change(None, "no matrix rate is known, so neither is the prompt's time")
    parts, at_once = evaluate(after).typical.stall_s, evaluate(s).typical.stall_s
    return Change(
        after,
        f"chunks of {CHUNK}: a prompt stalls the others for {n.seconds(parts, 2)} in place of {n.seconds(at_once, 2)}",
    )


def fuse_attention(s: Scenario) -> Change:
    """Attention's scores kept on chip. Where the scenario's kernels do that, what would be lost without it."""
    setup = resolve(s)
    extra = score_bytes(setup)
    if not extra:
        return Change(None, "the model is given as a parameter count: its heads are not known")
    if setup.prefill.estimate is None and not s.unfused:
        return Change(None, f"in the estimate already; it saves {n.bytes_(extra)} of traffic a prompt")
    if s.unfused:
        return Change(
            s.change(attention_kernels="fused"),
            f"{n.bytes_(extra)} of scores a prompt stay on chip",
        )
    worth = gain(s.change(attention_kernels="unfused"), s)
    what = f"in the estimate already: it keeps {n.bytes_(extra)} of a prompt's traffic on chip"
    late = worth.ttft or 1.0
    note = (
        f"; without it the first token would take {n.factor(late)} as long"
        if late >= WORTH
        else ", which arithmetic hides here"
    )
    return Change(None, what + note, worth=worth, standing=True)


PROMPT = (
    Technique(
        "fuse_attention",
        "Fuse attention's kernels",
        2,
        "prefill",
        "prefill",
        "scores written to memory and read again",
        "a runtime with such kernels (flash attention) for this chip and cache format",
        fuse_attention,
    ),
    Technique(
        "cache_prefix",
        "Cache the shared prefix",
        5,
        "prefill",
        "prefill",
        "prompt tokens computed again for every request",
        "memory for the prefix, and requests routed to where it is",
        cache_prefix,
    ),
    Technique(
        "trim_prompt",
        "Trim the prompt",
        5,
        "prefill",
        "prefill",
        "prompt tokens that the answer does not need",
        "instructions or context cut: quality to be evaluated again",
        trim_prompt,
        evaluate_quality=True,
    ),
    Technique(
        "chunk_prefill",
        "Chunk the prefill",
        7,
        "prefill",
        "prefill",
        "streams that stall behind a long prompt",
        "the newcomer's first token comes later",
        chunk_prefill,
    ),
)
