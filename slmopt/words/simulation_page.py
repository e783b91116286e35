"""What the Simulate page says of its runs: comparisons, findings of its figures, arithmetic, sources."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.serving.outcome import Outcome, Weighted
from slmopt.serving.replicas import Replicas
from slmopt.words import numbers as n
from slmopt.words.simulation import ADMISSION, answer, fullest, policy_line, refused


def compared(found: Outcome, other: Outcome) -> str:
    """Two policies on the same requests in one sentence."""
    name, against = policy_name(found), policy_name(other)
    if not (found.completed and other.completed):
        return answer(found)
    if found.saturated and other.saturated:
        faster, slower = (
            (found, other) if found.output_tokens_per_s >= other.output_tokens_per_s else (other, found)
        )
        gain = faster.output_tokens_per_s / slower.output_tokens_per_s
        return (
            f"Both are overloaded; {policy_name(faster).lower()} brings **{n.factor(gain)}** "
            f"the tokens of {policy_name(slower).lower()}."
        )
    if found.saturated or other.saturated:
        lost, kept = (found, other) if found.saturated else (other, found)
        return (
            f"{policy_name(lost)} cannot keep up, and the queue grows without end; {policy_name(kept).lower()} gives the "
            f"first token within about **{n.seconds(kept.ttft.percentile(95), 2)}** to 95{n.NBSP}%."
        )
    one, two = found.ttft.percentile(95), other.ttft.percentile(95)
    return (
        f"{name} gives 95{n.NBSP}% their first token within about **{n.seconds(one, 2)}**, "
        f"{against.lower()} within **{n.seconds(two, 2)}**."
    )


def policy_name(found: Outcome) -> str:
    """The policy as a reader names it; the memory only where it is not paged."""
    p = found.run.policy
    return f"{ADMISSION[p.admission]}{', reserved memory' if p.memory == 'reserved' else ''}"


def timeline_title(found: Outcome) -> str:
    """Finding of who held which slot when."""
    name = policy_name(found)
    kept, idle = 1 - found.slot_utilisation, found.idle_slot_steps
    if not found.completed:
        return f"{name}: nothing was served ✕"
    if kept >= 0.005:
        verb = "keep" if found.run.policy.admission == "static" else "keeps"
        return f"{name} {verb} {n.percent(kept)} of the slot time idle behind the longest reply"
    if idle >= 0.02 * (idle + float(found.run.step_count.sum())):
        return f"{name} fills {n.figures(found.mean_batch)} of {found.run.policy.slots:,} slots: memory holds no more"
    return f"{name} keeps no slot idle while it is held"


def first_title(found: Sequence[Outcome], target_s: float | None) -> str:
    """Finding of the first tokens."""
    one = found[0]
    if not one.completed:
        return "No request was served"
    if target_s is None or one.saturated:
        return f"Half wait about {n.seconds(one.ttft.percentile(50), 2)} for the first token" + (
            " so far, and longer with every request" if one.saturated else ""
        )
    share = float((one.run.first - one.run.arrival <= target_s).mean())
    mark = "✓" if share >= 0.95 else "✕"
    return f"{n.percent(share)} get their first token within {n.trimmed(n.seconds(target_s))} {mark}"


def gap_title(found: Sequence[Outcome]) -> str:
    """Finding of the gaps between tokens."""
    one = found[0]
    if not len(one.gap.values):
        return "No reply has a second token"
    usual, worst = one.gap.percentile(50), one.gap.worst
    if worst >= 1.5 * usual:
        return f"Tokens come every {n.seconds(usual, 2)}; the worst wait is {n.seconds(worst, 2)}"
    return f"Tokens come every {n.seconds(usual, 2)}, with no long wait"


def queue_title(found: Sequence[Outcome]) -> str:
    """Finding of the queue."""
    one = found[0]
    if one.saturated:
        return f"The queue grows by about {n.figures(one.queue_growth_per_s, 2)} requests/s ✕"
    waits = Weighted.of(one.run.admitted - one.run.arrival)
    if not one.completed:
        return "No request was served"
    return f"95{n.NBSP}% wait at most {n.seconds(waits.percentile(95), 2)} before their prompt is read"


def memory_title(found: Sequence[Outcome]) -> str:
    """Finding of the memory."""
    one = found[0]
    size = one.run.room.size
    if one.run.preempted:
        return f"The cache runs out: {one.run.preempted:,} times a reply lost its place"
    if size == float("inf") or not size > 0:
        return f"The cache holds at most {n.bytes_(one.peak_kv_bytes)}"
    return f"The cache fills {n.percent(one.peak_kv_bytes / size)} of the memory for it"


def arithmetic(found: Outcome) -> list[str]:
    """How the figures come about."""
    run = found.run
    p = run.policy
    tokens = int(run.output.sum())
    lines = [
        f"**Policy**: {policy_line(found)}",
        (
            f"**Requests**: {found.completed:,} served, {tokens:,} tokens in {n.seconds(found.makespan_s)}: "
            f"{n.tokens_per_s(found.output_tokens_per_s)}"
        ),
        (
            f"**Decode steps**: {len(run.step_end):,}, with {n.figures(found.mean_batch)} sequences each of {p.slots:,} slots; "
            "each takes what the forward pass over exactly these sequences takes"
        ),
        f"**Slots**: {tokens:,} tokens / ({tokens:,} + {found.kept_slot_steps:,.0f} kept idle) = {n.percent(found.slot_utilisation)}",
        f"**Cache**: {fullest(found)} at its fullest",
    ]
    if found.rejected:
        lines.append(f"**Rejected**: {refused(found)}")
    if run.requests.sorted_in:
        lines.append(
            f"**Trace**: {run.requests.sorted_in:,} requests stood behind a later one, and were sorted in"
        )
    return lines


def timeline_alt(found: Outcome, until: float) -> str:
    """Who held which slot when, for those who do not see it."""
    slots = f"{found.run.policy.slots:,} slots over the first {n.seconds(until, 2)}"
    return f"{timeline_title(found)}. {slots}: prompts being read, replies being written, idle time between."


def how_many(found: Replicas, rate: float, evaluation_name: str) -> str:
    """The devices that a traffic needs, with what the draws leave open."""
    wanted = n.percent(found.share)
    if found.middle is None or found.span is None:
        return (
            f"No number of devices is enough: even alone, {n.percent(found.best_share)} of the requests meet the targets, "
            f"and {wanted} should."
        )
    low, high = found.span
    draws = f"{len(found.needed)} draws of the traffic"
    between = f"every one of {draws} says so" if low == high else f"{low:,} to {high:,} over {draws}"
    device = "device" if found.middle == 1 else "devices"
    return (
        f"**{found.middle:,} {device}** ({evaluation_name}) keep {wanted} within the targets at "
        f"{n.figures(rate)} requests/s: {between}."
    )


SOURCES = (
    "**Simulation**: this project; a pass takes what the forward pass over exactly its sequences takes, and nothing else takes time",
    (
        "**Paged memory**: blocks are given out as replies grow, 1\u00a0% stays free at admission, and the youngest is computed "
        "again when blocks run out, as in vLLM's scheduler (2023)"
    ),
    (
        "**Continuous batching**: G.-I. Yu et al., \u201cOrca\u201d (2022); chunked prefill: A. Agrawal et al., "
        "\u201cSarathi-Serve\u201d (2024)"
    ),
)
