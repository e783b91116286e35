"""First token's figures: against the prompt, against what is cached, and what a long prompt does to others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slmopt.figures import first_token as figures
from slmopt.figures.named import Named, beside
from slmopt.reports import first_token_tables as tables
from slmopt.reports.picture import Picture
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.first_token import PromptCurve, prompt_curve
from slmopt.theory.interference import CHUNKS, Interference, chunked
from slmopt.words import first_token as words


def pictures(
    evaluation: Evaluation,
    hits: PromptCurve,
    at_once: Interference,
    pinned: Sequence[Named[Evaluation]] = (),
) -> tuple[Picture, Picture, Picture]:
    """TTFT against prompt length and against cached tokens; the longest gap, whole prompt and chunks."""
    setup, ceiling = evaluation.setup, evaluation.ceiling
    scenario = setup.scenario
    target_s = scenario.target_ttft_s
    curve = prompt_curve(setup)
    curves = beside(curve, [Named(one.name, prompt_curve(one.result.setup)) for one in pinned])
    ttft, step = float(ceiling.latency.ttft_s), float(ceiling.decode.seconds)
    pieces = [chunked(setup, ceiling.prefill_roof, size) for size in CHUNKS if size < at_once.chunk]
    rows = words.gap_rows(at_once, pieces)
    prompt = words.prompt_title(evaluation)
    hit = words.hit_title(evaluation, float(hits.ceiling[0]), float(hits.ceiling[-1]))
    gap = words.gap_title(at_once, step)
    return (
        Picture(
            "first_token_prompt",
            prompt,
            f"{prompt}. First token in ms against prompt length, ceiling and estimate.",
            figures.against_prompt(curves, (float(scenario.prompt), ttft), target_s),
            partial(tables.curve, curve, "prompt_tokens"),
            kinds=("ceiling", "estimate"),
        ),
        Picture(
            "first_token_hit",
            hit,
            f"{hit}. First token against the prompt tokens that are cached, 0 to {scenario.prompt - 1:,}.",
            figures.against_hit(hits, (float(scenario.prefix_hit), ttft)),
            partial(tables.curve, hits, "cached_tokens"),
        ),
        Picture(
            "first_token_gaps",
            gap,
            f"{gap}. Longest gap between tokens, whole prompt and chunks.",
            figures.gaps(rows, step),
            partial(tables.gaps, rows),
        ),
    )
