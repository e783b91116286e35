"""What the Speculation page says."""

from __future__ import annotations

from slmopt.theory.evaluation import Evaluation
from slmopt.theory.speculation import Speculation
from slmopt.words import numbers as n
from slmopt.words.scenario_line import sequences

NO_GAIN = 1.005


def assumed_line(assumed: tuple[str, ...]) -> str:
    """What stands in for figures that the scenario lacks; empty where it lacks none."""
    if not assumed:
        return ""
    return f"Assumed until you enter yours under Speculation: {', '.join(assumed)}. Measure acceptance on your own traffic."


def answer(e: Evaluation, found: Speculation) -> str:
    """Whether drafting pays here."""
    at = f"at acceptance {n.trimmed(n.figures(found.acceptance))} and {sequences(e.setup.scenario.batch)}"
    if found.best_draft_tokens == 0:
        return f"Drafting does not pay {at}: checking {found.draft_tokens} drafted tokens costs more than they save, about **{n.factor(found.speedup)}**."
    if found.speedup < NO_GAIN:
        return (
            f"{found.draft_tokens} drafted tokens lose {at}, about **{n.factor(found.speedup)}**; the best length is "
            f"**{found.best_draft_tokens}**, about **{n.factor(found.best_speedup)}**."
        )
    pays = (
        ""
        if found.break_even is None
        else f"; it pays from acceptance **{n.figures(found.break_even, 2)}** on"
    )
    return f"Drafting {found.draft_tokens} tokens makes decode about **{n.factor(found.speedup)}** as fast {at}{pays}."


def tiles(found: Speculation, ideal: Speculation | None) -> list[tuple[str, str, str, str]]:
    """Speed-up, expected tokens, best length, break-even."""
    ideal_note = "" if ideal is None else f"ideal {n.figures(ideal.speedup)}×"
    even = "never" if found.break_even is None else n.figures(found.break_even, 2)
    return [
        (
            "Speed-up",
            f"≈{n.NBSP}{n.figures(found.speedup, 2)}×",
            ideal_note,
            "Estimated: expected tokens times a step, over drafting and checking.",
        ),
        (
            "Tokens a pass",
            n.figures(found.expected_tokens),
            f"of at most {found.draft_tokens + 1}",
            "Expected: (1 − a^(k+1)) / (1 − a).",
        ),
        (
            "Best draft length",
            str(found.best_draft_tokens),
            f"≈{n.NBSP}{n.figures(found.best_speedup, 2)}×" if found.best_draft_tokens else "do not draft",
            "Of 0 to 16 tokens; the shortest of equals.",
        ),
        (
            "Break-even acceptance",
            even,
            f"a drafted token costs {n.figures(found.cost_ratio, 2)} of a step",
            "Below it drafting slows decode down.",
        ),
    ]


def acceptance_title(found: Speculation) -> str:
    """Finding of speed-up against acceptance."""
    if found.break_even is None:
        return f"{found.draft_tokens} drafted tokens lose at every acceptance"
    return f"{found.draft_tokens} drafted tokens pay from acceptance {n.figures(found.break_even, 2)} on"


def length_title(found: Speculation) -> str:
    """Finding of speed-up against draft length."""
    if not found.best_draft_tokens:
        return "No draft length gains here"
    return f"{found.best_draft_tokens} tokens are the best draft, ≈ {n.figures(found.best_speedup, 2)}×"


def batch_title(first: float, last: float, most: float, loses_from: float | None) -> str:
    """Finding of speed-up against batch."""
    if loses_from is not None:
        return f"From {n.count(loses_from)} sequences on drafting loses"
    if last < 0.9 * first:
        return (
            f"Batching eats the gain: {n.figures(first, 2)}× alone, {n.figures(last, 2)}× at {n.count(most)}"
        )
    return f"The gain holds up to {n.count(most)} sequences"
